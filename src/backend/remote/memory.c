/* Device memory: the server's addresses, and which of them are ours. */
#include <stdlib.h>
#include "backend/remote/remote.h"

struct range {
	struct map_node node;
	size_t size;
};

static struct map ranges;
static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;

void memory_add(uint64_t address, size_t size)
{
	struct range *r = calloc(1, sizeof *r);

	if (!r)
		return; /* then it looks like host memory to cuMemcpy, which needs to be told the kind */
	r->node.key = address;
	r->size = size;
	pthread_rwlock_wrlock(&lock);
	map_insert(&ranges, &r->node);
	pthread_rwlock_unlock(&lock);
}

static struct range *holder(uint64_t address)
{
	struct range *r = (struct range *)map_below(&ranges, address);

	return r && address - r->node.key < r->size ? r : NULL;
}

bool memory_remove(uint64_t address)
{
	struct range *r;

	pthread_rwlock_wrlock(&lock);
	r = holder(address);
	if (r && r->node.key != address)
		r = NULL;
	if (r)
		map_remove(&ranges, &r->node);
	pthread_rwlock_unlock(&lock);
	free(r);
	return r != NULL;
}

enum place memory_place(uint64_t address)
{
	bool device;

	pthread_rwlock_rdlock(&lock);
	device = holder(address) != NULL;
	pthread_rwlock_unlock(&lock);
	if (device)
		return PLACE_DEVICE;
	return hostmem_shared((void *)(uintptr_t)address, 1) ? PLACE_SHARED : PLACE_HOST;
}

CUresult remote_cuMemAlloc_v2(CUdeviceptr *dptr, size_t size)
{
	CUresult r = call_cuMemAlloc_v2(dptr, size);

	if (!r)
		memory_add(*dptr, size);
	return r;
}

CUresult remote_cuMemAllocPitch_v2(CUdeviceptr *dptr, size_t *pitch, size_t width, size_t height, unsigned int element)
{
	CUresult r = call_cuMemAllocPitch_v2(dptr, pitch, width, height, element);

	if (!r)
		memory_add(*dptr, *pitch * height);
	return r;
}

CUresult remote_cuMemFree_v2(CUdeviceptr dptr)
{
	if (!dptr)
		return CUDA_SUCCESS;
	if (memory_remove(dptr))
		return call_cuMemFree_v2(dptr);
	return hostmem_free_managed(dptr);
}

CUresult remote_cuMemAllocAsync(CUdeviceptr *dptr, size_t size, CUstream handle)
{
	CUresult r = call_cuMemAllocAsync(dptr, size, handle);

	if (!r) {
		memory_add(*dptr, size);
		call_stream(handle, true);
	}
	return r;
}

CUresult remote_cuMemFreeAsync(CUdeviceptr dptr, CUstream handle)
{
	return memory_remove(dptr) ? call_cuMemFreeAsync(dptr, handle) : CUDA_ERROR_INVALID_VALUE;
}
