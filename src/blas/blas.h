/*
 * blas.h - a cuBLAS of our own for the CPU device.
 *
 * NVIDIA's carries most of its kernels as machine code of GPUs, which a processor cannot run.  This one does
 * its work in C, in stream order: a call becomes a host function on the handle's stream, which touches device
 * memory directly.  That is possible where device memory is memory of this process, and cublasCreate refuses
 * all other devices.  `gangway run --on cpu` puts it before the vendor's.
 *
 *	cublasDgemv_v2 ─► checks its arguments, copies them ─► cuLaunchHostFunc ─► gemv_d on plain memory
 *
 * What is not here answers CUBLAS_STATUS_NOT_SUPPORTED (names.def); nothing pretends.
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
	cublasPointerMode_t pointers; /* where alpha, beta and results of reductions are */
	int math, atomics, sms;
};

/* ---- queue.c ---- */

/* Runs work(copy of args) in order on the stream.  wait: until it is done, for results on the host. */
typedef void blas_work(const void *args);
cublasStatus_t blas_queue(struct blas *h, blas_work *work, const void *args, size_t size, bool wait);
/* Says once, where `gangway run` wants such things said, that this name is not here. */
cublasStatus_t blas_missing(const char *name);

/* ---- numbers that may be on the device ---- */

/* alpha and beta: taken when called, or when the work runs. */
struct blas_scalar {
	const void *at; /* NULL: value has it */
	_Alignas(16) unsigned char value[16];
};
struct blas_scalar blas_scalar(const struct blas *h, const void *p, size_t size);
static inline const void *blas_value(const struct blas_scalar *s)
{
	return s->at ? s->at : s->value;
}

/* Result of a reduction on the host: wait for it. */
static inline bool blas_waits(const struct blas *h)
{
	return h->pointers == CUBLAS_POINTER_MODE_HOST;
}

/* ---- level3.h: C = alpha op(A) op(B) + beta C on plain memory, columns first ---- */

struct blas_gemm {
	cublasOperation_t ta, tb;
	int64_t m, n, k;
	struct blas_scalar alpha, beta;
	const void *a, *b;
	void *c;
	int64_t lda, ldb, ldc;
	/* Of a batch: either arrays of pointers, on the device, or strides in elements. */
	int64_t count, stride_a, stride_b, stride_c;
	bool pointers;
	/* GemmEx: */
	cudaDataType type_a, type_b, type_c;
};
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
