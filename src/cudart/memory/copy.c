/* Copies of memory: one run of bytes, rows, slices, between devices, in batches. */
#include <stdlib.h>
#include <string.h>

#include "cudart/runtime.h"

/* Both sides are host memory; the copy is ordered like any other. */
static CUDA_MEMCPY2D host_copy(void *dst, const void *src, size_t count)
{
	return (CUDA_MEMCPY2D){.srcMemoryType = CU_MEMORYTYPE_HOST,
		.srcHost = src,
		.srcPitch = count,
		.dstMemoryType = CU_MEMORYTYPE_HOST,
		.dstHost = dst,
		.dstPitch = count,
		.WidthInBytes = count,
		.Height = 1};
}

cudaError_t rt_cudaMemcpy(void *dst, const void *src, size_t count, cudaMemcpyKind kind, bool per_thread)
{
	CUdeviceptr to = (CUdeviceptr)dst, from = (CUdeviceptr)src;
	CUDA_MEMCPY2D c;

	if (!count)
		return cudaSuccess;
	switch (kind) {
	case cudaMemcpyHostToHost:
		c = host_copy(dst, src, count);
		return from_driver(per_thread ? cuMemcpy2DUnaligned_v2_ptds(&c) : cuMemcpy2DUnaligned_v2(&c));
	case cudaMemcpyHostToDevice:
		return from_driver(per_thread ? cuMemcpyHtoD_v2_ptds(to, src, count) : cuMemcpyHtoD_v2(to, src, count));
	case cudaMemcpyDeviceToHost:
		return from_driver(
			per_thread ? cuMemcpyDtoH_v2_ptds(dst, from, count) : cuMemcpyDtoH_v2(dst, from, count));
	case cudaMemcpyDeviceToDevice:
		return from_driver(
			per_thread ? cuMemcpyDtoD_v2_ptds(to, from, count) : cuMemcpyDtoD_v2(to, from, count));
	case cudaMemcpyDefault:
		return from_driver(per_thread ? cuMemcpy_ptds(to, from, count) : cuMemcpy(to, from, count));
	}
	return cudaErrorInvalidMemcpyDirection;
}

cudaError_t rt_cudaMemcpyAsync(void *dst, const void *src, size_t count, cudaMemcpyKind kind, cudaStream_t stream)
{
	CUdeviceptr to = (CUdeviceptr)dst, from = (CUdeviceptr)src;
	CUDA_MEMCPY2D c;

	if (!count)
		return cudaSuccess;
	switch (kind) {
	case cudaMemcpyHostToHost:
		c = host_copy(dst, src, count);
		return from_driver(cuMemcpy2DAsync_v2(&c, stream));
	case cudaMemcpyHostToDevice:
		return from_driver(cuMemcpyHtoDAsync_v2(to, src, count, stream));
	case cudaMemcpyDeviceToHost:
		return from_driver(cuMemcpyDtoHAsync_v2(dst, from, count, stream));
	case cudaMemcpyDeviceToDevice:
		return from_driver(cuMemcpyDtoDAsync_v2(to, from, count, stream));
	case cudaMemcpyDefault:
		return from_driver(cuMemcpyAsync(to, from, count, stream));
	}
	return cudaErrorInvalidMemcpyDirection;
}

/* ---- rows ---- */

static cudaError_t shape_2d(CUDA_MEMCPY3D *c, void *dst, size_t dpitch, const void *src, size_t spitch, size_t width,
	size_t height, cudaMemcpyKind kind)
{
	struct copy_place from = {.memory = src, .pitch = spitch}, to = {.memory = dst, .pitch = dpitch};

	if (!copy_kind_is_valid(kind))
		return cudaErrorInvalidMemcpyDirection;
	if (width > dpitch || width > spitch)
		return cudaErrorInvalidPitchValue;
	return copy_shape(c, &from, &to, width, height, 1, kind);
}

cudaError_t rt_cudaMemcpy2D(void *dst, size_t dpitch, const void *src, size_t spitch, size_t width, size_t height,
	cudaMemcpyKind kind, bool per_thread)
{
	CUDA_MEMCPY3D c;
	cudaError_t e = shape_2d(&c, dst, dpitch, src, spitch, width, height, kind);

	return e ? e : copy_wait(&c, per_thread);
}

cudaError_t rt_cudaMemcpy2DAsync(void *dst, size_t dpitch, const void *src, size_t spitch, size_t width, size_t height,
	cudaMemcpyKind kind, cudaStream_t stream)
{
	CUDA_MEMCPY3D c;
	cudaError_t e = shape_2d(&c, dst, dpitch, src, spitch, width, height, kind);

	return e ? e : copy_queue(&c, stream);
}

/* ---- slices ---- */

/* A copy of an empty box succeeds whatever its other parameters are. */
static bool box_is_empty(const cudaExtent *extent)
{
	return !extent->width || !extent->height || !extent->depth;
}

cudaError_t rt_cudaMemcpy3D(const cudaMemcpy3DParms *p, bool per_thread)
{
	CUDA_MEMCPY3D c;
	cudaError_t e = p ? cudaSuccess : cudaErrorInvalidValue;

	if (e || box_is_empty(&p->extent))
		return e;
	e = copy_shape_3d(&c, p);
	return e ? e : copy_wait(&c, per_thread);
}

cudaError_t rt_cudaMemcpy3DAsync(const cudaMemcpy3DParms *p, cudaStream_t stream)
{
	CUDA_MEMCPY3D c;
	cudaError_t e = p ? cudaSuccess : cudaErrorInvalidValue;

	if (e || box_is_empty(&p->extent))
		return e;
	e = copy_shape_3d(&c, p);
	return e ? e : copy_queue(&c, stream);
}

/* ---- between devices ---- */

static cudaError_t peer_contexts(int dst, int src, CUcontext *to, CUcontext *from)
{
	cudaError_t e = device_check(dst);

	if (!e)
		e = device_check(src);
	if (!e)
		e = primary_context(dst, to);
	return e ? e : primary_context(src, from);
}

cudaError_t rt_cudaMemcpyPeer(void *dst, int dstDevice, const void *src, int srcDevice, size_t count)
{
	CUcontext to, from;
	cudaError_t e = peer_contexts(dstDevice, srcDevice, &to, &from);

	return e ? e : from_driver(cuMemcpyPeer((CUdeviceptr)dst, to, (CUdeviceptr)src, from, count));
}

cudaError_t rt_cudaMemcpyPeerAsync(
	void *dst, int dstDevice, const void *src, int srcDevice, size_t count, cudaStream_t stream)
{
	CUcontext to, from;
	cudaError_t e = peer_contexts(dstDevice, srcDevice, &to, &from);

	return e ? e : from_driver(cuMemcpyPeerAsync((CUdeviceptr)dst, to, (CUdeviceptr)src, from, count, stream));
}

static cudaError_t shape_3d_peer(CUDA_MEMCPY3D_PEER *c, const cudaMemcpy3DPeerParms *p)
{
	CUDA_MEMCPY3D plain;
	CUcontext to, from;
	cudaError_t e;

	if (!p)
		return cudaErrorInvalidValue;
	e = peer_contexts(p->dstDevice, p->srcDevice, &to, &from);
	if (!e)
		e = copy_shape_3d(&plain, &(cudaMemcpy3DParms){p->srcArray, p->srcPos, p->srcPtr, p->dstArray,
						  p->dstPos, p->dstPtr, p->extent, cudaMemcpyDeviceToDevice});
	if (e)
		return e;
	*c = (CUDA_MEMCPY3D_PEER){plain.srcXInBytes, plain.srcY, plain.srcZ, 0, plain.srcMemoryType, NULL,
		plain.srcDevice, plain.srcArray, from, plain.srcPitch, plain.srcHeight, plain.dstXInBytes, plain.dstY,
		plain.dstZ, 0, plain.dstMemoryType, NULL, plain.dstDevice, plain.dstArray, to, plain.dstPitch,
		plain.dstHeight, plain.WidthInBytes, plain.Height, plain.Depth};
	return cudaSuccess;
}

cudaError_t rt_cudaMemcpy3DPeer(const cudaMemcpy3DPeerParms *p, bool per_thread)
{
	CUDA_MEMCPY3D_PEER c;
	cudaError_t e = shape_3d_peer(&c, p);

	return e ? e : from_driver(per_thread ? cuMemcpy3DPeer_ptds(&c) : cuMemcpy3DPeer(&c));
}

cudaError_t rt_cudaMemcpy3DPeerAsync(const cudaMemcpy3DPeerParms *p, cudaStream_t stream)
{
	CUDA_MEMCPY3D_PEER c;
	cudaError_t e = shape_3d_peer(&c, p);

	return e ? e : from_driver(cuMemcpy3DPeerAsync(&c, stream));
}

/* ---- batches ---- */

cudaError_t rt_cudaMemcpyBatchAsync(void **dsts, void **srcs, size_t *sizes, size_t count, cudaMemcpyAttributes *attrs,
	size_t *attrsIdxs, size_t numAttrs, size_t *failIdx, cudaStream_t stream)
{
	return from_driver(cuMemcpyBatchAsync(
		(CUdeviceptr *)dsts, (CUdeviceptr *)srcs, sizes, count, attrs, attrsIdxs, numAttrs, failIdx, stream));
}

cudaError_t rt_cudaMemcpyBatchAsync_v2(void *const *dsts, const void *const *srcs, const size_t *sizes, size_t count,
	cudaMemcpyAttributes *attrs, size_t *attrsIdxs, size_t numAttrs, cudaStream_t stream)
{
	return from_driver(cuMemcpyBatchAsync_v2(
		(CUdeviceptr *)dsts, (CUdeviceptr *)srcs, (size_t *)sizes, count, attrs, attrsIdxs, numAttrs, stream));
}

cudaError_t rt_cudaMemcpy3DBatchAsync(
	size_t numOps, cudaMemcpy3DBatchOp *opList, size_t *failIdx, unsigned long long flags, cudaStream_t stream)
{
	return from_driver(cuMemcpy3DBatchAsync(numOps, opList, failIdx, flags, stream));
}

cudaError_t rt_cudaMemcpy3DBatchAsync_v2(
	size_t numOps, cudaMemcpy3DBatchOp *opList, unsigned long long flags, cudaStream_t stream)
{
	return from_driver(cuMemcpy3DBatchAsync_v2(numOps, opList, flags, stream));
}
