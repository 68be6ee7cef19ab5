/* Handles and their settings, versions, error names, and copies of vectors and matrices. */
#include "blas/blas.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifndef CUBLAS_MAJOR
#error "which cuBLAS is this?"
#endif

/* Whether these bytes are readable.  The system call fails instead of raising a signal. */
static bool bytes_are_readable(const void *p, size_t n)
{
	int fd[2];
	bool ok;

	if (pipe(fd))
		return false;
	ok = write(fd[1], p, n) == (ssize_t)n;
	close(fd[0]);
	close(fd[1]);
	return ok;
}

/* Whether device memory is memory of this process. */
static bool device_memory_is_local(CUdevice dev)
{
	char name[64] = "";
	CUdeviceptr p = 0;
	bool ok;

	if (cuDeviceGetName(name, sizeof name, dev) || strncmp(name, "Gangway CPU", 11) || cuMemAlloc_v2(&p, 64))
		return false;
	ok = bytes_are_readable((const void *)p, 64);
	cuMemFree_v2(p);
	return ok;
}

static bool enter_context(CUcontext *ctx, CUdevice *dev)
{
	if (cuInit(0) || cuCtxGetCurrent(ctx))
		return false;
	if (!*ctx && (cuDevicePrimaryCtxRetain(ctx, 0) || cuCtxSetCurrent(*ctx)))
		return false;
	return !cuCtxGetDevice(dev);
}

BLAS_EXPORT cublasStatus_t cublasCreate_v2(cublasHandle_t *handle)
{
	struct blas *h;
	CUcontext ctx;
	CUdevice dev;

	if (!handle)
		return CUBLAS_STATUS_INVALID_VALUE;
	*handle = NULL;
	if (!enter_context(&ctx, &dev))
		return CUBLAS_STATUS_NOT_INITIALIZED;
	if (!device_memory_is_local(dev))
		return CUBLAS_STATUS_ARCH_MISMATCH;
	h = calloc(1, sizeof *h);
	if (!h)
		return CUBLAS_STATUS_ALLOC_FAILED;
	h->ctx = ctx;
	*handle = h;
	return CUBLAS_STATUS_SUCCESS;
}

BLAS_EXPORT cublasStatus_t cublasDestroy_v2(cublasHandle_t h)
{
	if (!h)
		return CUBLAS_STATUS_NOT_INITIALIZED;
	blas_wait(h);
	free(h);
	return CUBLAS_STATUS_SUCCESS;
}

#define SETTING(Name, T, field) \
	BLAS_EXPORT cublasStatus_t cublasSet##Name(cublasHandle_t h, T value) \
	{ \
		if (!h) \
			return CUBLAS_STATUS_NOT_INITIALIZED; \
		h->field = value; \
		return CUBLAS_STATUS_SUCCESS; \
	} \
	BLAS_EXPORT cublasStatus_t cublasGet##Name(cublasHandle_t h, T *value) \
	{ \
		if (!h) \
			return CUBLAS_STATUS_NOT_INITIALIZED; \
		if (!value) \
			return CUBLAS_STATUS_INVALID_VALUE; \
		*value = h->field; \
		return CUBLAS_STATUS_SUCCESS; \
	}
SETTING(Stream_v2, CUstream, stream)
SETTING(PointerMode_v2, cublasPointerMode_t, pointers)
SETTING(AtomicsMode, int, atomics)
SETTING(MathMode, int, math) /* permitted loss of precision; ignored */
SETTING(SmCountTarget, int, sms)

/* No workspace is needed. */
BLAS_EXPORT cublasStatus_t cublasSetWorkspace_v2(cublasHandle_t h, void *workspace, size_t size)
{
	(void)workspace;
	(void)size;
	return h ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_NOT_INITIALIZED;
}

/* ---- versions and names ---- */

BLAS_EXPORT cublasStatus_t cublasGetVersion_v2(cublasHandle_t h, int *version)
{
	(void)h;
	if (!version)
		return CUBLAS_STATUS_INVALID_VALUE;
	*version = CUBLAS_MAJOR * 10000;
	return CUBLAS_STATUS_SUCCESS;
}

BLAS_EXPORT cublasStatus_t cublasGetProperty(int type, int *value)
{
	if (!value || type < 0 || type > 2) /* major, minor, patch level */
		return CUBLAS_STATUS_INVALID_VALUE;
	*value = type == 0 ? CUBLAS_MAJOR : 0;
	return CUBLAS_STATUS_SUCCESS;
}

BLAS_EXPORT size_t cublasGetCudartVersion(void)
{
	return CUBLAS_MAJOR * 1000;
}

static const struct status_text {
	cublasStatus_t status;
	const char *name, *text;
} texts[] = {
	{CUBLAS_STATUS_SUCCESS, "CUBLAS_STATUS_SUCCESS", "done"},
	{CUBLAS_STATUS_NOT_INITIALIZED, "CUBLAS_STATUS_NOT_INITIALIZED", "there is no such handle, or no device"},
	{CUBLAS_STATUS_ALLOC_FAILED, "CUBLAS_STATUS_ALLOC_FAILED", "out of memory"},
	{CUBLAS_STATUS_INVALID_VALUE, "CUBLAS_STATUS_INVALID_VALUE", "an argument makes no sense"},
	{CUBLAS_STATUS_ARCH_MISMATCH, "CUBLAS_STATUS_ARCH_MISMATCH", "this device cannot do that"},
	{CUBLAS_STATUS_MAPPING_ERROR, "CUBLAS_STATUS_MAPPING_ERROR", "memory could not be copied"},
	{CUBLAS_STATUS_EXECUTION_FAILED, "CUBLAS_STATUS_EXECUTION_FAILED", "the work could not be run"},
	{CUBLAS_STATUS_INTERNAL_ERROR, "CUBLAS_STATUS_INTERNAL_ERROR", "something inside went wrong"},
	{CUBLAS_STATUS_NOT_SUPPORTED, "CUBLAS_STATUS_NOT_SUPPORTED", "not supported"},
	{CUBLAS_STATUS_LICENSE_ERROR, "CUBLAS_STATUS_LICENSE_ERROR", "no licence"},
};

static const struct status_text *find_status_text(cublasStatus_t status)
{
	static const struct status_text unknown = {0, "(unknown cublasStatus_t)", "(unknown cublasStatus_t)"};

	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
		if (texts[i].status == status)
			return &texts[i];
	return &unknown;
}

BLAS_EXPORT const char *cublasGetStatusName(cublasStatus_t status)
{
	return find_status_text(status)->name;
}

BLAS_EXPORT const char *cublasGetStatusString(cublasStatus_t status)
{
	return find_status_text(status)->text;
}

/* ---- copies of strided vectors and of matrices between host and device ---- */

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
	if (!enter_context(&ctx, &dev))
		return CUBLAS_STATUS_NOT_INITIALIZED;
	if (cuMemcpy2DAsync_v2(&c, stream) || (wait && cuStreamSynchronize(stream)))
		return CUBLAS_STATUS_MAPPING_ERROR;
	return CUBLAS_STATUS_SUCCESS;
}

/* A strided vector is a matrix of one row. */
#define COPIES(Name) \
	BLAS_EXPORT cublasStatus_t cublas##Name##Matrix( \
		int rows, int cols, int size, const void *a, int lda, void *b, int ldb) \
	{ \
		return copy_matrix(rows, cols, size, a, lda, b, ldb, NULL, true); \
	} \
	BLAS_EXPORT cublasStatus_t cublas##Name##MatrixAsync( \
		int rows, int cols, int size, const void *a, int lda, void *b, int ldb, CUstream s) \
	{ \
		return copy_matrix(rows, cols, size, a, lda, b, ldb, s, false); \
	} \
	BLAS_EXPORT cublasStatus_t cublas##Name##Vector(int n, int size, const void *x, int incx, void *y, int incy) \
	{ \
		return copy_matrix(1, n, size, x, incx, y, incy, NULL, true); \
	} \
	BLAS_EXPORT cublasStatus_t cublas##Name##VectorAsync( \
		int n, int size, const void *x, int incx, void *y, int incy, CUstream s) \
	{ \
		return copy_matrix(1, n, size, x, incx, y, incy, s, false); \
	}
COPIES(Set)
COPIES(Get)
