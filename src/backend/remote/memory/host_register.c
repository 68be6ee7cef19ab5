/*
 * cuMemHostRegister: pages of the application become pages that the server maps, too, at the same address.
 *
 *	private pages ─ copied ─► memfd ─ moved over them ─► the same bytes at the same address, shared
 *
 * Only private anonymous memory is converted, since nothing else depends on the kind of its pages; and only from
 * CONVERT_LEAST bytes on, because smaller blocks are likely to be part of the allocator's heap.  Other memory, and all
 * memory over TCP, can be registered for copies only, which then are those of pageable memory; with DEVICEMAP, for use by
 * kernels, it is refused.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>
#include "backend/remote/memory/hostmem.h"
#include "backend/remote/memory/state.h"

#define CONVERT_LEAST  (128u << 10)
#define PAGE           4096ull
#define REGISTER_FLAGS (CU_MEMHOSTREGISTER_PORTABLE | CU_MEMHOSTREGISTER_DEVICEMAP | CU_MEMHOSTREGISTER_READ_ONLY)

/* Whether this line of /proc/self/maps describes memory that can be converted. */
static bool maps_line_convertible(const char *line, unsigned long long *from, unsigned long long *to)
{
	unsigned long long offset, inode;
	char perms[8], device[16], name[32] = "";

	if (sscanf(line, "%llx-%llx %7s %llx %15s %llu %31s", from, to, perms, &offset, device, &inode, name) < 6)
		return false;
	return !strncmp(perms, "rw-p", 4) && !inode && strcmp(name, "[heap]") && strncmp(name, "[stack", 6);
}

/* 1: all pages can be converted; 0: all are mapped, but some cannot be converted; -1: some are not mapped. */
static int pages_convertible(uint64_t from, uint64_t to)
{
	FILE *f = fopen("/proc/self/maps", "re");
	unsigned long long start = 0, end = 0;
	char *line = NULL;
	size_t room = 0;
	int convertible = 1;

	while (f && from < to && getline(&line, &room, f) > 0) {
		bool private = maps_line_convertible(line, &start, &end);
		if (sscanf(line, "%llx-%llx", &start, &end) != 2 || end <= from)
			continue;
		if (start > from)
			break;
		convertible &= private;
		from = end;
	}
	free(line);
	if (f)
		fclose(f);
	return from < to ? -1 : convertible;
}

/*
 * `fresh` takes the place of the pages at `at`, with their contents.  The first and the last page may hold data of other
 * threads as well, so they are copied last.
 */
static bool pages_replace(char *fresh, char *at, size_t size)
{
	memcpy(fresh + PAGE, at + PAGE, size - 2 * PAGE);
	memcpy(fresh, at, PAGE);
	memcpy(fresh + size - PAGE, at + size - PAGE, PAGE);
	return mremap(fresh, size, size, MREMAP_MAYMOVE | MREMAP_FIXED, at) == at;
}

/* The server maps the pages first: if it cannot, nothing has changed here. */
static CUresult pages_convert(uint64_t at, size_t size)
{
	int fd = hostmem_create_fd(size);
	CUresult r = CUDA_ERROR_OUT_OF_MEMORY;
	char *fresh;

	if (fd < 0)
		return r;
	fresh = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (fresh != MAP_FAILED) {
		r = hostmem_share(fd, at, size);
		if (!r && !pages_replace(fresh, (char *)(uintptr_t)at, size)) {
			hostmem_unshare(at);
			r = CUDA_ERROR_OUT_OF_MEMORY;
		}
		if (r)
			munmap(fresh, size);
	}
	close(fd);
	return r;
}

static CUresult host_register_shared(uint64_t address, size_t size, uint64_t pages, size_t mapped, unsigned flags)
{
	CUresult r = hostmem_enter(address, size, pages, mapped, flags);

	if (r)
		return r;
	r = pages_convert(pages, mapped);
	if (r)
		hostmem_leave(address, false, &pages, &mapped);
	return r;
}

CUresult remote_cuMemHostRegister_v2(void *p, size_t size, unsigned int flags)
{
	uint64_t from = (uintptr_t)p & -PAGE, to = ((uintptr_t)p + size + PAGE - 1) & -PAGE;
	struct host_info known;
	int convertible;
	CUresult r;

	if (!context_current())
		return context_none();
	if (!p || !size || flags & ~REGISTER_FLAGS || to <= from)
		return CUDA_ERROR_INVALID_VALUE;
	if (hostmem_find((uintptr_t)p, &known))
		return known.kind == HOST_REGISTERED ? CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED
						     : CUDA_ERROR_INVALID_VALUE;
	pthread_mutex_lock(&client->memory->hosts.register_lock);
	convertible = pages_convertible(from, to);
	if (convertible < 0)
		r = CUDA_ERROR_INVALID_VALUE;
	else if (client->local && convertible && size >= CONVERT_LEAST)
		r = host_register_shared((uintptr_t)p, size, from, to - from, flags);
	else if (flags & CU_MEMHOSTREGISTER_DEVICEMAP)
		r = CUDA_ERROR_NOT_SUPPORTED;
	else
		r = hostmem_enter((uintptr_t)p, size, 0, 0, flags);
	pthread_mutex_unlock(&client->memory->hosts.register_lock);
	return r;
}

/* The pages become private again, so that a forked child gets copies of them as before. */
CUresult host_unregister(uint64_t address, bool ended)
{
	uint64_t pages;
	size_t mapped;
	CUresult r;
	char *fresh;

	pthread_mutex_lock(&client->memory->hosts.register_lock);
	r = hostmem_leave(address, ended, &pages, &mapped);
	if (!r && mapped) {
		r = hostmem_unshare(pages);
		fresh = mmap(NULL, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if (fresh != MAP_FAILED && !pages_replace(fresh, (char *)(uintptr_t)pages, mapped))
			munmap(fresh, mapped);
	}
	pthread_mutex_unlock(&client->memory->hosts.register_lock);
	return r;
}

CUresult remote_cuMemHostUnregister(void *p)
{
	return p ? host_unregister((uintptr_t)p, false) : CUDA_ERROR_INVALID_VALUE;
}
