/*
 * The stub of cuBLAS: all functions, without an implementation.  cuBLAS has no error code for a stub; these functions
 * return the one of NVIDIA's cublasCreate on machines without a driver.
 */
#include "blas/cublas.h"

#define PUBLIC     __attribute__((visibility("default")))
#define NAME(name) PUBLIC cublasStatus_t name(void) __attribute__((alias("stub")));
#define TEXT(name) PUBLIC const char *name(void) __attribute__((alias("stub_text")));

static __attribute__((used)) cublasStatus_t stub(void)
{
	return CUBLAS_STATUS_NOT_INITIALIZED;
}

static __attribute__((used)) const char *stub_text(void)
{
	return "libcublas is a stub library";
}

#include "blas/api/names.def"
