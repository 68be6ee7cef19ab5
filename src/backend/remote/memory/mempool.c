/* Memory pools: attributes, whose values differ in size, and pools of other processes. */
#include "backend/remote/hostmem/share.h"
#include "backend/remote/memory/memory.h"

/* Bytes of an attribute's value: the first ones are switches, the others count bytes.  0: no such attribute. */
static size_t pool_attribute_size(CUmemPool_attribute attribute)
{
	if (attribute < CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES || attribute > CU_MEMPOOL_ATTR_USED_MEM_HIGH)
		return 0;
	return attribute <= CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES ? sizeof(int) : sizeof(cuuint64_t);
}

static CUresult pool_attribute_access(CUmemoryPool pool, CUmemPool_attribute which, void *value, bool set)
{
	struct wire_pool a = {.pool = (uintptr_t)pool, .attribute = which, .set = set}, back;
	size_t n = pool_attribute_size(which);
	CUresult r;

	if (!value || !n)
		return CUDA_ERROR_INVALID_VALUE;
	if (set)
		memcpy(&a.value, value, n);
	r = call_sync(WIRE_POOL, &a, sizeof a, NULL, 0, &(struct wire_piece){&back, sizeof back}, 1);
	if (!r && !set)
		memcpy(value, &back.value, n);
	return r;
}

CUresult remote_cuMemPoolGetAttribute(CUmemoryPool pool, CUmemPool_attribute which, void *value)
{
	return pool_attribute_access(pool, which, value, false);
}

CUresult remote_cuMemPoolSetAttribute(CUmemoryPool pool, CUmemPool_attribute which, void *value)
{
	return pool_attribute_access(pool, which, value, true);
}

/* A pool of host memory would be memory of the server's machine, which the application could not touch. */
CUresult remote_cuMemPoolCreate(CUmemoryPool *pool, const CUmemPoolProps *props)
{
	if (!pool || !props)
		return CUDA_ERROR_INVALID_VALUE;
	if (props->location.type > CU_MEM_LOCATION_TYPE_DEVICE)
		return CUDA_ERROR_NOT_SUPPORTED;
	return call_cuMemPoolCreate(pool, props);
}

CUresult remote_cuMemGetDefaultMemPool(CUmemoryPool *pool, CUmemLocation *location, CUmemAllocationType type)
{
	if (location && location->type > CU_MEM_LOCATION_TYPE_DEVICE)
		return CUDA_ERROR_NOT_SUPPORTED;
	return call_cuMemGetDefaultMemPool(pool, location, type);
}

CUresult remote_cuMemGetMemPool(CUmemoryPool *pool, CUmemLocation *location, CUmemAllocationType type)
{
	if (location && location->type > CU_MEM_LOCATION_TYPE_DEVICE)
		return CUDA_ERROR_NOT_SUPPORTED;
	return call_cuMemGetMemPool(pool, location, type);
}

CUresult remote_cuMemPoolExportToShareableHandle(
	void *out, CUmemoryPool pool, CUmemAllocationHandleType type, unsigned long long flags)
{
	return share_out(out, (uintptr_t)pool, true, type, flags);
}

CUresult remote_cuMemPoolImportFromShareableHandle(
	CUmemoryPool *pool, void *os, CUmemAllocationHandleType type, unsigned long long flags)
{
	uint64_t id = 0;
	CUresult r = pool ? share_in(&id, os, true, type, flags) : CUDA_ERROR_INVALID_VALUE;

	if (!r)
		*pool = (CUmemoryPool)(uintptr_t)id;
	return r;
}

CUresult remote_cuMemPoolImportPointer(CUdeviceptr *ptr, CUmemoryPool pool, CUmemPoolPtrExportData *data)
{
	CUresult r = call_cuMemPoolImportPointer(ptr, pool, data);
	size_t size = 0;

	if (r)
		return r;
	return memory_note(*ptr, call_cuMemGetAddressRange_v2(NULL, &size, *ptr) || !size ? 1 : size, RANGE_IMPORTED);
}
