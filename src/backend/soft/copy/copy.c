/* Copies of linear memory. */
#include "backend/soft/copy/copy.h"

#include <string.h>

#include "backend/soft/memory/range.h"

enum copy_flags {
	DST_DEVICE = 1, /* the call requires the destination to be device memory */
	SRC_DEVICE = 2,
	ASYNC = 4,
};

#define COPY_WORD(type, dst, src) \
	__atomic_store_n((type *)(uintptr_t)(dst), __atomic_load_n((const type *)(uintptr_t)(src), __ATOMIC_RELAXED), \
		__ATOMIC_RELAXED)

/* Fuzz builds: the sides that were driver memory when the copy was submitted still are. */
static void copy_check_touched(const struct copy *p)
{
#ifdef GANGWAY_CHECK_RANGES
	if (p->driver_dst)
		range_check_touched(p->dst, p->size, "the target of a copy");
	if (p->driver_src)
		range_check_touched(p->src, p->size, "the source of a copy");
#else
	(void)p;
#endif
}

/* An aligned word is copied atomically: a kernel in another stream may poll it. */
static CUresult run_copy(struct command *c)
{
	struct copy *p = c->data;
	uint64_t both = p->dst | p->src;

	range_touch_begin();
	if ((p->check_dst && !range_writable(p->dst, p->size)) ||
		(p->check_src && !range_accessible(p->src, p->size))) {
		range_touch_end();
		return CUDA_ERROR_ILLEGAL_ADDRESS;
	}
	copy_check_touched(p);
	if (p->size == 4 && both % 4 == 0)
		COPY_WORD(uint32_t, p->dst, p->src);
	else if (p->size == 8 && both % 8 == 0)
		COPY_WORD(uint64_t, p->dst, p->src);
	else
		memmove((void *)(uintptr_t)p->dst, (const void *)(uintptr_t)p->src, p->size);
	check_written(p->dst, p->size);
	range_touch_end();
	return CUDA_SUCCESS;
}

const struct command_ops command_copy = {COMMAND_COPY, run_copy, NULL, false};

/* Memory that is not accessible is pageable, or driver memory that this copy must not touch: mapped without access. */
static bool side_usable(uint64_t addr, size_t size, bool device, bool write)
{
	struct range r;

	if (write ? range_writable(addr, size) : range_accessible(addr, size))
		return true;
	return !device && (!range_find(addr, 1, &r) || r.kind == RANGE_REGISTERED || r.kind == RANGE_HOST);
}

static CUresult copy_check(uint64_t dst, uint64_t src, size_t size, unsigned flags)
{
	if (!dst || !src || dst + size < dst || src + size < src)
		return CUDA_ERROR_INVALID_VALUE;
	if (!side_usable(dst, size, flags & DST_DEVICE, true) || !side_usable(src, size, flags & SRC_DEVICE, false))
		return CUDA_ERROR_INVALID_VALUE;
	return CUDA_SUCCESS;
}

static struct command *copy_command_create(uint64_t dst, uint64_t src, size_t size, bool stage)
{
	struct command *c = command_create(&command_copy, sizeof(struct copy) + (stage ? size : 0));

	if (!c)
		return NULL;
	struct copy *p = c->data;
	p->dst = dst;
	p->src = src;
	p->size = size;
	if (stage) {
		memcpy(p->staged, (const void *)(uintptr_t)src, size);
		p->src = (uintptr_t)p->staged;
	}
	return c;
}

/*
 * An asynchronous copy returns at once only if it does not access pageable memory of the application afterwards: a
 * small source is staged; with a larger source, or a pageable destination, the call waits.
 */
static CUresult copy_submit(struct stream *s, uint64_t dst, uint64_t src, size_t size, unsigned flags)
{
	bool captured = atomic_load(&s->capture);
	bool dst_pageable = !captured && !(flags & DST_DEVICE) && !range_accessible(dst, size);
	bool src_pageable = !captured && !(flags & SRC_DEVICE) && !range_accessible(src, size);
	bool wait = !(flags & ASYNC) || dst_pageable || (src_pageable && size > COPY_QUICK);
	struct command *c = copy_command_create(dst, src, size, src_pageable && !wait && !stream_idle(s));

	if (!c)
		return CUDA_ERROR_OUT_OF_MEMORY;
	struct copy *p = c->data;
	p->check_dst =
		captured ? flags & DST_DEVICE || range_accessible(dst, size) : !dst_pageable && range_may_be_freed(dst);
	p->check_src =
		captured ? flags & SRC_DEVICE || range_accessible(src, size) : !src_pageable && range_may_be_freed(src);
#ifdef GANGWAY_CHECK_RANGES
	p->driver_dst = !dst_pageable && range_accessible(dst, size) && (captured || range_may_be_freed(dst));
	p->driver_src = !src_pageable && range_accessible(src, size) && (captured || range_may_be_freed(src));
#endif
	if (wait || (src_pageable && p->src == src))
		return stream_run(s, c);
	return size <= COPY_QUICK ? stream_submit_quick(s, c) : stream_submit(s, c, NULL);
}

static CUresult copy_linear(uint64_t dst, uint64_t src, size_t size, CUstream stream, unsigned flags)
{
	struct stream *s;
	CUresult r = stream_enter(stream, &s);

	if (r)
		return r;
	if (size) {
		r = copy_check(dst, src, size, flags);
		if (!r)
			r = copy_submit(s, dst, src, size, flags);
	}
	object_put(s);
	return r;
}

/* ---- entry points ---- */

CUresult soft_cuMemcpy(CUdeviceptr dst, CUdeviceptr src, size_t size)
{
	return copy_linear(dst, src, size, NULL, 0);
}

CUresult soft_cuMemcpyAsync(CUdeviceptr dst, CUdeviceptr src, size_t size, CUstream stream)
{
	return copy_linear(dst, src, size, stream, ASYNC);
}

CUresult soft_cuMemcpyHtoD_v2(CUdeviceptr dst, const void *src, size_t size)
{
	return copy_linear(dst, (uintptr_t)src, size, NULL, DST_DEVICE);
}

CUresult soft_cuMemcpyHtoDAsync_v2(CUdeviceptr dst, const void *src, size_t size, CUstream stream)
{
	return copy_linear(dst, (uintptr_t)src, size, stream, DST_DEVICE | ASYNC);
}

CUresult soft_cuMemcpyDtoH_v2(void *dst, CUdeviceptr src, size_t size)
{
	return copy_linear((uintptr_t)dst, src, size, NULL, SRC_DEVICE);
}

CUresult soft_cuMemcpyDtoHAsync_v2(void *dst, CUdeviceptr src, size_t size, CUstream stream)
{
	return copy_linear((uintptr_t)dst, src, size, stream, SRC_DEVICE | ASYNC);
}

/* Between device memory, the synchronous form need not wait either. */
CUresult soft_cuMemcpyDtoD_v2(CUdeviceptr dst, CUdeviceptr src, size_t size)
{
	return copy_linear(dst, src, size, NULL, DST_DEVICE | SRC_DEVICE | ASYNC);
}

CUresult soft_cuMemcpyDtoDAsync_v2(CUdeviceptr dst, CUdeviceptr src, size_t size, CUstream stream)
{
	return copy_linear(dst, src, size, stream, DST_DEVICE | SRC_DEVICE | ASYNC);
}

CUresult copy_contexts_check(CUcontext dst, CUcontext src)
{
	const CUcontext handles[] = {dst, src};
	struct context *ctx;

	for (int i = 0; i < 2; i++) {
		CUresult r = context_find(handles[i], &ctx);

		if (r)
			return r;
		object_put(ctx);
	}
	return CUDA_SUCCESS;
}

CUresult soft_cuMemcpyPeer(CUdeviceptr dst, CUcontext dst_ctx, CUdeviceptr src, CUcontext src_ctx, size_t size)
{
	CUresult r = copy_contexts_check(dst_ctx, src_ctx);

	return r ? r : soft_cuMemcpyDtoD_v2(dst, src, size);
}

CUresult soft_cuMemcpyPeerAsync(
	CUdeviceptr dst, CUcontext dst_ctx, CUdeviceptr src, CUcontext src_ctx, size_t size, CUstream stream)
{
	CUresult r = copy_contexts_check(dst_ctx, src_ctx);

	return r ? r : soft_cuMemcpyDtoDAsync_v2(dst, src, size, stream);
}
