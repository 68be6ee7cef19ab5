/*
 * lt.h - cublasLt for the CPU device: descriptors, and products described by them.
 *
 *	descriptor.c	attributes of descriptors, by tables
 *	matmul.c	cublasLtMatmul: descriptors ─► struct blas_job
 *	algorithm.c	heuristics: there is one algorithm, and it suits every product that is supported
 *	transform.c	cublasLtMatrixTransform
 *	library.c	handles, versions, the logger
 *
 * Programs may keep descriptors in memory of their own, of the sizes in the vendor's header: those of its release 12.1 are
 * the smallest.
 */
#pragma once

#include "blas/api/blas.h"
#include "blas/lt/lt_values.h"

/* Orders of elements; others are not supported. */
enum { LT_COLUMNS = 0, LT_ROWS = 1 };

enum { LT_STRIDED = 0, LT_POINTERS = 1 };

/* cublasLtPointerMode_t beyond cublasPointerMode_t. */
enum { LT_VECTORS = 2, LT_ALPHA_VECTOR_BETA_ZERO = 3, LT_ALPHA_VECTOR_BETA_HOST = 4 };

struct lt_layout {
	uint64_t rows, cols;
	int64_t ld, stride, plane;
	int32_t type, order, count, batch_mode;
};

struct lt_matmul {
	uint64_t bias, aux, scale_a, scale_b, scale_c, scale_d, scale_aux, scale_out, amax_d, amax_aux, emulation;
	int64_t bias_stride, aux_ld, aux_stride, alpha_vector_stride, alpha_stride, beta_stride;
	int32_t compute, scale, pointers, epilogue, sms, bias_type, aux_type;
	int16_t batch_invariance;
	int8_t op_a, op_b, op_c, fill, fast;
	int8_t mode_a, mode_b, mode_c, mode_d, mode_aux, mode_out;
};

struct lt_transform {
	int32_t scale, pointers, op_a, op_b;
};

struct lt_preference {
	uint64_t workspace, implementations;
	uint32_t search, reductions, align_a, align_b, align_c, align_d, average[3];
	float waves;
};

/* An algorithm: its settings are kept, but change nothing. */
struct lt_algorithm {
	uint32_t magic; /* LT_ALGORITHM: made by this library */
	int32_t id, splits;
	uint32_t tile, reduction, swizzling, custom, stages;
	uint16_t inner, cluster;
};
#define LT_ALGORITHM 0x67776c74

_Static_assert(sizeof(struct lt_layout) <= 64, "the vendor's descriptors have 64 bytes");
_Static_assert(sizeof(struct lt_matmul) <= 256, "the vendor's descriptors have 256 bytes");
_Static_assert(sizeof(struct lt_transform) <= 64, "the vendor's descriptors have 64 bytes");
_Static_assert(sizeof(struct lt_preference) <= 64, "the vendor's descriptors have 64 bytes");
_Static_assert(sizeof(struct lt_algorithm) <= 64, "the vendor's descriptors have 64 bytes");

struct lt_heuristic {
	uint64_t algorithm[8];
	size_t workspace;
	cublasStatus_t state;
	float waves;
	int reserved[4];
};

/* The operands of a product, as in cublasLtMatmul. */
struct lt_product {
	const struct lt_matmul *op;
	const void *alpha, *a, *b, *beta, *c;
	void *d;
	const struct lt_layout *layout_a, *layout_b, *layout_c, *layout_d;
};

/*
 * Describes a product as a job.  INVALID_VALUE: sizes do not go together; NOT_SUPPORTED: types or settings that are not
 * implemented.  With alpha NULL only the descriptors are checked.
 */
cublasStatus_t lt_describe(const struct lt_product *p, struct blas_job *job);

/* Sets `set` to true if `n` bytes at the attribute `id` exist; see descriptor.c. */
struct lt_attribute {
	int id;
	uint16_t offset, size; /* in the struct */
	uint16_t public_size;  /* of the value that programs pass; a smaller member is cut off */
};
cublasStatus_t lt_set(const struct lt_attribute *table, size_t n, void *to, int id, const void *from, size_t size);
cublasStatus_t lt_get(
	const struct lt_attribute *table, size_t n, const void *from, int id, void *to, size_t size, size_t *written);
