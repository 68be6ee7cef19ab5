/*
 * Host memory the device can reach: allocated here, or the application's own, registered.  Host and device
 * see it at one address, so there is nothing to map; what matters is that the driver knows it.
 */
#include "backend/soft/memory/range.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "host/machine.h"

#define ALLOC_FLAGS (CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP | CU_MEMHOSTALLOC_WRITECOMBINED)
#define REGISTER_FLAGS \
	(CU_MEMHOSTREGISTER_PORTABLE | CU_MEMHOSTREGISTER_DEVICEMAP | CU_MEMHOSTREGISTER_IOMEMORY | \
		CU_MEMHOSTREGISTER_READ_ONLY)
#define HOST_KINDS  (1u << RANGE_HOST | 1u << RANGE_REGISTERED)
#define FLAGS_KINDS (HOST_KINDS | 1u << RANGE_MANAGED)
#define PLENTY      (1u << 30) /* less than this is not worth asking the machine for its memory */

#ifndef MADV_POPULATE_READ
#define MADV_POPULATE_READ  22
#define MADV_POPULATE_WRITE 23
#endif

static void release_host(struct range *r)
{
	munmap((void *)(uintptr_t)range_addr(r), r->size);
	free(r);
}

static void release_registered(struct range *r)
{
	free(r);
}

static CUresult host_alloc(struct context *ctx, void **pp, size_t size, unsigned flags)
{
	struct range *r;
	void *p;

	if (!pp || flags & ~ALLOC_FLAGS)
		return CUDA_ERROR_INVALID_VALUE;
	CUresult e = capture_unsafe();
	if (e)
		return e;
	*pp = NULL;
	if (!size)
		return CUDA_SUCCESS;
	if ((size > PLENTY && size > machine_memory()) || !(r = calloc(1, sizeof *r)))
		return CUDA_ERROR_OUT_OF_MEMORY;
	p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (p == MAP_FAILED) {
		free(r);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	r->node.key = (uintptr_t)p;
	r->size = size;
	r->kind = RANGE_HOST;
	r->flags = CU_MEMHOSTALLOC_DEVICEMAP;
	if (flags & CU_MEMHOSTALLOC_WRITECOMBINED) /* of others portable goes without saying, as on an H200 */
		r->flags |= flags & (CU_MEMHOSTALLOC_WRITECOMBINED | CU_MEMHOSTALLOC_PORTABLE);
	r->device = ctx->device;
	r->ctx = ctx;
	r->release = release_host;
	range_insert(r); /* fresh pages overlap nothing */
	*pp = p;
	return CUDA_SUCCESS;
}

CUresult soft_cuMemHostAlloc(void **pp, size_t size, unsigned int flags)
{
	struct context *ctx;
	CUresult r = context_enter(&ctx);

	return r ? r : host_alloc(ctx, pp, size, flags);
}

CUresult soft_cuMemAllocHost_v2(void **pp, size_t size)
{
	return soft_cuMemHostAlloc(pp, size, 0);
}

/* Take out the range that starts at p, once nothing that was submitted can still use it. */
static CUresult retire(struct context *ctx, void *p, enum range_kind kind)
{
	struct range *range, copy;

	if (!range_find((uintptr_t)p, 1, &copy))
		return kind == RANGE_REGISTERED ? CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED : CUDA_ERROR_INVALID_VALUE;
	if (range_addr(&copy) != (uintptr_t)p || copy.kind != kind)
		return CUDA_ERROR_INVALID_VALUE;
	context_wait(ctx);
	range = range_remove((uintptr_t)p, 1u << kind);
	if (!range)
		return CUDA_ERROR_INVALID_VALUE;
	range->release(range);
	return CUDA_SUCCESS;
}

CUresult soft_cuMemFreeHost(void *p)
{
	struct context *ctx;
	CUresult r = context_enter(&ctx);

	if (!r && p)
		r = capture_unsafe();
	return r || !p ? r : retire(ctx, p, RANGE_HOST);
}

/* Is every page of [p, p + size) there? */
static bool resident(const void *p, size_t size)
{
	unsigned char seen[4096];
	size_t page = sysconf(_SC_PAGESIZE), step = sizeof seen * page;
	uintptr_t from = (uintptr_t)p & -page, to = (uintptr_t)p + size;

	if (to < (uintptr_t)p)
		return false;
	for (; from < to; from += step)
		if (mincore((void *)from, to - from < step ? to - from : step, seen) && errno != EAGAIN)
			return false;
	return true;
}

/*
 * May the device use [p, p + size)?  Reading the first and the last page in is how the kernel tells whether
 * they may be written to; one that does not know how says EINVAL, and then presence has to do.
 */
static bool usable(const void *p, size_t size, bool write)
{
	size_t page = sysconf(_SC_PAGESIZE);
	uintptr_t first = (uintptr_t)p & -page, last = ((uintptr_t)p + size - 1) & -page;

	if (!resident(p, size))
		return false;
	if (!atomic_load(&soft.memory.host.populate)) {
		char probe;

		atomic_store(&soft.memory.host.populate,
			madvise((void *)((uintptr_t)&probe & -page), page, MADV_POPULATE_READ) ? -1 : 1);
	}
	if (atomic_load(&soft.memory.host.populate) < 0)
		return true;
	int how = write ? MADV_POPULATE_WRITE : MADV_POPULATE_READ;
	return !madvise((void *)first, page, how) && !madvise((void *)last, page, how);
}

CUresult soft_cuMemHostRegister_v2(void *p, size_t size, unsigned int flags)
{
	struct context *ctx;
	CUresult e = context_enter(&ctx);

	if (e)
		return e;
	bool read_only = flags & CU_MEMHOSTREGISTER_READ_ONLY;
	struct range known;
	if (!p || !size || flags & ~REGISTER_FLAGS || flags & CU_MEMHOSTREGISTER_IOMEMORY)
		return CUDA_ERROR_INVALID_VALUE;
	if (range_find((uintptr_t)p, 1, &known))
		return known.kind == RANGE_REGISTERED ? CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED
						      : CUDA_ERROR_INVALID_VALUE;
	if (!usable(p, size, !read_only))
		return CUDA_ERROR_INVALID_VALUE;
	struct range *r = calloc(1, sizeof *r);
	if (!r)
		return CUDA_ERROR_OUT_OF_MEMORY;
	r->node.key = (uintptr_t)p;
	r->size = size;
	r->kind = RANGE_REGISTERED;
	r->flags = flags | CU_MEMHOSTREGISTER_DEVICEMAP;
	r->read_only = read_only;
	r->device = ctx->device;
	r->ctx = ctx;
	r->release = release_registered;
	if (range_insert(r)) {
		free(r);
		return CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED;
	}
	return CUDA_SUCCESS;
}

CUresult soft_cuMemHostUnregister(void *p)
{
	struct context *ctx;
	CUresult r = context_enter(&ctx);

	if (r)
		return r;
	return p ? retire(ctx, p, RANGE_REGISTERED) : CUDA_ERROR_INVALID_VALUE;
}

static CUresult host_find(const void *p, unsigned kinds, struct range *copy)
{
	struct context *ctx;
	CUresult r = context_enter(&ctx);

	if (r)
		return r;
	if (!range_find((uintptr_t)p, 1, copy) || !(kinds & 1u << copy->kind))
		return CUDA_ERROR_INVALID_VALUE;
	return CUDA_SUCCESS;
}

CUresult soft_cuMemHostGetDevicePointer_v2(CUdeviceptr *out, void *p, unsigned int flags)
{
	struct range copy;
	CUresult r = out && !flags ? host_find(p, HOST_KINDS, &copy) : CUDA_ERROR_INVALID_VALUE;

	if (!r)
		*out = (uintptr_t)p;
	return r;
}

CUresult soft_cuMemHostGetFlags(unsigned int *flags, void *p)
{
	struct range copy;
	CUresult r = flags ? host_find(p, FLAGS_KINDS, &copy) : CUDA_ERROR_INVALID_VALUE;

	if (!r)
		*flags = copy.flags;
	return r;
}
