/* Arrays and mipmapped arrays. */
#include "cudart/runtime.h"

static cudaError_t array_describe(
	CUDA_ARRAY3D_DESCRIPTOR *d, const cudaChannelFormatDesc *desc, cudaExtent extent, unsigned flags)
{
	*d = (CUDA_ARRAY3D_DESCRIPTOR){
		.Width = extent.width, .Height = extent.height, .Depth = extent.depth, .Flags = flags};
	return format_to_driver(desc, &d->Format, &d->NumChannels);
}

cudaError_t rt_cudaMalloc3DArray(
	cudaArray_t *array, const cudaChannelFormatDesc *desc, cudaExtent extent, unsigned int flags)
{
	CUDA_ARRAY3D_DESCRIPTOR d;
	cudaError_t e;

	if (!array || !desc)
		return cudaErrorInvalidValue;
	e = array_describe(&d, desc, extent, flags);
	return e ? e : from_driver(cuArray3DCreate_v2(array, &d));
}

cudaError_t rt_cudaMallocArray(
	cudaArray_t *array, const cudaChannelFormatDesc *desc, size_t width, size_t height, unsigned int flags)
{
	return rt_cudaMalloc3DArray(array, desc, (cudaExtent){width, height, 0}, flags);
}

cudaError_t rt_cudaMallocMipmappedArray(cudaMipmappedArray_t *mipmappedArray, const cudaChannelFormatDesc *desc,
	cudaExtent extent, unsigned int numLevels, unsigned int flags)
{
	CUDA_ARRAY3D_DESCRIPTOR d;
	cudaError_t e;

	if (!mipmappedArray || !desc)
		return cudaErrorInvalidValue;
	e = array_describe(&d, desc, extent, flags);
	return e ? e : from_driver(cuMipmappedArrayCreate(mipmappedArray, &d, numLevels));
}

cudaError_t rt_cudaFreeArray(cudaArray_t array)
{
	return array ? from_driver(cuArrayDestroy(array)) : cudaSuccess;
}

cudaError_t rt_cudaFreeMipmappedArray(cudaMipmappedArray_t mipmappedArray)
{
	return mipmappedArray ? from_driver(cuMipmappedArrayDestroy(mipmappedArray)) : cudaSuccess;
}

cudaError_t rt_cudaArrayGetInfo(cudaChannelFormatDesc *desc, cudaExtent *extent, unsigned int *flags, cudaArray_t array)
{
	CUDA_ARRAY3D_DESCRIPTOR d;
	CUresult r = cuArray3DGetDescriptor_v2(&d, array);

	if (r)
		return from_driver(r);
	if (desc)
		format_from_driver(d.Format, d.NumChannels, desc);
	if (extent)
		*extent = (cudaExtent){d.Width, d.Height, d.Depth};
	if (flags)
		*flags = d.Flags;
	return cudaSuccess;
}

cudaError_t rt_cudaGetChannelDesc(cudaChannelFormatDesc *desc, cudaArray_const_t array)
{
	return desc ? rt_cudaArrayGetInfo(desc, NULL, NULL, array) : cudaErrorInvalidValue;
}
