/*
 * Batches of copies.  CUDA leaves their order open; the driver runs them in the given order.
 */
#include "backend/soft/copy/copy3d.h"
#include "backend/soft/memory/range.h"
#include "cuda/batch.h"

static void report_failed_index(size_t *out, size_t index)
{
	if (out)
		*out = index;
}

/* A known range must be accessible to its end; unknown memory is pageable memory of the application. */
static bool memory_reachable(uint64_t addr, size_t size, bool write)
{
	struct range r;

	if (!addr || addr + size < addr)
		return false;
	return (write ? range_writable(addr, size) : range_accessible(addr, size)) || !range_find(addr, 1, &r) ||
	       r.kind == RANGE_REGISTERED;
}

/* If the source is to be read during the call, wait until it has been read. */
static CUresult wait_for_source_read(CUstream stream, CUmemcpySrcAccessOrder order)
{
	struct stream *s;

	if (order != CU_MEMCPY_SRC_ACCESS_ORDER_DURING_API_CALL)
		return CUDA_SUCCESS;
	CUresult r = stream_enter(stream, &s);
	if (r)
		return r;
	if (!atomic_load(&s->capture))
		stream_wait(s, atomic_load(&s->submitted), true);
	r = atomic_load(&s->object.ctx->error);
	object_put(s);
	return r;
}

static CUresult copy_batch(CUdeviceptr *dsts, CUdeviceptr *srcs, size_t *sizes, size_t count, CUmemcpyAttributes *attrs,
	size_t *indices, size_t n, size_t *fail, CUstream stream)
{
	struct stream *s;
	CUresult r = stream_enter(stream, &s);

	report_failed_index(fail, SIZE_MAX);
	if (r)
		return r;
	object_put(s);
	if (!dsts || !srcs || !sizes || !count || (uintptr_t)stream <= 2 ||
		!batch_attributes_ok(attrs, indices, n, count))
		return CUDA_ERROR_INVALID_VALUE;
	for (size_t i = 0; i < count; i++)
		if (!sizes[i] || !memory_reachable(dsts[i], sizes[i], true) ||
			!memory_reachable(srcs[i], sizes[i], false)) {
			report_failed_index(fail, i);
			return CUDA_ERROR_INVALID_VALUE;
		}
	for (size_t i = 0, at = 0; i < count && !r; i++) {
		at += at + 1 < n && indices[at + 1] == i;
		r = soft_cuMemcpyAsync(dsts[i], srcs[i], sizes[i], stream);
		if (!r)
			r = wait_for_source_read(stream, attrs[at].srcAccessOrder);
		if (r)
			report_failed_index(fail, i);
	}
	return r;
}

CUresult soft_cuMemcpyBatchAsync(CUdeviceptr *dsts, CUdeviceptr *srcs, size_t *sizes, size_t count,
	CUmemcpyAttributes *attrs, size_t *indices, size_t n, size_t *fail, CUstream stream)
{
	return copy_batch(dsts, srcs, sizes, count, attrs, indices, n, fail, stream);
}

CUresult soft_cuMemcpyBatchAsync_v2(CUdeviceptr *dsts, CUdeviceptr *srcs, size_t *sizes, size_t count,
	CUmemcpyAttributes *attrs, size_t *indices, size_t n, CUstream stream)
{
	return copy_batch(dsts, srcs, sizes, count, attrs, indices, n, NULL, stream);
}

/* ---- blocks: extents are in texels if one side is an array, otherwise in bytes ---- */

static unsigned texel_size(const CUmemcpy3DOperand *o)
{
	unsigned element = 1;
	struct array *a;

	if (o->type == CU_MEMCPY_OPERAND_TYPE_ARRAY && (a = object_find(o->op.array.array, KIND_ARRAY))) {
		element = a->element;
		object_put(a);
	}
	return element;
}

static bool batch_op_to_copy(const CUDA_MEMCPY3D_BATCH_OP *op, CUDA_MEMCPY3D *p)
{
	const CUmemcpy3DOperand *src = &op->src, *dst = &op->dst;
	bool src_array = src->type == CU_MEMCPY_OPERAND_TYPE_ARRAY,
	     dst_array = dst->type == CU_MEMCPY_OPERAND_TYPE_ARRAY;
	size_t unit = src_array ? texel_size(src) : texel_size(dst);

	*p = (CUDA_MEMCPY3D){.Height = op->extent.height, .Depth = op->extent.depth};
	if ((!src_array && src->type != CU_MEMCPY_OPERAND_TYPE_POINTER) ||
		(!dst_array && dst->type != CU_MEMCPY_OPERAND_TYPE_POINTER) || !op->extent.width || !p->Height ||
		!p->Depth || !batch_order_ok(op->srcAccessOrder, op->flags) ||
		__builtin_mul_overflow(op->extent.width, unit, &p->WidthInBytes))
		return false;
	p->srcMemoryType = src_array ? CU_MEMORYTYPE_ARRAY : CU_MEMORYTYPE_UNIFIED;
	p->dstMemoryType = dst_array ? CU_MEMORYTYPE_ARRAY : CU_MEMORYTYPE_UNIFIED;
	if (src_array) {
		p->srcArray = src->op.array.array;
		p->srcY = src->op.array.offset.y;
		p->srcZ = src->op.array.offset.z;
		if (__builtin_mul_overflow(src->op.array.offset.x, texel_size(src), &p->srcXInBytes))
			return false;
	} else {
		p->srcDevice = src->op.ptr.ptr;
		p->srcHeight = src->op.ptr.layerHeight;
		if (__builtin_mul_overflow(src->op.ptr.rowLength, unit, &p->srcPitch))
			return false;
	}
	if (dst_array) {
		p->dstArray = dst->op.array.array;
		p->dstY = dst->op.array.offset.y;
		p->dstZ = dst->op.array.offset.z;
		return !__builtin_mul_overflow(dst->op.array.offset.x, texel_size(dst), &p->dstXInBytes);
	}
	p->dstDevice = dst->op.ptr.ptr;
	p->dstHeight = dst->op.ptr.layerHeight;
	return !__builtin_mul_overflow(dst->op.ptr.rowLength, unit, &p->dstPitch);
}

static CUresult batch_op_check(const CUDA_MEMCPY3D_BATCH_OP *op, CUDA_MEMCPY3D *p)
{
	struct copy3d c;
	CUresult r = batch_op_to_copy(op, p) ? copy3d_init(&c, p) : CUDA_ERROR_INVALID_VALUE;

	if (!r)
		copy3d_finish(&c);
	return r;
}

static CUresult copy3d_batch(
	size_t n, CUDA_MEMCPY3D_BATCH_OP *ops, size_t *fail, unsigned long long flags, CUstream stream)
{
	CUDA_MEMCPY3D p;
	struct stream *s;
	CUresult r = stream_enter(stream, &s);

	report_failed_index(fail, SIZE_MAX);
	if (r)
		return r;
	object_put(s);
	if (!n || !ops || flags || (uintptr_t)stream <= 2)
		return CUDA_ERROR_INVALID_VALUE;
	for (size_t i = 0; i < n; i++)
		if ((r = batch_op_check(&ops[i], &p))) {
			report_failed_index(fail, i);
			return r;
		}
	for (size_t i = 0; i < n && !r; i++) {
		batch_op_to_copy(&ops[i], &p);
		r = soft_cuMemcpy3DAsync_v2(&p, stream);
		if (!r)
			r = wait_for_source_read(stream, ops[i].srcAccessOrder);
		if (r)
			report_failed_index(fail, i);
	}
	return r;
}

CUresult soft_cuMemcpy3DBatchAsync(
	size_t n, CUDA_MEMCPY3D_BATCH_OP *ops, size_t *fail, unsigned long long flags, CUstream stream)
{
	return copy3d_batch(n, ops, fail, flags, stream);
}

CUresult soft_cuMemcpy3DBatchAsync_v2(size_t n, CUDA_MEMCPY3D_BATCH_OP *ops, unsigned long long flags, CUstream stream)
{
	return copy3d_batch(n, ops, NULL, flags, stream);
}
