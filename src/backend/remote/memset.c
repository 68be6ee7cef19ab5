/*
 * Memsets.  Of device memory they return before they are done, in CUDA too; of memory that the application
 * sees itself, the synchronous ones wait.
 */
#include "backend/remote/remote.h"

static CUresult seen(CUresult r, CUdeviceptr dst)
{
	if (!r && memory_place(dst) == PLACE_SHARED)
		return remote_cuStreamSynchronize(NULL);
	return r;
}

CUresult remote_cuMemsetD8_v2(CUdeviceptr dst, unsigned char v, size_t n)
{
	return seen(call_cuMemsetD8Async(dst, v, n, NULL), dst);
}

CUresult remote_cuMemsetD16_v2(CUdeviceptr dst, unsigned short v, size_t n)
{
	return seen(call_cuMemsetD16Async(dst, v, n, NULL), dst);
}

CUresult remote_cuMemsetD32_v2(CUdeviceptr dst, unsigned int v, size_t n)
{
	return seen(call_cuMemsetD32Async(dst, v, n, NULL), dst);
}

CUresult remote_cuMemsetD2D8_v2(CUdeviceptr dst, size_t pitch, unsigned char v, size_t width, size_t height)
{
	return seen(call_cuMemsetD2D8Async(dst, pitch, v, width, height, NULL), dst);
}

CUresult remote_cuMemsetD2D16_v2(CUdeviceptr dst, size_t pitch, unsigned short v, size_t width, size_t height)
{
	return seen(call_cuMemsetD2D16Async(dst, pitch, v, width, height, NULL), dst);
}

CUresult remote_cuMemsetD2D32_v2(CUdeviceptr dst, size_t pitch, unsigned int v, size_t width, size_t height)
{
	return seen(call_cuMemsetD2D32Async(dst, pitch, v, width, height, NULL), dst);
}
