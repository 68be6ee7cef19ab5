/*
 * Pinned and managed memory: on one host it is a memfd of ours, mapped by the server at the same address,
 * so that the device reaches it without a copy.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>
#include "backend/remote/remote.h"

#define WINDOW (1ull << 40)
#define PAGE   (2ull << 20) /* so that the kernel may use large pages */

struct host {
	struct map_node node; /* key: the address */
	size_t size, mapped;
	unsigned flags;
	bool managed;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static uint64_t window;
static bool tried;
static struct map hosts;

/* Addresses that are free here and there; some programs (sanitizers) have used up one place or another. */
static bool open_window(void)
{
	static const uint64_t bases[] = {0x300000000000, 0x200000000000, 0x400000000000, 0x280000000000};
	struct wire_host a = {.size = WINDOW};

	for (size_t i = 0; i < sizeof bases / sizeof *bases && !window && remote.local && !tried; i++) {
		void *want = (void *)(uintptr_t)bases[i];
		void *p = mmap(want, WINDOW, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE,
			-1, 0);
		a.address = bases[i];
		if (p == want && !call_sync(WIRE_WINDOW, &a, sizeof a, NULL, 0, NULL, 0))
			window = bases[i];
		else if (p != MAP_FAILED)
			munmap(p, WINDOW);
	}
	tried = true;
	return window != 0;
}

/* The first gap that is large enough. */
static uint64_t find_room(size_t size)
{
	uint64_t at = window;
	struct map_node *n = map_above(&hosts, 0);

	while (n && n->key - at < size) {
		at = (n->key + ((struct host *)n)->mapped + PAGE - 1) & ~(PAGE - 1);
		n = map_above(&hosts, n->key + 1);
	}
	return at - window + size <= WINDOW ? at : 0;
}

static bool map_fd(int fd, uint64_t at, size_t size)
{
	return mmap((void *)(uintptr_t)at, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, 0) != MAP_FAILED;
}

static void unmap(uint64_t at, size_t size)
{
	mmap((void *)(uintptr_t)at, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
}

static CUresult share(int fd, uint64_t at, size_t size)
{
	static uint64_t ids;
	struct wire_host a = {.address = at, .size = size, .id = ++ids};
	CUresult r;

	if (!map_fd(fd, at, size))
		return CUDA_ERROR_OUT_OF_MEMORY;
	if (link_send_fd(call_link(), a.id, fd))
		return call_lost();
	r = call_sync(WIRE_HOST_MAP, &a, sizeof a, NULL, 0, NULL, 0);
	if (r)
		unmap(at, size);
	return r;
}

static CUresult allocate(size_t size, unsigned flags, bool managed, void **out)
{
	size_t mapped = (size + 4095) & ~(size_t)4095;
	struct host *h;
	CUresult r = CUDA_ERROR_OUT_OF_MEMORY;
	uint64_t at;

	if (!out || !size)
		return CUDA_ERROR_INVALID_VALUE;
	if (!context_current())
		return CUDA_ERROR_INVALID_CONTEXT;
	if (mapped < size)
		return CUDA_ERROR_OUT_OF_MEMORY;
	h = calloc(1, sizeof *h);
	int fd = memfd_create("gangway-host", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	pthread_mutex_lock(&lock);
	if (!open_window())
		r = CUDA_ERROR_NOT_SUPPORTED;
	else if (h && fd >= 0 && (at = find_room(mapped)) && !ftruncate(fd, mapped) &&
		 !fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW))
		r = share(fd, at, mapped);
	if (!r) {
		*h = (struct host){.node.key = at, .size = size, .mapped = mapped, .flags = flags, .managed = managed};
		map_insert(&hosts, &h->node);
		*out = (void *)(uintptr_t)at;
		h = NULL;
	}
	pthread_mutex_unlock(&lock);
	free(h);
	if (fd >= 0)
		close(fd);
	return r;
}

static struct host *holder(uint64_t address)
{
	struct host *h = (struct host *)map_below(&hosts, address);

	return h && address - h->node.key < h->size ? h : NULL;
}

bool hostmem_shared(const void *p, size_t size)
{
	uint64_t at = (uintptr_t)p;
	struct host *h;
	bool all;

	if (at - window >= WINDOW || !window)
		return false;
	pthread_mutex_lock(&lock);
	h = holder(at);
	all = h && size <= h->mapped - (at - h->node.key);
	pthread_mutex_unlock(&lock);
	return all;
}

static CUresult release(void *p, bool managed)
{
	struct wire_host a = {.address = (uintptr_t)p};
	struct host *h;
	CUresult r;

	r = remote_cuCtxSynchronize(); /* as CUDA does: nothing may still be using it */
	if (r == CUDA_ERROR_INVALID_CONTEXT)
		return r;
	pthread_mutex_lock(&lock);
	h = holder(a.address);
	if (!h || h->node.key != a.address || h->managed != managed) {
		pthread_mutex_unlock(&lock);
		return CUDA_ERROR_INVALID_VALUE;
	}
	map_remove(&hosts, &h->node);
	r = call_sync(WIRE_HOST_UNMAP, &a, sizeof a, NULL, 0, NULL, 0);
	unmap(h->node.key, h->mapped);
	pthread_mutex_unlock(&lock);
	free(h);
	return r;
}

CUresult remote_cuMemHostAlloc(void **pp, size_t size, unsigned int flags)
{
	return allocate(size, flags, false, pp);
}

CUresult remote_cuMemAllocHost_v2(void **pp, size_t size)
{
	return allocate(size, 0, false, pp);
}

CUresult remote_cuMemFreeHost(void *p)
{
	return p ? release(p, false) : CUDA_ERROR_INVALID_VALUE;
}

/* Memory that both sides see at one address, and that needs no moving: slower for the device, never wrong. */
CUresult remote_cuMemAllocManaged(CUdeviceptr *dptr, size_t size, unsigned int flags)
{
	void *p = NULL;
	CUresult r;

	if (!dptr || (flags != CU_MEM_ATTACH_GLOBAL && flags != CU_MEM_ATTACH_HOST))
		return CUDA_ERROR_INVALID_VALUE;
	r = allocate(size, flags, true, &p);
	if (!r)
		*dptr = (uintptr_t)p;
	return r;
}

CUresult hostmem_free_managed(CUdeviceptr dptr)
{
	return release((void *)(uintptr_t)dptr, true);
}

CUresult remote_cuMemHostGetDevicePointer_v2(CUdeviceptr *pdptr, void *p, unsigned int flags)
{
	if (!pdptr || !p || flags)
		return CUDA_ERROR_INVALID_VALUE;
	if (!hostmem_shared(p, 1))
		return CUDA_ERROR_INVALID_VALUE;
	*pdptr = (uintptr_t)p;
	return CUDA_SUCCESS;
}

CUresult remote_cuMemHostGetFlags(unsigned int *flags, void *p)
{
	struct host *h;
	CUresult r = CUDA_ERROR_INVALID_VALUE;

	if (!flags)
		return r;
	pthread_mutex_lock(&lock);
	h = holder((uintptr_t)p);
	if (h && !h->managed) {
		*flags = h->flags | CU_MEMHOSTALLOC_DEVICEMAP;
		r = CUDA_SUCCESS;
	}
	pthread_mutex_unlock(&lock);
	return r;
}
