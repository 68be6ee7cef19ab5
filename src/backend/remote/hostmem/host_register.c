/*
 * cuMemHostRegister: memory of the application that the device reaches, too, at the same address.
 *
 *	     p                                    p + size
 *	─────┬──┬──────────────────────────────┬───┬─────
 *	other│  │  whole pages: replaced by    │   │other		the client's pages
 *	data │  │  pages shared with the server│   │data
 *	─────┴──┴──────────────────────────────┴───┴─────
 *	      mirrored                       mirrored
 *
 * Only pages that lie inside the range are replaced.  The first and the last page may hold other data of the application,
 * which the server must neither see nor change, so the bytes on them are mirrored (mirror.c).  Where no page can be
 * replaced, the whole range is mirrored: over TCP, if the memory is not private and anonymous, on the main heap or
 * stack, and below CONVERT_LEAST bytes, because smaller blocks are likely to be part of the allocator's heap.
 * Comparing has its price, so this happens only if the application registers with DEVICEMAP or asks for the device
 * address.  Until then the memory is for copies only, and those are the copies of pageable memory.
 *
 * Other threads may write to their own data on the first and last page at any time.  They must not write to the range
 * itself while it is registered or unregistered: a page is copied and then replaced.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>
#include "backend/remote/hostmem/hostmem.h"
#include "backend/remote/hostmem/mirror.h"
#include "backend/remote/memory/state.h"

#define CONVERT_LEAST  (128u << 10)
#define PAGE           4096ull
#define REGISTER_FLAGS (CU_MEMHOSTREGISTER_PORTABLE | CU_MEMHOSTREGISTER_DEVICEMAP | CU_MEMHOSTREGISTER_READ_ONLY)

/* Whether this line of /proc/self/maps describes memory that can be converted.  *readable: whether it can be mirrored. */
static bool maps_line_convertible(const char *line, unsigned long long *from, unsigned long long *to, bool *readable)
{
	unsigned long long offset, inode;
	char perms[8], device[16], name[32] = "";

	*readable = false;
	if (sscanf(line, "%llx-%llx %7s %llx %15s %llu %31s", from, to, perms, &offset, device, &inode, name) < 6)
		return false;
	*readable = perms[0] == 'r';
	return !strncmp(perms, "rw-p", 4) && !inode && strcmp(name, "[heap]") && strncmp(name, "[stack", 6);
}

/* 1: all pages can be converted; 0: all can be read, but some cannot be converted; -EFAULT: some cannot be read; -ENOMEM. */
static int pages_convertible(uint64_t from, uint64_t to)
{
	FILE *f = fopen("/proc/self/maps", "re");
	unsigned long long start = 0, end = 0;
	char *line = NULL;
	size_t room = 0;
	int convertible = 1;
	bool readable, hole = false;

	if (!f)
		return -ENOMEM;
	while (from < to && getline(&line, &room, f) > 0) {
		bool private = maps_line_convertible(line, &start, &end, &readable);
		if (sscanf(line, "%llx-%llx", &start, &end) != 2 || end <= from)
			continue;
		hole = start > from || !readable;
		if (hole)
			break;
		convertible &= private;
		from = end;
	}
	if (from < to)
		convertible = hole || feof(f) ? -EFAULT : -ENOMEM;
	free(line);
	fclose(f);
	return convertible;
}

/* ---- the parts of a registration ---- */

/* The next part of [*at, to) that is mirrored, within one extent; false: none is left.  Pages that are shared are not. */
static bool mirrored_part(const struct host_pages *p, uint64_t *at, uint64_t to, size_t *size)
{
	uint64_t end;

	if (*at == p->shared_from)
		*at = p->shared_to;
	if (*at >= to)
		return false;
	end = extent_end(*at);
	if (*at < p->shared_from && end > p->shared_from)
		end = p->shared_from;
	*size = (end < to ? end : to) - *at;
	return true;
}

static void parts_unmirror(const struct host_pages *p, uint64_t from, uint64_t to)
{
	size_t size;

	for (uint64_t at = from; mirrored_part(p, &at, to, &size); at += size)
		mirror_remove(at);
}

static CUresult parts_mirror(const struct host_pages *p, uint64_t from, uint64_t to)
{
	size_t size;
	CUresult r;

	for (uint64_t at = from; mirrored_part(p, &at, to, &size); at += size) {
		r = client->local ? mirror_add_shadow(at, size, extent_shadow(at))
				  : mirror_add(at, size, true, extent_used_before(at));
		if (r) {
			parts_unmirror(p, from, at);
			return r;
		}
	}
	return CUDA_SUCCESS;
}

/* Replaces the whole pages of the range.  If that fails, all of it is mirrored. */
static void pages_convert(struct host_pages *p, uint64_t from, uint64_t to)
{
	from = (from + PAGE - 1) & -PAGE;
	to &= -PAGE;
	if (from < to && extent_replace_pages(from, to)) {
		p->shared_from = from;
		p->shared_to = to;
	}
}

/* The pages become private again, so that a forked child gets copies of them as before. */
static void pages_restore(const struct host_pages *p)
{
	size_t size = p->shared_to - p->shared_from;
	void *at = (void *)(uintptr_t)p->shared_from, *fresh;

	if (!size)
		return;
	fresh = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (fresh == MAP_FAILED)
		return;
	memcpy(fresh, at, size);
	if (mremap(fresh, size, size, MREMAP_MAYMOVE | MREMAP_FIXED, at) != at)
		munmap(fresh, size);
}

/* ---- registering ---- */

/* Has the device reach memory that was entered.  register_lock held. */
static CUresult registered_map(uint64_t address, size_t size, bool convert)
{
	uint64_t end = address + size;
	struct host_pages p = {.from = address & -PAGE, .to = (end + PAGE - 1) & -PAGE};
	CUresult r = extents_take(&p);

	if (r)
		return r;
	if (convert && client->local)
		pages_convert(&p, address, end);
	r = parts_mirror(&p, address, end);
	extents_settle(&p);
	if (r) {
		pages_restore(&p);
		extents_release(&p);
	} else {
		hostmem_set_mapped(address, &p);
	}
	return r;
}

static bool register_converts(size_t size, int convertible)
{
	return client->local && convertible > 0 && size >= CONVERT_LEAST;
}

/* register_lock held. */
static CUresult host_register(uint64_t address, size_t size, unsigned flags)
{
	int convertible = pages_convertible(address & -PAGE, (address + size + PAGE - 1) & -PAGE);
	bool convert = register_converts(size, convertible), ended;
	struct host_pages none;
	CUresult r = convertible == -ENOMEM ? CUDA_ERROR_OUT_OF_MEMORY
		     : convertible < 0      ? CUDA_ERROR_INVALID_VALUE
					    : hostmem_enter(address, size, flags);

	if (r || (!convert && !(flags & CU_MEMHOSTREGISTER_DEVICEMAP)))
		return r;
	r = registered_map(address, size, convert);
	ended = r && (flags & CU_MEMHOSTREGISTER_DEVICEMAP || client_broken());
	if (ended)
		hostmem_leave(address, true, &size, &none);
	return ended ? r : CUDA_SUCCESS; /* the address is in use in the server: for copies only */
}

CUresult remote_cuMemHostRegister_v2(void *p, size_t size, unsigned int flags)
{
	uint64_t address = (uintptr_t)p;
	struct host_info known;
	CUresult r;

	if (!context_current())
		return context_none();
	if (!p || !size || flags & ~REGISTER_FLAGS || size > UINT64_MAX / 2 || address > UINT64_MAX / 2)
		return CUDA_ERROR_INVALID_VALUE;
	if (hostmem_find(address, &known))
		return known.kind == HOST_REGISTERED ? CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED
						     : CUDA_ERROR_INVALID_VALUE;
	pthread_mutex_lock(&client->memory->hosts.register_lock);
	r = host_register(address, size, flags);
	pthread_mutex_unlock(&client->memory->hosts.register_lock);
	return r;
}

CUresult host_register_map(uint64_t address)
{
	struct host_info h;
	CUresult r = CUDA_ERROR_INVALID_VALUE;

	pthread_mutex_lock(&client->memory->hosts.register_lock);
	if (hostmem_find(address, &h) && h.base == address && h.kind == HOST_REGISTERED)
		r = h.shared ? CUDA_SUCCESS : registered_map(address, h.size, false);
	pthread_mutex_unlock(&client->memory->hosts.register_lock);
	return r;
}

CUresult host_unregister(uint64_t address, bool ended)
{
	struct host_pages p;
	size_t size;
	CUresult r;

	pthread_mutex_lock(&client->memory->hosts.register_lock);
	r = hostmem_leave(address, ended, &size, &p);
	if (!r && p.from < p.to) {
		mirror_pull();
		parts_unmirror(&p, address, address + size);
		r = extents_release(&p);
		pages_restore(&p);
	}
	pthread_mutex_unlock(&client->memory->hosts.register_lock);
	return r;
}

CUresult remote_cuMemHostUnregister(void *p)
{
	return p ? host_unregister((uintptr_t)p, false) : CUDA_ERROR_INVALID_VALUE;
}
