/* Memory of the device, of the host and managed memory: allocation, attributes, sharing between processes. */
#include <string.h>

#include "cudart/runtime.h"

/* Writes the address only on success. */
static cudaError_t address_return(CUresult r, const CUdeviceptr *address, void **out)
{
	if (!r)
		*out = (void *)*address;
	return from_driver(r);
}

cudaError_t rt_cudaMalloc(void **devPtr, size_t size)
{
	CUdeviceptr p = 0;

	if (!devPtr)
		return cudaErrorInvalidValue;
	if (!size) {
		*devPtr = NULL;
		return cudaSuccess;
	}
	return address_return(cuMemAlloc_v2(&p, size), &p, devPtr);
}

cudaError_t rt_cudaFree(void *devPtr)
{
	return from_driver(cuMemFree_v2((CUdeviceptr)devPtr));
}

cudaError_t rt_cudaMallocPitch(void **devPtr, size_t *pitch, size_t width, size_t height)
{
	CUdeviceptr p = 0;

	if (!devPtr || !pitch)
		return cudaErrorInvalidValue;
	if (!width || !height) {
		*devPtr = NULL;
		*pitch = 0;
		return cudaSuccess;
	}
	return address_return(cuMemAllocPitch_v2(&p, pitch, width, height, 4), &p, devPtr);
}

cudaError_t rt_cudaMalloc3D(cudaPitchedPtr *pitchedDevPtr, cudaExtent extent)
{
	cudaError_t e;

	if (!pitchedDevPtr)
		return cudaErrorInvalidValue;
	if (extent.height && extent.depth > (size_t)-1 / extent.height)
		return cudaErrorMemoryAllocation;
	e = rt_cudaMallocPitch(&pitchedDevPtr->ptr, &pitchedDevPtr->pitch, extent.width, extent.height * extent.depth);
	if (!e) {
		pitchedDevPtr->xsize = extent.width;
		pitchedDevPtr->ysize = extent.height;
	}
	return e;
}

cudaError_t rt_cudaMallocManaged(void **devPtr, size_t size, unsigned int flags)
{
	CUdeviceptr p = 0;

	if (!devPtr)
		return cudaErrorInvalidValue;
	if (!size) {
		*devPtr = NULL;
		return cudaSuccess;
	}
	return address_return(cuMemAllocManaged(&p, size, flags), &p, devPtr);
}

cudaError_t rt_cudaMallocHost(void **ptr, size_t size)
{
	if (!ptr)
		return cudaErrorInvalidValue;
	if (!size) {
		*ptr = NULL;
		return cudaSuccess;
	}
	return from_driver(cuMemHostAlloc(ptr, size, 0));
}

cudaError_t rt_cudaHostGetDevicePointer(void **pDevice, void *pHost, unsigned int flags)
{
	CUdeviceptr p = 0;

	if (!pDevice)
		return cudaErrorInvalidValue;
	return address_return(cuMemHostGetDevicePointer_v2(&p, pHost, flags), &p, pDevice);
}

static cudaMemoryType memory_type(unsigned type, unsigned managed)
{
	if (managed)
		return cudaMemoryTypeManaged;
	return type == CU_MEMORYTYPE_HOST     ? cudaMemoryTypeHost
	       : type == CU_MEMORYTYPE_DEVICE ? cudaMemoryTypeDevice
					      : cudaMemoryTypeUnregistered;
}

cudaError_t rt_cudaPointerGetAttributes(cudaPointerAttributes *attributes, const void *ptr)
{
	CUpointer_attribute asked[] = {CU_POINTER_ATTRIBUTE_CONTEXT, CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
		CU_POINTER_ATTRIBUTE_DEVICE_POINTER, CU_POINTER_ATTRIBUTE_HOST_POINTER, CU_POINTER_ATTRIBUTE_IS_MANAGED,
		CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL};
	unsigned type = 0, managed = 0;
	int device = CU_DEVICE_INVALID;
	CUcontext ctx = NULL;
	CUdeviceptr on_device = 0;
	void *on_host = NULL, *answers[] = {&ctx, &type, &on_device, &on_host, &managed, &device};
	CUresult r;

	if (!attributes)
		return cudaErrorInvalidValue;
	r = cuPointerGetAttributes(sizeof asked / sizeof *asked, asked, answers, (CUdeviceptr)ptr);
	if (r)
		return from_driver(r);
	memset(attributes, 0, sizeof *attributes);
	attributes->type = memory_type(type, managed);
	attributes->device = device;
	attributes->devicePointer = (void *)on_device;
	attributes->hostPointer = on_host;
	if (attributes->type == cudaMemoryTypeUnregistered)
		attributes->hostPointer = (void *)ptr;
	return cudaSuccess;
}

/* ---- advice on managed memory ---- */

/* The device or, for -1, the host. */
static cudaError_t location_check(int device)
{
	return device == CU_DEVICE_CPU ? cudaSuccess : device_check(device);
}

static cudaMemLocation location_of(int device)
{
	return device == CU_DEVICE_CPU ? (cudaMemLocation){CU_MEM_LOCATION_TYPE_HOST, 0}
				       : (cudaMemLocation){CU_MEM_LOCATION_TYPE_DEVICE, device};
}

cudaError_t rt_cudaMemAdvise_v2(const void *devPtr, size_t count, cudaMemoryAdvise advice, cudaMemLocation location)
{
	return from_driver(cuMemAdvise_v2((CUdeviceptr)devPtr, count, advice, location));
}

cudaError_t rt_cudaMemAdvise(const void *devPtr, size_t count, cudaMemoryAdvise advice, int device)
{
	cudaError_t e = location_check(device);

	return e ? e : rt_cudaMemAdvise_v2(devPtr, count, advice, location_of(device));
}

cudaError_t rt_cudaMemPrefetchAsync_v2(
	const void *devPtr, size_t count, cudaMemLocation location, unsigned int flags, cudaStream_t stream)
{
	return from_driver(cuMemPrefetchAsync_v2((CUdeviceptr)devPtr, count, location, flags, stream));
}

cudaError_t rt_cudaMemPrefetchAsync(const void *devPtr, size_t count, int dstDevice, cudaStream_t stream)
{
	cudaError_t e = location_check(dstDevice);

	return e ? e : rt_cudaMemPrefetchAsync_v2(devPtr, count, location_of(dstDevice), 0, stream);
}

cudaError_t rt_cudaMemPrefetchBatchAsync(void **dptrs, size_t *sizes, size_t count, cudaMemLocation *prefetchLocs,
	size_t *prefetchLocIdxs, size_t numPrefetchLocs, unsigned long long flags, cudaStream_t stream)
{
	return from_driver(cuMemPrefetchBatchAsync(
		(CUdeviceptr *)dptrs, sizes, count, prefetchLocs, prefetchLocIdxs, numPrefetchLocs, flags, stream));
}

cudaError_t rt_cudaMemDiscardBatchAsync(
	void **dptrs, size_t *sizes, size_t count, unsigned long long flags, cudaStream_t stream)
{
	return from_driver(cuMemDiscardBatchAsync((CUdeviceptr *)dptrs, sizes, count, flags, stream));
}

cudaError_t rt_cudaMemDiscardAndPrefetchBatchAsync(void **dptrs, size_t *sizes, size_t count,
	cudaMemLocation *prefetchLocs, size_t *prefetchLocIdxs, size_t numPrefetchLocs, unsigned long long flags,
	cudaStream_t stream)
{
	return from_driver(cuMemDiscardAndPrefetchBatchAsync(
		(CUdeviceptr *)dptrs, sizes, count, prefetchLocs, prefetchLocIdxs, numPrefetchLocs, flags, stream));
}

cudaError_t rt_cudaMemRangeGetAttribute(
	void *data, size_t dataSize, cudaMemRangeAttribute attribute, const void *devPtr, size_t count)
{
	return from_driver(cuMemRangeGetAttribute(data, dataSize, attribute, (CUdeviceptr)devPtr, count));
}

cudaError_t rt_cudaMemRangeGetAttributes(void **data, size_t *dataSizes, cudaMemRangeAttribute *attributes,
	size_t numAttributes, const void *devPtr, size_t count)
{
	return from_driver(
		cuMemRangeGetAttributes(data, dataSizes, attributes, numAttributes, (CUdeviceptr)devPtr, count));
}

/* ---- sharing between processes ---- */

cudaError_t rt_cudaIpcGetMemHandle(cudaIpcMemHandle_t *handle, void *devPtr)
{
	return from_driver(cuIpcGetMemHandle(handle, (CUdeviceptr)devPtr));
}

cudaError_t rt_cudaIpcOpenMemHandle(void **devPtr, cudaIpcMemHandle_t handle, unsigned int flags)
{
	CUdeviceptr p = 0;

	if (!devPtr)
		return cudaErrorInvalidValue;
	return address_return(cuIpcOpenMemHandle_v2(&p, handle, flags), &p, devPtr);
}

cudaError_t rt_cudaIpcCloseMemHandle(void *devPtr)
{
	return from_driver(cuIpcCloseMemHandle((CUdeviceptr)devPtr));
}

/* ---- stream-ordered memory ---- */

cudaError_t rt_cudaMallocAsync(void **devPtr, size_t size, cudaStream_t hStream)
{
	CUdeviceptr p = 0;

	if (!devPtr)
		return cudaErrorInvalidValue;
	return address_return(cuMemAllocAsync(&p, size, hStream), &p, devPtr);
}

cudaError_t rt_cudaMallocFromPoolAsync(void **ptr, size_t size, cudaMemPool_t memPool, cudaStream_t stream)
{
	CUdeviceptr p = 0;

	if (!ptr)
		return cudaErrorInvalidValue;
	return address_return(cuMemAllocFromPoolAsync(&p, size, memPool, stream), &p, ptr);
}

cudaError_t rt_cudaFreeAsync(void *devPtr, cudaStream_t hStream)
{
	return from_driver(cuMemFreeAsync((CUdeviceptr)devPtr, hStream));
}

cudaError_t rt_cudaMemPoolExportPointer(cudaMemPoolPtrExportData *exportData, void *ptr)
{
	return from_driver(cuMemPoolExportPointer(exportData, (CUdeviceptr)ptr));
}

cudaError_t rt_cudaMemPoolImportPointer(void **ptr, cudaMemPool_t memPool, cudaMemPoolPtrExportData *exportData)
{
	CUdeviceptr p = 0;

	if (!ptr)
		return cudaErrorInvalidValue;
	return address_return(cuMemPoolImportPointer(&p, memPool, exportData), &p, ptr);
}
