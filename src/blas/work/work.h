/*
 * work.h - the routines of cuBLAS on plain memory, inside the CPU device (libgangway-soft.so).
 *
 *	blas_work ─► check the job ─► the routine of its type (typed.h) ─► element by element, or products (product.h)
 *
 * Trust: the job is malicious until checked (job.h).  Addresses become pointers in memory.c only, which asks the driver
 * for the allocation behind each of them; sizes are limited so that products of them fit into 64 bits.
 */
#pragma once

#include <complex.h>
#include <stdatomic.h>

#include "abi/cuda.h"
#include "blas/job.h"

/* Functions of the driver. */
struct blas_host {
	void *arg;
	unsigned threads;
	/* Calls fn(data, i) for every i < n, on several threads.  fn must not call it again. */
	void (*parallel)(void *arg, uint64_t n, void (*fn)(void *data, uint64_t i), void *data);
	/* The allocation that contains addr, if kernels may access it. */
	bool (*accessible)(void *arg, uint64_t addr, uint64_t *base, uint64_t *size);
	/* Whether the work should end early, with an error; may be NULL. */
	bool (*stopped)(void *arg);
};

/* Variants for several processors, chosen at load time, which is too early for ThreadSanitizer. */
#if defined __SANITIZE_THREAD__ || !defined __x86_64__
#define FOR_EACH_CPU
#else
#define FOR_EACH_CPU __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#endif

/* Runs a job of `size` bytes.  An error becomes the error of the kernel. */
CUresult blas_work(const void *job, size_t size, const struct blas_host *host);

/* A running job. */
struct blas_run {
	const struct blas_job *job;
	const struct blas_host *host;
	bool serial;         /* already on one of several threads: do not divide the work further */
	_Atomic(int) *error; /* CUresult: the first error of any thread */
};

/* ---- memory.c: from addresses to pointers ---- */

void blas_fail(struct blas_run *r, CUresult error);
/* NULL: the bytes are not in memory that kernels may access; the run has failed. */
void *blas_bytes(struct blas_run *r, uint64_t at, uint64_t size);
/* Scratch memory, freed by the caller.  NULL: the run has failed. */
void *blas_scratch(struct blas_run *r, int64_t elements, size_t size);
/* The address of member i of a batch; 0: the run has failed. */
uint64_t blas_member(struct blas_run *r, const struct blas_operand *o, int64_t i);
/* Member i as a matrix of rows × cols elements in columns of ld.  NULL: the run has failed. */
void *blas_matrix(struct blas_run *r, const struct blas_operand *o, int64_t i, int64_t rows, int64_t cols);
/* alpha or beta; fails the run if it is in device memory that is not accessible. */
double complex blas_scalar_value(struct blas_run *r, const struct blas_scalar *s);
float blas_float_at(struct blas_run *r, uint64_t at); /* at 0: 1 */

/*
 * A vector as n contiguous elements of the computation's type: the client's memory itself if it has that form, else
 * a copy, which vector_close writes back.
 */
struct blas_vector {
	void *x; /* NULL: the run has failed */
	void *copy;
	unsigned char *first;
	int64_t n, step;
	uint32_t type, as;
};
struct blas_vector blas_vector_open(
	struct blas_run *r, const struct blas_operand *o, int64_t i, int64_t n, uint32_t type);
void blas_vector_close(struct blas_vector *v, bool write);

/* Whether the run has failed, or its context is ending: asked between the parts of long work. */
bool blas_stopped(struct blas_run *r);
/* Calls fn(data, i) for every i < n, on several threads unless the run is serial. */
void blas_each(struct blas_run *r, int64_t n, void (*fn)(void *data, uint64_t i), void *data);

/* ---- convert.c: element types ---- */

unsigned blas_type_size(uint32_t type); /* bytes; 0: unknown */
bool blas_type_complex(uint32_t type);
uint32_t blas_type_real(uint32_t type); /* of the parts of a complex number */
/* n numbers, `step` numbers apart in `from`; parts of complex numbers count as numbers. */
void blas_read_s(float *to, const void *from, uint32_t type, int64_t step, int64_t n);
void blas_read_d(double *to, const void *from, uint32_t type, int64_t step, int64_t n);
void blas_write_s(void *to, uint32_t type, int64_t step, const float *from, int64_t n);
void blas_write_d(void *to, uint32_t type, int64_t step, const double *from, int64_t n);

/* ---- product/: D = alpha op(A) op(B) + beta C, column-major ---- */

enum blas_part { BLAS_WHOLE, BLAS_LOWER, BLAS_UPPER };

struct blas_product {
	int64_t m, n, k;
	cublasOperation_t ta, tb;
	const void *a, *b, *c;
	void *d;
	int64_t lda, ldb, ldc, ldd;
	uint32_t type_a, type_b, type_c, type_d;
	double complex alpha, beta;
	enum blas_part part;             /* the elements of D that are written */
	bool real_diagonal;              /* of D, a Hermitian matrix */
	const struct epilogue *epilogue; /* or NULL */
};

/* With sums in float or double; complex if A is.  Fails the run if there is no memory. */
void blas_product_s(struct blas_run *r, const struct blas_product *p);
void blas_product_d(struct blas_run *r, const struct blas_product *p);

/* ---- epilogue.c: the changes that cublasLt makes to the columns of D ---- */

struct epilogue {
	uint32_t kind;
	bool by_column; /* the bias belongs to columns of D, and vectors of scalars, too */
	const void *bias;
	uint32_t bias_type;
	int64_t bias_rows;
	float *gradient; /* of the bias: D before its conversion; owned */
	int64_t gradient_ld;
	void *aux;
	uint32_t aux_type;
	int64_t aux_ld;
	float scale, scale_c, scale_d, scale_aux;
	const float *scale_rows, *scale_cols; /* of the product, or NULL */
	const float *alpha, *beta;            /* vectors by row (by_column: by column), or NULL */
	_Atomic(uint32_t) *amax_d, *amax_aux; /* bits of a float that is not negative */
};

/* Rows i .. i + n of column j of D, from sums in v and the elements of C (NULL: beta is 0). */
void blas_epilogue_column(const struct blas_product *p, float *v, const float *c, int64_t i, int64_t j, int64_t n);
/* Resolve the epilogue of member i of a batch.  False: the run has failed. */
bool blas_epilogue_open(struct blas_run *r, struct epilogue *e, int64_t i);
/* Write the gradients of the bias, and free what open allocated. */
void blas_epilogue_close(const struct blas_product *p);

/* ---- the routines, by type ---- */

typedef void blas_routine(struct blas_run *r);
extern blas_routine *const blas_routines_s[BLAS_ROUTINES], *const blas_routines_d[BLAS_ROUTINES],
								   *const blas_routines_c[BLAS_ROUTINES],
									   *const blas_routines_z[BLAS_ROUTINES];
void blas_gemm(struct blas_run *r);      /* gemm.c */
void blas_transform(struct blas_run *r); /* gemm.c */
