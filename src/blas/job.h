/*
 * job.h - one call of cuBLAS, in the form in which it reaches the CPU device.
 *
 *	libcublas (api/)                        any process; checks arguments, fills in a struct blas_job
 *	   │ cuLaunchKernel(BLAS_KERNEL, one block, the job as its only parameter)
 *	   ▼
 *	stream, graph, or connection to a worker: a kernel launch like any other
 *	   ▼
 *	backend/cpu/engine.c                    recognises the name of the kernel, calls blas_work (work/)
 *
 * Trust: a job may be malicious, because any program can launch a kernel of this name.  work/ checks every number, and
 * every address against the allocations that kernels may access.
 *
 * Both sides come from the same build or refuse each other: BLAS_KERNEL has the version of this struct in its name.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "blas/cublas.h"

/* A kernel of this name runs a job.  Its PTX has an empty body: on any other device it does nothing. */
#define BLAS_KERNEL "__gangway_blas_1"

/* BLAS_PROBE writes this 32-bit number to c: proof that the device runs jobs. */
#define BLAS_PROBE_ANSWER 0x67776231

enum blas_routine {
	BLAS_PROBE,
	/* level 1: x is b, y is c, results go to d */
	BLAS_AXPY,
	BLAS_COPY,
	BLAS_SWAP,
	BLAS_SCAL,
	BLAS_DOT, /* conjugate: of x */
	BLAS_NRM2,
	BLAS_ASUM,
	BLAS_AMAX,
	BLAS_AMIN,
	BLAS_ROT,
	BLAS_ROTM,  /* a: the five parameters */
	BLAS_ROTG,  /* a, b, c, d: its four arguments */
	BLAS_ROTMG, /* a, b, c, d, e: its five arguments */
	/* level 2: x is b, y is c; or in place on c */
	BLAS_GEMV,
	BLAS_TRMV,
	BLAS_TRSV,
	BLAS_SYMV,
	BLAS_GER,  /* the matrix is a, y is d */
	BLAS_SYR,  /* the matrix is a */
	BLAS_SYR2, /* the matrix is a, y is d */
	BLAS_TPTTR,
	BLAS_TRTTP,
	/* level 3: C = alpha op(A) op(B) + beta C and its relatives; the result goes to d */
	BLAS_GEMM,
	BLAS_SYMM,
	BLAS_SYRK,
	BLAS_SYR2K,
	BLAS_SYRKX,
	BLAS_TRMM,
	BLAS_TRSM,
	BLAS_GEAM,
	BLAS_DGMM,
	/* factorizations of batches of small matrices */
	BLAS_GETRF,
	BLAS_GETRI,
	BLAS_GETRS,
	BLAS_MATINV,
	BLAS_GEQRF,
	BLAS_GELS,
	/* cublasLt */
	BLAS_TRANSFORM,
	BLAS_ROUTINES
};

/* How the matrix of a level 2 routine is stored. */
enum blas_storage { BLAS_FULL, BLAS_BAND, BLAS_PACKED };

/* alpha or beta: a value of the client, or the address of one in device memory, read when the work runs. */
struct blas_scalar {
	uint64_t at; /* 0: in value */
	uint32_t type;
	uint32_t vector; /* cublasLt: one value for each row, at `at` */
	_Alignas(8) unsigned char value[16];
};

/* A vector or matrix, or a batch of them. */
struct blas_operand {
	uint64_t at;    /* of the first; or of an array of addresses */
	int64_t ld;     /* leading dimension; increment of a vector; both in elements */
	int64_t stride; /* between the members of a batch, in elements */
	uint32_t type;  /* cudaDataType */
	uint32_t array; /* `at` is an array of addresses */
};

/* The parts of cublasLtMatmul beyond the product. */
struct blas_epilogue {
	uint32_t kind;       /* cublasLtEpilogue_t */
	uint32_t transposed; /* the matrices are in row order: the product is computed as its transpose */
	struct blas_operand bias, aux;
	uint64_t scale_a, scale_b, scale_c, scale_d, scale_aux; /* addresses of floats, or 0 */
	uint64_t amax_d, amax_aux;
	uint32_t scale_a_vector, scale_b_vector; /* one float for each row of op(A), each column of op(B) */
};

struct blas_job {
	uint32_t routine;
	uint32_t type; /* of the computation: CUDA_R_32F, CUDA_R_64F, CUDA_C_32F or CUDA_C_64F */
	uint8_t op_a, op_b, fill, side, diag;
	uint8_t hermitian; /* symmetric if 0 */
	uint8_t conjugate;
	uint8_t storage; /* enum blas_storage */
	uint8_t inverse; /* BLAS_GETRF: without row exchanges */
	uint8_t wide;    /* results of BLAS_AMAX and BLAS_AMIN have 64 bits */
	int64_t m, n, k;
	int64_t kl, ku;   /* bands below and above the diagonal */
	int64_t count;    /* of the batch */
	double parameter; /* BLAS_ROTM: the last of five in host memory; the others are in alpha and beta */
	struct blas_scalar alpha, beta;
	struct blas_operand a, b, c, d, e;
	struct blas_epilogue epilogue;
};
