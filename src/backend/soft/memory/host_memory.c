/*
 * Pinned host memory: allocated here, or the application's own memory, registered.  Host and device use one address,
 * so there is nothing to map; the driver only enters the memory as a range.
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
#define UNCHECKED   (1u << 30) /* sizes up to this are not compared with the machine's memory */

#ifndef MADV_POPULATE_READ
#define MADV_POPULATE_READ  22
#define MADV_POPULATE_WRITE 23
#endif

static void host_range_release(struct range *r)
{
	munmap((void *)(uintptr_t)range_addr(r), r->size);
	free(r);
}

static void registered_range_release(struct range *r)
{
	free(r);
}

static CUresult host_alloc(struct context *ctx, void **pp, size_t size, unsigned flags)
{
	struct range *r;
	void *p;

	if (!pp || flags & ~ALLOC_FLAGS)
		return CUDA_ERROR_INVALID_VALUE;
	CUresult e = capture_reject_unsafe_call();
	if (e)
		return e;
	*pp = NULL;
	if (!size)
		return CUDA_SUCCESS;
	if ((size > UNCHECKED && size > machine_memory()) || !(r = calloc(1, sizeof *r)))
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
	/* As on an H200, cuMemHostGetFlags reports the portable flag for write-combined memory only. */
	if (flags & CU_MEMHOSTALLOC_WRITECOMBINED)
		r->flags |= flags & (CU_MEMHOSTALLOC_WRITECOMBINED | CU_MEMHOSTALLOC_PORTABLE);
	r->device = ctx->device;
	r->ctx = ctx;
	r->release = host_range_release;
	if (range_insert(r)) { /* new pages overlap nothing, so the context has ended */
		host_range_release(r);
		return CUDA_ERROR_CONTEXT_IS_DESTROYED;
	}
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

/* Wait until no submitted work can use the range that starts at p, then remove and release it. */
static CUresult host_range_remove(struct context *ctx, void *p, enum range_kind kind)
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
	contexts_wait(); /* a graph launched meanwhile may have found the range */
	range->release(range);
	return CUDA_SUCCESS;
}

CUresult soft_cuMemFreeHost(void *p)
{
	struct context *ctx;
	CUresult r = context_enter(&ctx);

	if (!r && p)
		r = capture_reject_unsafe_call();
	return r || !p ? r : host_range_remove(ctx, p, RANGE_HOST);
}

/* Is every page of [p, p + size) mapped? */
static bool pages_exist(const void *p, size_t size)
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
 * May the device access [p, p + size)?  Populating the first and the last page shows whether the process may read
 * or write them.  A kernel without MADV_POPULATE_* returns EINVAL; then it must suffice that the pages exist.
 */
static bool memory_is_usable(const void *p, size_t size, bool write)
{
	size_t page = sysconf(_SC_PAGESIZE);
	uintptr_t first = (uintptr_t)p & -page, last = ((uintptr_t)p + size - 1) & -page;

	if (!pages_exist(p, size))
		return false;
	if (!atomic_load(&soft.memory.host.populate)) {
		char probe;

		atomic_store(&soft.memory.host.populate,
			madvise((void *)((uintptr_t)&probe & -page), page, MADV_POPULATE_READ) ? -1 : 1);
	}
	if (atomic_load(&soft.memory.host.populate) < 0)
		return true;
	int advice = write ? MADV_POPULATE_WRITE : MADV_POPULATE_READ;
	return !madvise((void *)first, page, advice) && !madvise((void *)last, page, advice);
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
	if (!memory_is_usable(p, size, !read_only))
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
	r->release = registered_range_release;
	if (range_insert(r)) {
		free(r);
		return CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED;
	}
	return CUDA_SUCCESS;
}

/*
 * The application is about to give its memory back: work of any context may still use it, also if the registration has
 * ended with its context.
 */
CUresult soft_cuMemHostUnregister(void *p)
{
	struct context *ctx;
	CUresult r;

	if (atomic_load(&soft.ready) && !soft_in_callback)
		contexts_wait();
	r = context_enter(&ctx);
	if (r && r != CUDA_ERROR_INVALID_CONTEXT && p &&
		!soft_in_callback) { /* a failed context: the memory goes all the same */
		struct range *range = range_remove((uintptr_t)p, 1u << RANGE_REGISTERED);
		if (range)
			range->release(range);
	}
	if (r)
		return r;
	return p ? host_range_remove(ctx, p, RANGE_REGISTERED) : CUDA_ERROR_INVALID_VALUE;
}

static CUresult host_range_find(const void *p, unsigned kinds, struct range *copy)
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
	CUresult r = out && !flags ? host_range_find(p, HOST_KINDS, &copy) : CUDA_ERROR_INVALID_VALUE;

	if (!r)
		*out = (uintptr_t)p;
	return r;
}

CUresult soft_cuMemHostGetFlags(unsigned int *flags, void *p)
{
	struct range copy;
	CUresult r = flags ? host_range_find(p, FLAGS_KINDS, &copy) : CUDA_ERROR_INVALID_VALUE;

	if (!r)
		*flags = copy.flags;
	return r;
}
