/* Handles, versions and the logger of cublasLt. */
#include "blas/api/version.h"
#include "blas/lt/lt.h"

BLAS_EXPORT cublasStatus_t cublasLtCreate(struct blas **handle)
{
	return handle ? blas_open(handle) : CUBLAS_STATUS_INVALID_VALUE;
}

BLAS_EXPORT cublasStatus_t cublasLtDestroy(struct blas *h)
{
	return blas_close(h);
}

BLAS_EXPORT size_t cublasLtGetVersion(void)
{
	return CUBLAS_VERSION;
}

BLAS_EXPORT size_t cublasLtGetCudartVersion(void)
{
	return CUBLAS_CUDART;
}

BLAS_EXPORT cublasStatus_t cublasLtGetProperty(int type, int *value)
{
	if (!value || type < 0 || type > 2) /* major, minor, patch level */
		return CUBLAS_STATUS_INVALID_VALUE;
	*value = type == 0 ? CUBLAS_MAJOR : type == 1 ? CUBLAS_MINOR : CUBLAS_PATCH;
	return CUBLAS_STATUS_SUCCESS;
}

const char *cublasGetStatusName(cublasStatus_t status);
const char *cublasGetStatusString(cublasStatus_t status);

BLAS_EXPORT const char *cublasLtGetStatusName(cublasStatus_t status)
{
	return cublasGetStatusName(status);
}

BLAS_EXPORT const char *cublasLtGetStatusString(cublasStatus_t status)
{
	return cublasGetStatusString(status);
}

/* Results of heuristics are not cached, as there is one algorithm. */
BLAS_EXPORT cublasStatus_t cublasLtHeuristicsCacheGetCapacity(size_t *capacity)
{
	if (!capacity)
		return CUBLAS_STATUS_INVALID_VALUE;
	*capacity = 0;
	return CUBLAS_STATUS_SUCCESS;
}

BLAS_EXPORT cublasStatus_t cublasLtHeuristicsCacheSetCapacity(size_t capacity)
{
	(void)capacity;
	return CUBLAS_STATUS_SUCCESS;
}

/* The logger has nothing to log: gangway run --trace logs the calls of the driver. */
BLAS_EXPORT cublasStatus_t cublasLtLoggerSetCallback(void *callback)
{
	(void)callback;
	return CUBLAS_STATUS_SUCCESS;
}

BLAS_EXPORT cublasStatus_t cublasLtLoggerSetFile(void *file)
{
	(void)file;
	return CUBLAS_STATUS_SUCCESS;
}

BLAS_EXPORT cublasStatus_t cublasLtLoggerOpenFile(const char *name)
{
	(void)name;
	return CUBLAS_STATUS_SUCCESS;
}

BLAS_EXPORT cublasStatus_t cublasLtLoggerSetLevel(int level)
{
	(void)level;
	return CUBLAS_STATUS_SUCCESS;
}

BLAS_EXPORT cublasStatus_t cublasLtLoggerSetMask(int mask)
{
	(void)mask;
	return CUBLAS_STATUS_SUCCESS;
}

BLAS_EXPORT cublasStatus_t cublasLtLoggerForceDisable(void)
{
	return CUBLAS_STATUS_SUCCESS;
}
