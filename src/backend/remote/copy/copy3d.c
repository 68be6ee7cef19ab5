/* The entry points that copy blocks and arrays: each describes its copy as one block. */
#include "backend/remote/copy/staged_copy.h"
#include "backend/remote/memory/memory.h"

static CUresult block_copy_2d(const CUDA_MEMCPY2D *p, CUstream stream, bool wait)
{
	if (!p)
		return CUDA_ERROR_INVALID_VALUE;
	return block_copy(
		&(CUDA_MEMCPY3D_PEER){
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
		},
		false, stream, wait);
}

CUresult remote_cuMemcpy2D_v2(const CUDA_MEMCPY2D *p)
{
	return block_copy_2d(p, NULL, true);
}

CUresult remote_cuMemcpy2DUnaligned_v2(const CUDA_MEMCPY2D *p)
{
	return block_copy_2d(p, NULL, true);
}

CUresult remote_cuMemcpy2DAsync_v2(const CUDA_MEMCPY2D *p, CUstream stream)
{
	return block_copy_2d(p, stream, false);
}

CUresult remote_cuMemcpy3D_v2(const CUDA_MEMCPY3D *p)
{
	return p ? block_copy_3d(p, NULL, true) : CUDA_ERROR_INVALID_VALUE;
}

CUresult remote_cuMemcpy3DAsync_v2(const CUDA_MEMCPY3D *p, CUstream stream)
{
	return p ? block_copy_3d(p, stream, false) : CUDA_ERROR_INVALID_VALUE;
}

CUresult remote_cuMemcpy3DPeer(const CUDA_MEMCPY3D_PEER *p)
{
	return p ? block_copy(p, true, NULL, true) : CUDA_ERROR_INVALID_VALUE;
}

CUresult remote_cuMemcpy3DPeerAsync(const CUDA_MEMCPY3D_PEER *p, CUstream stream)
{
	return p ? block_copy(p, true, stream, false) : CUDA_ERROR_INVALID_VALUE;
}

/* ---- arrays of one dimension: one row ---- */

static CUDA_MEMCPY3D_PEER block_one_row(size_t size)
{
	return (CUDA_MEMCPY3D_PEER){.WidthInBytes = size, .Height = 1, .Depth = 1};
}

static void block_from_array(CUDA_MEMCPY3D_PEER *p, CUarray array, size_t offset)
{
	p->srcMemoryType = CU_MEMORYTYPE_ARRAY;
	p->srcArray = array;
	p->srcXInBytes = offset;
}

static void block_to_array(CUDA_MEMCPY3D_PEER *p, CUarray array, size_t offset)
{
	p->dstMemoryType = CU_MEMORYTYPE_ARRAY;
	p->dstArray = array;
	p->dstXInBytes = offset;
}

static CUresult copy_host_to_array(
	CUarray array, size_t offset, const void *src, size_t size, CUstream stream, bool wait)
{
	CUDA_MEMCPY3D_PEER p = block_one_row(size);

	p.srcMemoryType = CU_MEMORYTYPE_HOST;
	p.srcHost = src;
	block_to_array(&p, array, offset);
	return block_copy(&p, false, stream, wait);
}

static CUresult copy_array_to_host(void *dst, CUarray array, size_t offset, size_t size, CUstream stream, bool wait)
{
	CUDA_MEMCPY3D_PEER p = block_one_row(size);

	p.dstMemoryType = CU_MEMORYTYPE_HOST;
	p.dstHost = dst;
	block_from_array(&p, array, offset);
	return block_copy(&p, false, stream, wait);
}

CUresult remote_cuMemcpyHtoA_v2(CUarray array, size_t offset, const void *src, size_t size)
{
	return copy_host_to_array(array, offset, src, size, NULL, true);
}

CUresult remote_cuMemcpyHtoAAsync_v2(CUarray array, size_t offset, const void *src, size_t size, CUstream stream)
{
	return copy_host_to_array(array, offset, src, size, stream, false);
}

CUresult remote_cuMemcpyAtoH_v2(void *dst, CUarray array, size_t offset, size_t size)
{
	return copy_array_to_host(dst, array, offset, size, NULL, true);
}

CUresult remote_cuMemcpyAtoHAsync_v2(void *dst, CUarray array, size_t offset, size_t size, CUstream stream)
{
	return copy_array_to_host(dst, array, offset, size, stream, false);
}

CUresult remote_cuMemcpyDtoA_v2(CUarray array, size_t offset, CUdeviceptr src, size_t size)
{
	CUDA_MEMCPY3D_PEER p = block_one_row(size);

	p.srcMemoryType = CU_MEMORYTYPE_DEVICE;
	p.srcDevice = src;
	block_to_array(&p, array, offset);
	return block_copy(&p, false, NULL, true);
}

CUresult remote_cuMemcpyAtoD_v2(CUdeviceptr dst, CUarray array, size_t offset, size_t size)
{
	CUDA_MEMCPY3D_PEER p = block_one_row(size);

	p.dstMemoryType = CU_MEMORYTYPE_DEVICE;
	p.dstDevice = dst;
	block_from_array(&p, array, offset);
	return block_copy(&p, false, NULL, true);
}

CUresult remote_cuMemcpyAtoA_v2(CUarray dst, size_t dst_offset, CUarray src, size_t src_offset, size_t size)
{
	CUDA_MEMCPY3D_PEER p = block_one_row(size);

	block_from_array(&p, src, src_offset);
	block_to_array(&p, dst, dst_offset);
	return block_copy(&p, false, NULL, true);
}

/* ---- between devices ---- */

CUresult remote_cuMemcpyPeer(CUdeviceptr dst, CUcontext to, CUdeviceptr src, CUcontext from, size_t size)
{
	return remote_cuMemcpyPeerAsync(dst, to, src, from, size, NULL);
}

CUresult remote_cuMemcpyPeerAsync(
	CUdeviceptr dst, CUcontext to, CUdeviceptr src, CUcontext from, size_t size, CUstream stream)
{
	if (memory_place(dst) == PLACE_HOST || memory_place(src) == PLACE_HOST)
		return CUDA_ERROR_INVALID_VALUE;
	return call_cuMemcpyPeerAsync(dst, to, src, from, size, stream);
}
