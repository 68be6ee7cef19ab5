/* blas.h - declarations of the cuBLAS functions that the tests call. */
#pragma once

#include <complex.h>
#include <math.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include "abi/cuda.h"
#include "gen/cuda_protos.h"
#include "test/check.h"

typedef struct blas *handle;
enum { OP_N, OP_T, OP_C, LOWER_ = 0, UPPER_ = 1, NON_UNIT = 0, UNIT = 1, LEFT = 0, RIGHT = 1 };

int cublasCreate_v2(handle *h);
int cublasDestroy_v2(handle h);
int cublasSetStream_v2(handle h, CUstream s);
int cublasSetPointerMode_v2(handle h, int mode);
int cublasGetVersion_v2(handle h, int *version);
const char *cublasGetStatusName(int status);
int cublasSetVector(int n, int size, const void *x, int incx, void *y, int incy);
int cublasGetMatrix(int rows, int cols, int size, const void *a, int lda, void *b, int ldb);
int cublasInit(void);
int cublasXtCreate(void *handle);
int cublasGemmEx(handle h, int ta, int tb, int m, int n, int k, const void *alpha, const void *a, int at, int lda,
	const void *b, int bt, int ldb, const void *beta, void *c, int ct, int ldc, int compute, int algorithm);

static inline void *device_alloc(size_t size)
{
	CUdeviceptr p = 0;

	CHECK_EQ(cuMemAlloc_v2(&p, size), 0);
	return (void *)p;
}
