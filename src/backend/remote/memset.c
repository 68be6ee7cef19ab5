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

static CUresult check(CUdeviceptr dst, size_t n, size_t element)
{
	size_t bytes;

	if (!n)
		return CUDA_SUCCESS;
	if (dst % element || __builtin_mul_overflow(n, element, &bytes))
		return CUDA_ERROR_INVALID_VALUE;
	return memory_plausible(dst, bytes);
}

static CUresult check_rows(CUdeviceptr dst, size_t pitch, size_t width, size_t height, size_t element)
{
	size_t row, before;

	if (!width || !height)
		return CUDA_SUCCESS;
	if (dst % element || (height > 1 && pitch % element) || __builtin_mul_overflow(width, element, &row) ||
		(height > 1 && pitch < row) || __builtin_mul_overflow(pitch, height - 1, &before) ||
		__builtin_add_overflow(before, row, &row))
		return CUDA_ERROR_INVALID_VALUE;
	return memory_plausible(dst, row);
}

#define SET(name, type, element) \
	CUresult remote_cuMemset##name##Async(CUdeviceptr dst, type v, size_t n, CUstream stream) \
	{ \
		CUresult r = check(dst, n, element); \
\
		return r ? r : call_cuMemset##name##Async(dst, v, n, stream); \
	} \
	CUresult remote_cuMemset##name##_v2(CUdeviceptr dst, type v, size_t n) \
	{ \
		return seen(remote_cuMemset##name##Async(dst, v, n, NULL), dst); \
	}

#define SET_ROWS(name, type, element) \
	CUresult remote_cuMemset##name##Async(CUdeviceptr dst, size_t pitch, type v, size_t width, size_t height, \
		CUstream stream) \
	{ \
		CUresult r = check_rows(dst, pitch, width, height, element); \
\
		return r ? r : call_cuMemset##name##Async(dst, pitch, v, width, height, stream); \
	} \
	CUresult remote_cuMemset##name##_v2(CUdeviceptr dst, size_t pitch, type v, size_t width, size_t height) \
	{ \
		return seen(remote_cuMemset##name##Async(dst, pitch, v, width, height, NULL), dst); \
	}

SET(D8, unsigned char, 1)
SET(D16, unsigned short, 2)
SET(D32, unsigned int, 4)
SET_ROWS(D2D8, unsigned char, 1)
SET_ROWS(D2D16, unsigned short, 2)
SET_ROWS(D2D32, unsigned int, 4)
