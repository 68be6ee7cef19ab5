/* Names and texts of status codes. */
#include "blas/api/blas.h"

static const struct status_text {
	cublasStatus_t status;
	const char *name, *text;
} texts[] = {
	{CUBLAS_STATUS_SUCCESS, "CUBLAS_STATUS_SUCCESS", "done"},
	{CUBLAS_STATUS_NOT_INITIALIZED, "CUBLAS_STATUS_NOT_INITIALIZED", "invalid handle, or no device"},
	{CUBLAS_STATUS_ALLOC_FAILED, "CUBLAS_STATUS_ALLOC_FAILED", "out of memory"},
	{CUBLAS_STATUS_INVALID_VALUE, "CUBLAS_STATUS_INVALID_VALUE", "an argument is invalid"},
	{CUBLAS_STATUS_ARCH_MISMATCH, "CUBLAS_STATUS_ARCH_MISMATCH", "the device does not support this call"},
	{CUBLAS_STATUS_MAPPING_ERROR, "CUBLAS_STATUS_MAPPING_ERROR", "memory could not be copied"},
	{CUBLAS_STATUS_EXECUTION_FAILED, "CUBLAS_STATUS_EXECUTION_FAILED", "the work failed"},
	{CUBLAS_STATUS_INTERNAL_ERROR, "CUBLAS_STATUS_INTERNAL_ERROR", "internal error"},
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
