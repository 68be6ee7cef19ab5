/*
 * Entry points for 2D and 3D copies, and for copies to and from arrays.
 */
#include "backend/soft/copy/copy3d.h"

#include "backend/soft/copy/copy.h"

static CUresult copy_block(const CUDA_MEMCPY3D *p, CUstream stream, bool async)
{
	struct copy3d c;
	struct stream *s;
	CUresult r = stream_enter(stream, &s);

	if (r)
		return r;
	r = copy3d_init(&c, p);
	if (!r) /* between device memory, the synchronous form need not wait either */
		r = copy3d_submit(&c, s,
			async || (p->srcMemoryType != CU_MEMORYTYPE_HOST && p->dstMemoryType != CU_MEMORYTYPE_HOST &&
					 p->srcMemoryType != CU_MEMORYTYPE_UNIFIED &&
					 p->dstMemoryType != CU_MEMORYTYPE_UNIFIED));
	object_put(s);
	return r;
}

static CUDA_MEMCPY3D copy2d_params(const CUDA_MEMCPY2D *p)
{
	return (CUDA_MEMCPY3D){
		.srcXInBytes = p->srcXInBytes,
		.srcY = p->srcY,
		.srcMemoryType = p->srcMemoryType,
		.srcHost = p->srcHost,
		.srcDevice = p->srcDevice,
		.srcArray = p->srcArray,
		.srcPitch = p->srcPitch,
		.dstXInBytes = p->dstXInBytes,
		.dstY = p->dstY,
		.dstMemoryType = p->dstMemoryType,
		.dstHost = p->dstHost,
		.dstDevice = p->dstDevice,
		.dstArray = p->dstArray,
		.dstPitch = p->dstPitch,
		.WidthInBytes = p->WidthInBytes,
		.Height = p->Height,
		.Depth = 1,
	};
}

CUresult soft_cuMemcpy2DAsync_v2(const CUDA_MEMCPY2D *p, CUstream stream)
{
	if (!p)
		return CUDA_ERROR_INVALID_VALUE;
	CUDA_MEMCPY3D c = copy2d_params(p);
	return copy_block(&c, stream, true);
}

CUresult soft_cuMemcpy2DUnaligned_v2(const CUDA_MEMCPY2D *p)
{
	if (!p)
		return CUDA_ERROR_INVALID_VALUE;
	CUDA_MEMCPY3D c = copy2d_params(p);
	return copy_block(&c, NULL, false);
}

CUresult soft_cuMemcpy2D_v2(const CUDA_MEMCPY2D *p)
{
	return soft_cuMemcpy2DUnaligned_v2(p);
}

CUresult soft_cuMemcpy3D_v2(const CUDA_MEMCPY3D *p)
{
	return p ? copy_block(p, NULL, false) : CUDA_ERROR_INVALID_VALUE;
}

CUresult soft_cuMemcpy3DAsync_v2(const CUDA_MEMCPY3D *p, CUstream stream)
{
	return p ? copy_block(p, stream, true) : CUDA_ERROR_INVALID_VALUE;
}

/* ---- between contexts ---- */

static CUresult copy_peer(const CUDA_MEMCPY3D_PEER *p, CUstream stream, bool async)
{
	CUresult r = p ? copy_contexts_check(p->dstContext, p->srcContext) : CUDA_ERROR_INVALID_VALUE;

	if (r)
		return r;
	CUDA_MEMCPY3D c = {
		.srcXInBytes = p->srcXInBytes,
		.srcY = p->srcY,
		.srcZ = p->srcZ,
		.srcMemoryType = p->srcMemoryType,
		.srcHost = p->srcHost,
		.srcDevice = p->srcDevice,
		.srcArray = p->srcArray,
		.srcPitch = p->srcPitch,
		.srcHeight = p->srcHeight,
		.dstXInBytes = p->dstXInBytes,
		.dstY = p->dstY,
		.dstZ = p->dstZ,
		.dstMemoryType = p->dstMemoryType,
		.dstHost = p->dstHost,
		.dstDevice = p->dstDevice,
		.dstArray = p->dstArray,
		.dstPitch = p->dstPitch,
		.dstHeight = p->dstHeight,
		.WidthInBytes = p->WidthInBytes,
		.Height = p->Height,
		.Depth = p->Depth,
	};
	return copy_block(&c, stream, async);
}

CUresult soft_cuMemcpy3DPeer(const CUDA_MEMCPY3D_PEER *p)
{
	return copy_peer(p, NULL, false);
}

CUresult soft_cuMemcpy3DPeerAsync(const CUDA_MEMCPY3D_PEER *p, CUstream stream)
{
	return copy_peer(p, stream, true);
}

/* ---- linear memory to or from the first row of an array ---- */

static CUDA_MEMCPY3D to_array(CUarray dst, size_t offset, size_t size)
{
	return (CUDA_MEMCPY3D){.dstMemoryType = CU_MEMORYTYPE_ARRAY,
		.dstArray = dst,
		.dstXInBytes = offset,
		.WidthInBytes = size,
		.Height = 1,
		.Depth = 1};
}

static CUDA_MEMCPY3D from_array(CUarray src, size_t offset, size_t size)
{
	return (CUDA_MEMCPY3D){.srcMemoryType = CU_MEMORYTYPE_ARRAY,
		.srcArray = src,
		.srcXInBytes = offset,
		.WidthInBytes = size,
		.Height = 1,
		.Depth = 1};
}

CUresult soft_cuMemcpyDtoA_v2(CUarray dst, size_t offset, CUdeviceptr src, size_t size)
{
	CUDA_MEMCPY3D c = to_array(dst, offset, size);

	c.srcMemoryType = CU_MEMORYTYPE_DEVICE;
	c.srcDevice = src;
	return copy_block(&c, NULL, false);
}

CUresult soft_cuMemcpyAtoD_v2(CUdeviceptr dst, CUarray src, size_t offset, size_t size)
{
	CUDA_MEMCPY3D c = from_array(src, offset, size);

	c.dstMemoryType = CU_MEMORYTYPE_DEVICE;
	c.dstDevice = dst;
	return copy_block(&c, NULL, false);
}

static CUresult host_to_array(CUarray dst, size_t offset, const void *src, size_t size, CUstream stream, bool async)
{
	CUDA_MEMCPY3D c = to_array(dst, offset, size);

	c.srcMemoryType = CU_MEMORYTYPE_HOST;
	c.srcHost = src;
	return copy_block(&c, stream, async);
}

static CUresult array_to_host(void *dst, CUarray src, size_t offset, size_t size, CUstream stream, bool async)
{
	CUDA_MEMCPY3D c = from_array(src, offset, size);

	c.dstMemoryType = CU_MEMORYTYPE_HOST;
	c.dstHost = dst;
	return copy_block(&c, stream, async);
}

CUresult soft_cuMemcpyHtoA_v2(CUarray dst, size_t offset, const void *src, size_t size)
{
	return host_to_array(dst, offset, src, size, NULL, false);
}

CUresult soft_cuMemcpyHtoAAsync_v2(CUarray dst, size_t offset, const void *src, size_t size, CUstream stream)
{
	return host_to_array(dst, offset, src, size, stream, true);
}

CUresult soft_cuMemcpyAtoH_v2(void *dst, CUarray src, size_t offset, size_t size)
{
	return array_to_host(dst, src, offset, size, NULL, false);
}

CUresult soft_cuMemcpyAtoHAsync_v2(void *dst, CUarray src, size_t offset, size_t size, CUstream stream)
{
	return array_to_host(dst, src, offset, size, stream, true);
}

CUresult soft_cuMemcpyAtoA_v2(CUarray dst, size_t dst_offset, CUarray src, size_t src_offset, size_t size)
{
	CUDA_MEMCPY3D c = to_array(dst, dst_offset, size);

	c.srcMemoryType = CU_MEMORYTYPE_ARRAY;
	c.srcArray = src;
	c.srcXInBytes = src_offset;
	return copy_block(&c, NULL, false);
}

/* ---- pitched memory ---- */

#define PITCH 512u

CUresult soft_cuMemAllocPitch_v2(CUdeviceptr *out, size_t *pitch, size_t width, size_t height, unsigned int element)
{
	size_t row = (width + PITCH - 1) & -(size_t)PITCH, size;

	if (!out || !pitch || !width || !height || (element != 4 && element != 8 && element != 16) || row < width ||
		__builtin_mul_overflow(row, height, &size))
		return CUDA_ERROR_INVALID_VALUE;
	CUresult r = soft_cuMemAlloc_v2(out, size);
	if (!r)
		*pitch = row;
	return r;
}
