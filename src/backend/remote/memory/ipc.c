/*
 * Memory of another process.  The handle is the driver's, and the workers of a server are processes of one machine: any
 * client of the same server can open it.
 */
#include "backend/remote/session/remote.h"
#include "backend/remote/wait/wait.h"
#include "backend/remote/memory/memory.h"

CUresult remote_cuIpcGetMemHandle(CUipcMemHandle *handle, CUdeviceptr dptr)
{
	if (!handle || memory_place(dptr) != PLACE_DEVICE)
		return CUDA_ERROR_INVALID_VALUE;
	return call_cuIpcGetMemHandle(handle, dptr);
}

CUresult remote_cuIpcOpenMemHandle_v2(CUdeviceptr *dptr, CUipcMemHandle handle, unsigned int flags)
{
	CUdeviceptr base = 0;
	size_t size = 0;
	CUresult r = call_cuIpcOpenMemHandle_v2(dptr, handle, flags);

	if (r)
		return r;
	r = call_cuMemGetAddressRange_v2(&base, &size, *dptr);
	if (r) { /* an address without a known range would be taken for host memory */
		call_cuIpcCloseMemHandle(*dptr);
		return r;
	}
	return *dptr - base < size ? memory_note(base, size, RANGE_FOREIGN) : client_reject_reply();
}

/* A handle opened twice is closed twice: the memory is gone when the driver no longer knows its address. */
CUresult remote_cuIpcCloseMemHandle(CUdeviceptr dptr)
{
	CUdeviceptr base = 0;
	size_t size = 0;
	CUresult r;

	if (call_cuMemGetAddressRange_v2(&base, &size, dptr))
		return CUDA_ERROR_INVALID_VALUE;
	context_drain();
	r = call_cuIpcCloseMemHandle(dptr);
	if (!r && call_cuMemGetAddressRange_v2(NULL, &size, dptr))
		memory_drop(base, RANGE_FOREIGN);
	return r;
}
