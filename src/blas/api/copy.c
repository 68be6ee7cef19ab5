/* Copies of strided vectors and of matrices between host and device. */
#include "blas/api/blas.h"

static cublasStatus_t copy_matrix(int64_t rows, int64_t cols, int64_t size, const void *from, int64_t ld_from, void *to,
	int64_t ld_to, CUstream stream, bool wait)
{
	CUDA_MEMCPY2D c = {.srcMemoryType = CU_MEMORYTYPE_UNIFIED,
		.dstMemoryType = CU_MEMORYTYPE_UNIFIED,
		.srcDevice = (CUdeviceptr)from,
		.dstDevice = (CUdeviceptr)to,
		.srcPitch = (size_t)(ld_from * size),
		.dstPitch = (size_t)(ld_to * size),
		.WidthInBytes = (size_t)(rows * size),
		.Height = (size_t)cols};
	CUcontext ctx;
	CUdevice dev;

	if (rows < 0 || cols < 0 || size <= 0 || ld_from < rows || ld_to < rows)
		return CUBLAS_STATUS_INVALID_VALUE;
	if (!rows || !cols)
		return CUBLAS_STATUS_SUCCESS;
	if (!blas_enter_context(&ctx, &dev))
		return CUBLAS_STATUS_NOT_INITIALIZED;
	if (cuMemcpy2DAsync_v2(&c, stream) || (wait && cuStreamSynchronize(stream)))
		return CUBLAS_STATUS_MAPPING_ERROR;
	return CUBLAS_STATUS_SUCCESS;
}

/* A strided vector is a matrix of one row. */
#define COPIES(Name, I, end) \
	BLAS_EXPORT cublasStatus_t cublas##Name##Matrix##end( \
		I rows, I cols, I size, const void *a, I lda, void *b, I ldb) \
	{ \
		return copy_matrix(rows, cols, size, a, lda, b, ldb, NULL, true); \
	} \
	BLAS_EXPORT cublasStatus_t cublas##Name##MatrixAsync##end( \
		I rows, I cols, I size, const void *a, I lda, void *b, I ldb, CUstream s) \
	{ \
		return copy_matrix(rows, cols, size, a, lda, b, ldb, s, false); \
	} \
	BLAS_EXPORT cublasStatus_t cublas##Name##Vector##end(I n, I size, const void *x, I incx, void *y, I incy) \
	{ \
		return copy_matrix(1, n, size, x, incx, y, incy, NULL, true); \
	} \
	BLAS_EXPORT cublasStatus_t cublas##Name##VectorAsync##end( \
		I n, I size, const void *x, I incx, void *y, I incy, CUstream s) \
	{ \
		return copy_matrix(1, n, size, x, incx, y, incy, s, false); \
	}
COPIES(Set, int, )
COPIES(Get, int, )
COPIES(Set, int64_t, _64)
COPIES(Get, int64_t, _64)
