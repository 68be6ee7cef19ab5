/* Fills of memory: one run of bytes, rows, slices. */
#include "cudart/runtime.h"

cudaError_t rt_cudaMemset(void *devPtr, int value, size_t count, bool per_thread)
{
	CUdeviceptr p = (CUdeviceptr)devPtr;

	if (!count)
		return cudaSuccess;
	return from_driver(per_thread ? cuMemsetD8_v2_ptds(p, value, count) : cuMemsetD8_v2(p, value, count));
}

cudaError_t rt_cudaMemsetAsync(void *devPtr, int value, size_t count, cudaStream_t stream)
{
	return count ? from_driver(cuMemsetD8Async((CUdeviceptr)devPtr, value, count, stream)) : cudaSuccess;
}

cudaError_t rt_cudaMemset2D(void *devPtr, size_t pitch, int value, size_t width, size_t height, bool per_thread)
{
	CUdeviceptr p = (CUdeviceptr)devPtr;

	if (!width || !height)
		return cudaSuccess;
	return from_driver(per_thread ? cuMemsetD2D8_v2_ptds(p, pitch, value, width, height)
				      : cuMemsetD2D8_v2(p, pitch, value, width, height));
}

cudaError_t rt_cudaMemset2DAsync(
	void *devPtr, size_t pitch, int value, size_t width, size_t height, cudaStream_t stream)
{
	if (!width || !height)
		return cudaSuccess;
	return from_driver(cuMemsetD2D8Async((CUdeviceptr)devPtr, pitch, value, width, height, stream));
}

static cudaError_t box_check(const cudaPitchedPtr *p, const cudaExtent *extent)
{
	return extent->width && extent->depth && extent->height > p->ysize ? cudaErrorInvalidValue : cudaSuccess;
}

/* How many rows one fill of a box can cover: all of them if the slices leave no rows out. */
static size_t box_rows(const cudaPitchedPtr *p, const cudaExtent *extent, size_t *slices)
{
	*slices = extent->height == p->ysize ? 1 : extent->depth;
	return extent->height == p->ysize ? extent->height * extent->depth : extent->height;
}

cudaError_t rt_cudaMemset3D(cudaPitchedPtr pitchedDevPtr, int value, cudaExtent extent, bool per_thread)
{
	size_t slices, rows = box_rows(&pitchedDevPtr, &extent, &slices), stride;
	char *p = pitchedDevPtr.ptr;
	cudaError_t e = box_check(&pitchedDevPtr, &extent);

	stride = pitchedDevPtr.pitch * pitchedDevPtr.ysize;
	for (size_t i = 0; i < slices && !e; i++)
		e = rt_cudaMemset2D(p + i * stride, pitchedDevPtr.pitch, value, extent.width, rows, per_thread);
	return e;
}

cudaError_t rt_cudaMemset3DAsync(cudaPitchedPtr pitchedDevPtr, int value, cudaExtent extent, cudaStream_t stream)
{
	size_t slices, rows = box_rows(&pitchedDevPtr, &extent, &slices), stride;
	char *p = pitchedDevPtr.ptr;
	cudaError_t e = box_check(&pitchedDevPtr, &extent);

	stride = pitchedDevPtr.pitch * pitchedDevPtr.ysize;
	for (size_t i = 0; i < slices && !e; i++)
		e = rt_cudaMemset2DAsync(p + i * stride, pitchedDevPtr.pitch, value, extent.width, rows, stream);
	return e;
}
