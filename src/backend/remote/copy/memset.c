/*
 * Memsets, and the single-word writes and waits of a stream.  A memset of device memory returns before it has completed, in
 * CUDA too; a synchronous memset of memory that the application can look at waits.
 */
#include "backend/remote/wait/wait.h"
#include "backend/remote/memory/memory.h"

static CUresult memset_wait_if_visible(CUresult r, CUdeviceptr dst)
{
	if (!r && memory_place(dst) == PLACE_SHARED)
		return remote_cuStreamSynchronize(NULL);
	return r;
}

static enum range_check memset_check(CUdeviceptr dst, size_t n, size_t element)
{
	size_t bytes;

	if (!n)
		return RANGE_VALID;
	if (dst % element || __builtin_mul_overflow(n, element, &bytes))
		return RANGE_INVALID;
	return memory_check_range(dst, bytes, true);
}

static enum range_check memset_check_rows(CUdeviceptr dst, size_t pitch, size_t width, size_t height, size_t element)
{
	size_t row, before;

	if (!width || !height)
		return RANGE_VALID;
	if (dst % element || (height > 1 && pitch % element) || __builtin_mul_overflow(width, element, &row) ||
		(height > 1 && pitch < row) || __builtin_mul_overflow(pitch, height - 1, &before) ||
		__builtin_add_overflow(before, row, &row))
		return RANGE_INVALID;
	return memory_check_range(dst, row, true);
}

#define SET(name, type, element) \
	CUresult remote_cuMemset##name##Async(CUdeviceptr dst, type v, size_t n, CUstream stream) \
	{ \
		enum range_check k = memset_check(dst, n, element); \
\
		return k == RANGE_INVALID ? CUDA_ERROR_INVALID_VALUE \
					  : memory_confirm(call_cuMemset##name##Async(dst, v, n, stream), k); \
	} \
	CUresult remote_cuMemset##name##_v2(CUdeviceptr dst, type v, size_t n) \
	{ \
		return memset_wait_if_visible(remote_cuMemset##name##Async(dst, v, n, NULL), dst); \
	}

#define SET_ROWS(name, type, element) \
	CUresult remote_cuMemset##name##Async( \
		CUdeviceptr dst, size_t pitch, type v, size_t width, size_t height, CUstream stream) \
	{ \
		enum range_check k = memset_check_rows(dst, pitch, width, height, element); \
\
		return k == RANGE_INVALID \
			       ? CUDA_ERROR_INVALID_VALUE \
			       : memory_confirm(call_cuMemset##name##Async(dst, pitch, v, width, height, stream), k); \
	} \
	CUresult remote_cuMemset##name##_v2(CUdeviceptr dst, size_t pitch, type v, size_t width, size_t height) \
	{ \
		return memset_wait_if_visible(remote_cuMemset##name##Async(dst, pitch, v, width, height, NULL), dst); \
	}

SET(D8, unsigned char, 1)
SET(D16, unsigned short, 2)
SET(D32, unsigned int, 4)
SET_ROWS(D2D8, unsigned char, 1)
SET_ROWS(D2D16, unsigned short, 2)
SET_ROWS(D2D32, unsigned int, 4)

/* ---- single words, in stream order ---- */

#define WRITE(name, type) \
	CUresult remote_cuStream##name##_v2(CUstream stream, CUdeviceptr addr, type value, unsigned int flags) \
	{ \
		enum range_check k = memset_check(addr, 1, sizeof(type)); \
\
		return k == RANGE_INVALID ? CUDA_ERROR_INVALID_VALUE \
					  : memory_confirm(call_cuStream##name##_v2(stream, addr, value, flags), k); \
	}

#define WAIT(name, type) \
	CUresult remote_cuStream##name##_v2(CUstream stream, CUdeviceptr addr, type value, unsigned int flags) \
	{ \
		enum range_check k = memset_check(addr, 1, sizeof(type)); \
		struct stream *s = k == RANGE_INVALID ? NULL : value_wait_begin(stream); \
\
		return k == RANGE_INVALID \
			       ? CUDA_ERROR_INVALID_VALUE \
			       : value_wait_end( \
					 s, memory_confirm(call_cuStream##name##_v2(stream, addr, value, flags), k)); \
	}

WAIT(WaitValue32, cuuint32_t)
WAIT(WaitValue64, cuuint64_t)
WRITE(WriteValue32, cuuint32_t)
WRITE(WriteValue64, cuuint64_t)
