/* The calls that allocate, free and query pinned and managed memory. */
#include "backend/remote/hostmem/hostmem.h"

#define ALLOC_FLAGS (CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP | CU_MEMHOSTALLOC_WRITECOMBINED)

CUresult remote_cuMemHostAlloc(void **pp, size_t size, unsigned int flags)
{
	uint64_t at = 0;
	CUresult r = CUDA_SUCCESS;

	if (!pp || flags & ~ALLOC_FLAGS)
		return CUDA_ERROR_INVALID_VALUE;
	if (size)
		r = hostmem_allocate(size, flags, HOST_PINNED, &at);
	if (!r)
		*pp = (void *)(uintptr_t)at;
	return r;
}

CUresult remote_cuMemAllocHost_v2(void **pp, size_t size)
{
	return remote_cuMemHostAlloc(pp, size, 0);
}

CUresult remote_cuMemFreeHost(void *p)
{
	return p ? hostmem_release((uintptr_t)p, HOST_PINNED) : CUDA_SUCCESS;
}

/* Host memory that both sides have at one address and that never moves: slower for the device, always coherent. */
CUresult remote_cuMemAllocManaged(CUdeviceptr *dptr, size_t size, unsigned int flags)
{
	uint64_t at = 0;
	CUresult r;

	if (!dptr || !size || (flags != CU_MEM_ATTACH_GLOBAL && flags != CU_MEM_ATTACH_HOST))
		return CUDA_ERROR_INVALID_VALUE;
	r = hostmem_allocate(size, flags, HOST_MANAGED, &at);
	if (!r)
		*dptr = at;
	return r;
}

CUresult hostmem_free_managed(CUdeviceptr dptr)
{
	return hostmem_release(dptr, HOST_MANAGED);
}

CUresult remote_cuMemHostGetDevicePointer_v2(CUdeviceptr *pdptr, void *p, unsigned int flags)
{
	struct host_info info;
	CUresult r = CUDA_SUCCESS;

	if (!pdptr || flags || !hostmem_find((uintptr_t)p, &info) || info.kind == HOST_MANAGED)
		return CUDA_ERROR_INVALID_VALUE;
	if (!info.shared)
		r = info.kind == HOST_REGISTERED ? host_register_map(info.base) : CUDA_ERROR_NOT_SUPPORTED;
	if (!r)
		*pdptr = (uintptr_t)p;
	return r;
}

/*
 * As an H200 answers: CU_MEMHOSTALLOC_PORTABLE is reported for write-combined memory only.  Shared memory is mapped,
 * whether or not the application asked for it.
 */
CUresult remote_cuMemHostGetFlags(unsigned int *flags, void *p)
{
	struct host_info info;

	if (!flags || !hostmem_find((uintptr_t)p, &info))
		return CUDA_ERROR_INVALID_VALUE;
	*flags = info.flags;
	if (info.kind == HOST_PINNED)
		*flags = (info.flags & CU_MEMHOSTALLOC_WRITECOMBINED ? info.flags & ~CU_MEMHOSTALLOC_DEVICEMAP : 0) |
			 (info.shared ? CU_MEMHOSTALLOC_DEVICEMAP : 0);
	else if (info.kind == HOST_REGISTERED && info.shared)
		*flags |= CU_MEMHOSTREGISTER_DEVICEMAP;
	return CUDA_SUCCESS;
}
