/* Memory and semaphores of other interfaces, and graphics resources. */
#include <string.h>

#include "cudart/runtime.h"

cudaError_t rt_cudaImportExternalMemory(
	cudaExternalMemory_t *extMem_out, const cudaExternalMemoryHandleDesc *memHandleDesc)
{
	CUDA_EXTERNAL_MEMORY_HANDLE_DESC d = {0};

	if (!extMem_out || !memHandleDesc)
		return cudaErrorInvalidValue;
	d.type = memHandleDesc->type;
	memcpy(&d.handle, &memHandleDesc->handle, sizeof d.handle);
	d.size = memHandleDesc->size;
	d.flags = memHandleDesc->flags;
	return from_driver(cuImportExternalMemory(extMem_out, &d));
}

cudaError_t rt_cudaExternalMemoryGetMappedBuffer(
	void **devPtr, cudaExternalMemory_t extMem, const cudaExternalMemoryBufferDesc *bufferDesc)
{
	CUDA_EXTERNAL_MEMORY_BUFFER_DESC d = {0};

	if (!devPtr || !bufferDesc)
		return cudaErrorInvalidValue;
	d.offset = bufferDesc->offset;
	d.size = bufferDesc->size;
	d.flags = bufferDesc->flags;
	return from_driver(cuExternalMemoryGetMappedBuffer((CUdeviceptr *)devPtr, extMem, &d));
}

cudaError_t rt_cudaExternalMemoryGetMappedMipmappedArray(cudaMipmappedArray_t *mipmap, cudaExternalMemory_t extMem,
	const cudaExternalMemoryMipmappedArrayDesc *mipmapDesc)
{
	CUDA_EXTERNAL_MEMORY_MIPMAPPED_ARRAY_DESC d = {0};
	cudaError_t e;

	if (!mipmap || !mipmapDesc)
		return cudaErrorInvalidValue;
	e = format_to_driver(&mipmapDesc->formatDesc, &d.arrayDesc.Format, &d.arrayDesc.NumChannels);
	if (e)
		return e;
	d.offset = mipmapDesc->offset;
	d.arrayDesc.Width = mipmapDesc->extent.width;
	d.arrayDesc.Height = mipmapDesc->extent.height;
	d.arrayDesc.Depth = mipmapDesc->extent.depth;
	d.arrayDesc.Flags = mipmapDesc->flags;
	d.numLevels = mipmapDesc->numLevels;
	return from_driver(cuExternalMemoryGetMappedMipmappedArray(mipmap, extMem, &d));
}

cudaError_t rt_cudaImportExternalSemaphore(
	cudaExternalSemaphore_t *extSem_out, const cudaExternalSemaphoreHandleDesc *semHandleDesc)
{
	CUDA_EXTERNAL_SEMAPHORE_HANDLE_DESC d = {0};

	if (!extSem_out || !semHandleDesc)
		return cudaErrorInvalidValue;
	d.type = semHandleDesc->type;
	memcpy(&d.handle, &semHandleDesc->handle, sizeof d.handle);
	d.flags = semHandleDesc->flags;
	return from_driver(cuImportExternalSemaphore(extSem_out, &d));
}

#define MAX_SEMAPHORES 64

cudaError_t rt_cudaSignalExternalSemaphoresAsync(const cudaExternalSemaphore_t *extSemArray,
	const cudaExternalSemaphoreSignalParams_v1 *paramsArray, unsigned int numExtSems, cudaStream_t stream)
{
	cudaExternalSemaphoreSignalParams p[MAX_SEMAPHORES] = {0};

	if (!extSemArray || !paramsArray || numExtSems > MAX_SEMAPHORES)
		return cudaErrorInvalidValue;
	for (unsigned i = 0; i < numExtSems; i++) {
		p[i].params.fence.value = paramsArray[i].params.fence.value;
		p[i].params.nvSciSync.reserved = paramsArray[i].params.nvSciSync.reserved;
		p[i].params.keyedMutex.key = paramsArray[i].params.keyedMutex.key;
		p[i].flags = paramsArray[i].flags;
	}
	return from_driver(cuSignalExternalSemaphoresAsync(extSemArray, p, numExtSems, stream));
}

cudaError_t rt_cudaWaitExternalSemaphoresAsync(const cudaExternalSemaphore_t *extSemArray,
	const cudaExternalSemaphoreWaitParams_v1 *paramsArray, unsigned int numExtSems, cudaStream_t stream)
{
	cudaExternalSemaphoreWaitParams p[MAX_SEMAPHORES] = {0};

	if (!extSemArray || !paramsArray || numExtSems > MAX_SEMAPHORES)
		return cudaErrorInvalidValue;
	for (unsigned i = 0; i < numExtSems; i++) {
		p[i].params.fence.value = paramsArray[i].params.fence.value;
		p[i].params.nvSciSync.reserved = paramsArray[i].params.nvSciSync.reserved;
		p[i].params.keyedMutex.key = paramsArray[i].params.keyedMutex.key;
		p[i].params.keyedMutex.timeoutMs = paramsArray[i].params.keyedMutex.timeoutMs;
		p[i].flags = paramsArray[i].flags;
	}
	return from_driver(cuWaitExternalSemaphoresAsync(extSemArray, p, numExtSems, stream));
}

/* ---- graphics ---- */

cudaError_t rt_cudaGraphicsMapResources(int count, cudaGraphicsResource_t *resources, cudaStream_t stream)
{
	return from_driver(cuGraphicsMapResources(count, resources, stream));
}

cudaError_t rt_cudaGraphicsUnmapResources(int count, cudaGraphicsResource_t *resources, cudaStream_t stream)
{
	return from_driver(cuGraphicsUnmapResources(count, resources, stream));
}

cudaError_t rt_cudaGraphicsResourceGetMappedPointer(void **devPtr, size_t *size, cudaGraphicsResource_t resource)
{
	return from_driver(cuGraphicsResourceGetMappedPointer_v2((CUdeviceptr *)devPtr, size, resource));
}
