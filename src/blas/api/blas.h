/*
 * blas.h - cuBLAS for the CPU device: the library that programs load.
 *
 * NVIDIA's cuBLAS has most kernels as GPU machine code only.  This library checks the arguments of a call and launches
 * them as a job (job.h) on the handle's stream, so calls keep CUDA's order, work in graphs, and reach a CPU device in
 * another process.  The device does the arithmetic (work/).  cublasCreate refuses devices that do not.
 *
 *	cublasDgemv_v2 ─► struct blas_job ─► cuLaunchKernel(BLAS_KERNEL) ─► stream ─► work/ on the device
 *
 * Functions that are not implemented (names.def) return CUBLAS_STATUS_NOT_SUPPORTED.
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "abi/cuda.h"
#include "blas/job.h"
#include "gen/cuda_protos.h"

#define BLAS_EXPORT __attribute__((visibility("default")))

/* libcublas and libcublasLt have the same handles, because programs convert one into the other. */
struct blas {
	CUcontext ctx;
	CUmodule module;
	CUfunction kernel;
	CUdeviceptr scratch; /* for results that go to host memory, 16 bytes each: threads may share a handle */
	atomic_uint results; /* the number of those so far */
	CUstream stream;
	cublasPointerMode_t pointers; /* whether alpha, beta and results of reductions are in host or device memory */
	int math, atomics, sms;
	int emulation[6]; /* settings that have no effect */
	int *emulation_bits;
};

enum { BLAS_SCRATCH = 256 };

/* ---- submit.c ---- */

cublasStatus_t blas_open(struct blas **h); /* for the current context */
cublasStatus_t blas_close(struct blas *h);
bool blas_enter_context(CUcontext *ctx, CUdevice *dev); /* makes the primary context current if none is */

/* Queue a job on a stream. */
cublasStatus_t blas_launch(struct blas *h, const struct blas_job *job, CUstream stream);
static inline cublasStatus_t blas_submit(struct blas *h, const struct blas_job *job)
{
	return blas_launch(h, job, h->stream);
}
/*
 * Queue a job that writes `size` bytes to its operand d.  In host pointer mode `result` is host memory, and the call
 * waits for them.
 */
cublasStatus_t blas_submit_result(struct blas *h, struct blas_job *job, void *result, size_t size);
/* Reports once, if `gangway run` asks for such messages, that the function is missing. */
cublasStatus_t blas_missing(const char *name);

/* alpha and beta: host values are copied by the call, device values are read when the work runs. */
struct blas_scalar blas_scalar_of(const struct blas *h, const void *p, cudaDataType type);
unsigned blas_size_of(cudaDataType type); /* bytes; 0: unknown */

static inline struct blas_operand blas_operand(const void *p, int64_t ld, cudaDataType type)
{
	return (struct blas_operand){.at = (uintptr_t)p, .ld = ld, .type = type};
}

static inline struct blas_operand blas_strided(const void *p, int64_t ld, cudaDataType type, int64_t stride)
{
	return (struct blas_operand){.at = (uintptr_t)p, .ld = ld, .type = type, .stride = stride};
}

static inline struct blas_operand blas_array(const void *p, int64_t ld, cudaDataType type)
{
	return (struct blas_operand){.at = (uintptr_t)p, .ld = ld, .type = type, .array = true};
}

/* ---- checks of arguments ---- */

/* The status of a call with a bad handle or bad arguments. */
#define BLAS_REQUIRE(h, valid) \
	do { \
		if (!(h)) \
			return CUBLAS_STATUS_NOT_INITIALIZED; \
		if (!(valid)) \
			return CUBLAS_STATUS_INVALID_VALUE; \
	} while (0)

static inline int64_t blas_at_least_1(int64_t n)
{
	return n > 1 ? n : 1;
}
static inline bool blas_op_valid(cublasOperation_t op)
{
	return (unsigned)op <= CUBLAS_OP_C;
}
static inline bool blas_fill_valid(cublasFillMode_t fill)
{
	return (unsigned)fill <= CUBLAS_FILL_MODE_UPPER;
}
static inline bool blas_triangle_valid(cublasFillMode_t fill, cublasOperation_t op, cublasDiagType_t diag)
{
	return blas_fill_valid(fill) && blas_op_valid(op) && (unsigned)diag <= CUBLAS_DIAG_UNIT;
}

/*
 * A product of `job`, whose operands a, b and c and sizes are set: checks everything, and submits it with c as its
 * result.  alpha and beta have the type scalar_type.
 */
cublasStatus_t blas_submit_gemm(struct blas *h, struct blas_job *job, cublasOperation_t ta, cublasOperation_t tb,
	const void *alpha, const void *beta, cudaDataType scalar_type);
