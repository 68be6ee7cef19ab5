/* Copies in batches.  CUDA leaves their order free; they are made in the order given. */
#include "backend/remote/copy/staged_copy.h"
#include "backend/remote/memory/memory.h"
#include "cuda/batch.h"

static void batch_set_failed(size_t *out, size_t index)
{
	if (out)
		*out = index;
}

/*
 * Pageable memory is read during the call: too early for a source that must be read in stream order, unless the stream is
 * synchronized first.  Shared memory is read when the stream gets there: too late for a source that the application may
 * change after the call, unless the call waits.
 */
static CUresult batch_sync_before(bool pageable, CUmemcpySrcAccessOrder order, CUstream stream)
{
	return pageable && order == CU_MEMCPY_SRC_ACCESS_ORDER_STREAM ? remote_cuStreamSynchronize(stream)
								      : CUDA_SUCCESS;
}

static CUresult batch_sync_after(bool shared, CUmemcpySrcAccessOrder order, CUstream stream)
{
	return shared && order == CU_MEMCPY_SRC_ACCESS_ORDER_DURING_API_CALL ? remote_cuStreamSynchronize(stream)
									     : CUDA_SUCCESS;
}

static CUresult batch_copy_one(
	CUdeviceptr dst, CUdeviceptr src, size_t size, CUmemcpySrcAccessOrder order, CUstream stream)
{
	enum place from = memory_place(src);
	CUresult r = batch_sync_before(from == PLACE_HOST, order, stream);

	if (!r)
		r = remote_cuMemcpyAsync(dst, src, size, stream);
	return r ? r : batch_sync_after(from == PLACE_SHARED, order, stream);
}

static CUresult batch_copy(CUdeviceptr *dsts, CUdeviceptr *srcs, size_t *sizes, size_t count, CUmemcpyAttributes *attrs,
	size_t *indices, size_t n, size_t *fail, CUstream stream)
{
	CUresult r;

	batch_set_failed(fail, SIZE_MAX);
	if (!stream_find(stream, &r))
		return r;
	if (!dsts || !srcs || !sizes || !count || (uintptr_t)stream <= 2 ||
		!batch_attributes_ok(attrs, indices, n, count))
		return CUDA_ERROR_INVALID_VALUE;
	for (size_t i = 0; i < count; i++)
		if (!sizes[i] || !dsts[i] || !srcs[i]) {
			batch_set_failed(fail, i);
			return CUDA_ERROR_INVALID_VALUE;
		}
	r = CUDA_SUCCESS;
	for (size_t i = 0, at = 0; i < count && !r; i++) {
		at += at + 1 < n && indices[at + 1] == i;
		r = batch_copy_one(dsts[i], srcs[i], sizes[i], attrs[at].srcAccessOrder, stream);
		if (r)
			batch_set_failed(fail, i);
	}
	return r;
}

CUresult remote_cuMemcpyBatchAsync(CUdeviceptr *dsts, CUdeviceptr *srcs, size_t *sizes, size_t count,
	CUmemcpyAttributes *attrs, size_t *indices, size_t n, size_t *fail, CUstream stream)
{
	return batch_copy(dsts, srcs, sizes, count, attrs, indices, n, fail, stream);
}

CUresult remote_cuMemcpyBatchAsync_v2(CUdeviceptr *dsts, CUdeviceptr *srcs, size_t *sizes, size_t count,
	CUmemcpyAttributes *attrs, size_t *indices, size_t n, CUstream stream)
{
	return batch_copy(dsts, srcs, sizes, count, attrs, indices, n, NULL, stream);
}

/* ---- blocks: extents are in texels if an array takes part, else in bytes ---- */

static CUresult operand_texel_size(const CUmemcpy3DOperand *o, size_t *bytes)
{
	CUDA_ARRAY3D_DESCRIPTOR d;
	CUresult r;

	*bytes = 1;
	if (o->type == CU_MEMCPY_OPERAND_TYPE_POINTER)
		return CUDA_SUCCESS;
	if (o->type != CU_MEMCPY_OPERAND_TYPE_ARRAY)
		return CUDA_ERROR_INVALID_VALUE;
	*bytes = array_texel(o->op.array.array);
	if (*bytes)
		return CUDA_SUCCESS;
	r = call_cuArray3DGetDescriptor_v2(&d, o->op.array.array);
	return r ? r : CUDA_ERROR_NOT_SUPPORTED;
}

struct operand {
	CUmemorytype type;
	CUdeviceptr address;
	CUarray array;
	size_t x, y, z, pitch, height;
};

static bool operand_init(struct operand *to, const CUmemcpy3DOperand *o, size_t texel, size_t unit)
{
	*to = (struct operand){.type = CU_MEMORYTYPE_UNIFIED};
	if (o->type == CU_MEMCPY_OPERAND_TYPE_ARRAY) {
		to->type = CU_MEMORYTYPE_ARRAY;
		to->array = o->op.array.array;
		to->y = o->op.array.offset.y;
		to->z = o->op.array.offset.z;
		return !__builtin_mul_overflow(o->op.array.offset.x, texel, &to->x);
	}
	to->address = o->op.ptr.ptr;
	to->height = o->op.ptr.layerHeight;
	return !__builtin_mul_overflow(o->op.ptr.rowLength, unit, &to->pitch);
}

/* Rows without gaps between them may leave out their length. */
static void operand_complete_pitch(struct operand *o, const CUDA_MEMCPY3D *p)
{
	if (o->type == CU_MEMORYTYPE_ARRAY)
		return;
	if (!o->pitch)
		o->pitch = p->WidthInBytes;
	if (!o->height)
		o->height = p->Height;
}

static CUresult batch_op_translate(const CUDA_MEMCPY3D_BATCH_OP *op, CUDA_MEMCPY3D *p)
{
	struct operand src, dst;
	size_t from, to, unit;
	CUresult r = operand_texel_size(&op->src, &from);

	if (!r)
		r = operand_texel_size(&op->dst, &to);
	if (r)
		return r;
	unit = op->src.type == CU_MEMCPY_OPERAND_TYPE_ARRAY ? from : to;
	*p = (CUDA_MEMCPY3D){.Height = op->extent.height, .Depth = op->extent.depth};
	if (!op->extent.width || !p->Height || !p->Depth || !batch_order_ok(op->srcAccessOrder, op->flags) ||
		__builtin_mul_overflow(op->extent.width, unit, &p->WidthInBytes) ||
		!operand_init(&src, &op->src, from, unit) || !operand_init(&dst, &op->dst, to, unit))
		return CUDA_ERROR_INVALID_VALUE;
	operand_complete_pitch(&src, p);
	operand_complete_pitch(&dst, p);
	p->srcMemoryType = src.type, p->srcDevice = src.address, p->srcArray = src.array, p->srcXInBytes = src.x;
	p->srcY = src.y, p->srcZ = src.z, p->srcPitch = src.pitch, p->srcHeight = src.height;
	p->dstMemoryType = dst.type, p->dstDevice = dst.address, p->dstArray = dst.array, p->dstXInBytes = dst.x;
	p->dstY = dst.y, p->dstZ = dst.z, p->dstPitch = dst.pitch, p->dstHeight = dst.height;
	return CUDA_SUCCESS;
}

static CUresult batch_copy_block(const CUDA_MEMCPY3D_BATCH_OP *op, CUstream stream)
{
	bool memory = op->src.type == CU_MEMCPY_OPERAND_TYPE_POINTER;
	enum place from = memory ? memory_place(op->src.op.ptr.ptr) : PLACE_DEVICE;
	CUDA_MEMCPY3D p;
	CUresult r = batch_op_translate(op, &p);

	if (!r)
		r = batch_sync_before(from == PLACE_HOST, op->srcAccessOrder, stream);
	if (!r)
		r = block_copy_3d(&p, stream, false);
	return r ? r : batch_sync_after(from == PLACE_SHARED, op->srcAccessOrder, stream);
}

static CUresult batch_copy_blocks(
	size_t n, CUDA_MEMCPY3D_BATCH_OP *ops, size_t *fail, unsigned long long flags, CUstream stream)
{
	CUDA_MEMCPY3D p;
	CUresult r;

	batch_set_failed(fail, SIZE_MAX);
	if (!stream_find(stream, &r))
		return r;
	if (!n || !ops || flags || (uintptr_t)stream <= 2)
		return CUDA_ERROR_INVALID_VALUE;
	for (size_t i = 0; i < n; i++)
		if ((r = batch_op_translate(&ops[i], &p))) {
			batch_set_failed(fail, i);
			return r;
		}
	for (size_t i = 0; i < n; i++)
		if ((r = batch_copy_block(&ops[i], stream))) {
			batch_set_failed(fail, i);
			return r;
		}
	return CUDA_SUCCESS;
}

CUresult remote_cuMemcpy3DBatchAsync(
	size_t n, CUDA_MEMCPY3D_BATCH_OP *ops, size_t *fail, unsigned long long flags, CUstream stream)
{
	return batch_copy_blocks(n, ops, fail, flags, stream);
}

CUresult remote_cuMemcpy3DBatchAsync_v2(
	size_t n, CUDA_MEMCPY3D_BATCH_OP *ops, unsigned long long flags, CUstream stream)
{
	return batch_copy_blocks(n, ops, NULL, flags, stream);
}
