/*
 * blas.h - cuBLAS for the CPU device.
 *
 * NVIDIA's cuBLAS has most kernels as GPU machine code only.  This implementation computes in C, in stream order: a call
 * becomes a host function on the handle's stream, which accesses device memory directly.  This requires that device
 * memory is memory of this process; cublasCreate refuses all other devices.  `gangway run --on cpu` puts this library
 * before the vendor's.
 *
 *	cublasDgemv_v2 ─► checks its arguments, copies them ─► cuLaunchHostFunc ─► gemv_d on plain memory
 *
 * All other functions of cuBLAS (names.def) return CUBLAS_STATUS_NOT_SUPPORTED.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "abi/cuda.h"
#include "blas/cublas.h"
#include "gen/cuda_protos.h"

#define BLAS_EXPORT __attribute__((visibility("default")))

struct blas {
	CUcontext ctx;
	CUstream stream;
	cublasPointerMode_t pointers; /* whether alpha, beta and results of reductions are in host or device memory */
	int math, atomics, sms;
};

/* ---- queue.c ---- */

/* Queues work(copy of args) on the stream.  wait: return after its completion, for results in host memory. */
typedef void blas_work(const void *args);
cublasStatus_t blas_queue(struct blas *h, blas_work *work, const void *args, size_t size, bool wait);
void blas_wait(struct blas *h); /* for all work of the handle's context */
/* Reports once, if `gangway run` asks for such messages, that the function is missing. */
cublasStatus_t blas_missing(const char *name);

/* ---- scalars in host or device memory ---- */

/* alpha and beta: host values are copied by the call, device values are read when the work runs. */
struct blas_scalar {
	const void *at; /* in device memory; NULL: in value */
	_Alignas(16) unsigned char value[16];
};
struct blas_scalar blas_scalar(const struct blas *h, const void *p, size_t size);
static inline const void *blas_value(const struct blas_scalar *s)
{
	return s->at ? s->at : s->value;
}

/* Whether results of reductions are in host memory, so that the call waits for them. */
static inline bool blas_waits(const struct blas *h)
{
	return h->pointers == CUBLAS_POINTER_MODE_HOST;
}

/* ---- level3.h: C = alpha op(A) op(B) + beta C, column-major ---- */

struct blas_gemm {
	cublasOperation_t ta, tb;
	int64_t m, n, k;
	struct blas_scalar alpha, beta;
	const void *a, *b;
	void *c;
	int64_t lda, ldb, ldc;
	/* Batches: arrays of pointers in device memory, or strides in elements. */
	int64_t count, stride_a, stride_b, stride_c;
	bool pointers;
	/* GemmEx: */
	cudaDataType type_a, type_b, type_c;
};
/* The members of struct blas_gemm that all forms of gemm set, from arguments of these names. */
#define BLAS_GEMM_MATRICES \
	.ta = ta, .tb = tb, .m = m, .n = n, .k = k, .a = a, .b = b, .c = (void *)c, .lda = lda, .ldb = ldb, .ldc = ldc

/* The matrices of one product. */
struct blas_product {
	cublasOperation_t ta, tb;
	int64_t m, n, k;
	const void *a, *b;
	void *c;
	int64_t lda, ldb, ldc;
};
void blas_gemm_s(const struct blas_product *p, const void *alpha, const void *beta);
void blas_gemm_d(const struct blas_product *p, const void *alpha, const void *beta);
void blas_gemm_c(const struct blas_product *p, const void *alpha, const void *beta);
void blas_gemm_z(const struct blas_product *p, const void *alpha, const void *beta);
cublasStatus_t blas_check_gemm(const struct blas *h, const struct blas_gemm *g);
