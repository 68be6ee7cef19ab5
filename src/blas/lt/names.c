/* Weak definitions of all functions of cublasLt; the implemented ones override them. */
#include "blas/api/blas.h"

#define NAME(name) \
	BLAS_EXPORT __attribute__((weak)) cublasStatus_t name(void); \
	cublasStatus_t name(void) \
	{ \
		return blas_missing(#name); \
	}
#define TEXT(name) /* status.c */
#include "blas/lt/names.def"
