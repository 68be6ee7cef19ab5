/*
 * cuMemAlloc, cuMemFree, cuMemGetInfo and cuMemGetAddressRange.
 */
#include "backend/soft/memory/range.h"

CUresult soft_cuMemAlloc_v2(CUdeviceptr *out, size_t size)
{
	struct context *ctx;
	uint64_t addr;
	CUresult r = context_enter(&ctx);

	if (r)
		return r;
	if (!out || !size)
		return CUDA_ERROR_INVALID_VALUE;
	r = capture_reject_unsafe_call();
	if (r)
		return r;
	r = memory_alloc(ctx, RANGE_DEVICE, size, &addr);
	if (!r)
		*out = addr;
	return r;
}

/* Wait for the contexts that may be using a range: its own and the calling one. */
static void wait_for_range(const struct range *r, struct context *ctx)
{
	struct context *owner = r->ctx == ctx ? NULL : object_find64(r->ctx_handle, KIND_CONTEXT);

	context_wait(ctx);
	if (owner)
		context_wait(owner);
	object_put(owner);
}

/* Waits for running kernels, which may still use the memory: programs rely on cuMemFree to synchronise. */
CUresult soft_cuMemFree_v2(CUdeviceptr ptr)
{
	const unsigned kinds = 1u << RANGE_DEVICE | 1u << RANGE_MANAGED | 1u << RANGE_POOL | 1u << RANGE_GRAPH;
	struct context *ctx;
	struct range r;
	CUresult e = context_enter(&ctx);

	if (e)
		return e;
	if (!ptr)
		return CUDA_SUCCESS;
	e = capture_reject_unsafe_call();
	if (e)
		return e;
	if (!range_find(ptr, 1, &r) || range_addr(&r) != ptr || r.freeing || r.variable || !(kinds & 1u << r.kind))
		return CUDA_ERROR_INVALID_VALUE;
	wait_for_range(&r, ctx);
	struct range *removed = range_remove(ptr, kinds);
	if (!removed)
		return CUDA_ERROR_INVALID_VALUE;
	wait_for_range(removed, ctx); /* a graph launched meanwhile may have found the range */
	removed->release(removed);
	return CUDA_SUCCESS;
}

CUresult soft_cuMemGetInfo_v2(size_t *free, size_t *total)
{
	struct context *ctx;
	CUresult r = context_enter(&ctx);

	if (r)
		return r;
	size_t size = ctx->device->memory, left = size - atomic_load(&ctx->device->memory_used);
	size_t others = free ? usage_of_others(ctx->device) : 0;
	if (total)
		*total = size;
	if (free)
		*free = left > others ? left - others : 0;
	return CUDA_SUCCESS;
}

CUresult soft_cuMemGetAddressRange_v2(CUdeviceptr *base, size_t *size, CUdeviceptr ptr)
{
	struct context *ctx;
	struct range r;
	CUresult e = context_enter(&ctx);

	if (e)
		return e;
	if (!range_find(ptr, 1, &r))
		return CUDA_ERROR_NOT_FOUND;
	if (base)
		*base = range_addr(&r);
	if (size)
		*size = r.size;
	return CUDA_SUCCESS;
}
