/* Heuristics and algorithms: there is one algorithm, for every product that lt_describe accepts. */
#include <stdlib.h>
#include <string.h>

#include "blas/lt/lt.h"

static void algorithm_make(struct lt_algorithm *a)
{
	*a = (struct lt_algorithm){.magic = LT_ALGORITHM, .splits = 1};
}

static cublasStatus_t describe_heuristic(const struct lt_matmul *op, const struct lt_layout *a,
	const struct lt_layout *b, const struct lt_layout *c, const struct lt_layout *d, struct lt_heuristic *result)
{
	struct lt_product p = {.op = op, .layout_a = a, .layout_b = b, .layout_c = c, .layout_d = d};
	struct blas_job job;
	cublasStatus_t r = lt_describe(&p, &job);

	memset(result, 0, sizeof *result);
	result->state = r;
	result->waves = 1;
	algorithm_make((struct lt_algorithm *)result->algorithm);
	return r;
}

BLAS_EXPORT cublasStatus_t cublasLtMatmulAlgoGetHeuristic(struct blas *h, const struct lt_matmul *op,
	const struct lt_layout *a, const struct lt_layout *b, const struct lt_layout *c, const struct lt_layout *d,
	const struct lt_preference *preference, int wanted, struct lt_heuristic *results, int *found)
{
	cublasStatus_t r;

	BLAS_REQUIRE(h, op && a && b && c && d && preference && wanted > 0 && results && found);
	*found = 0;
	r = describe_heuristic(op, a, b, c, d, results);
	*found = !r;
	return r;
}

BLAS_EXPORT cublasStatus_t cublasLtMatmulAlgoGetHeuristicForStream(struct blas *h, const struct lt_matmul *op,
	const struct lt_layout *a, const struct lt_layout *b, const struct lt_layout *c, const struct lt_layout *d,
	const struct lt_preference *preference, int wanted, struct lt_heuristic *results, int *found, CUstream stream)
{
	(void)stream;
	return cublasLtMatmulAlgoGetHeuristic(h, op, a, b, c, d, preference, wanted, results, found);
}

BLAS_EXPORT cublasStatus_t cublasLtMatmulAlgoCheck(struct blas *h, const struct lt_matmul *op,
	const struct lt_layout *a, const struct lt_layout *b, const struct lt_layout *c, const struct lt_layout *d,
	const struct lt_algorithm *algorithm, struct lt_heuristic *result)
{
	struct lt_algorithm kept;
	cublasStatus_t r;

	BLAS_REQUIRE(h, op && a && b && c && d && algorithm && result && algorithm->magic == LT_ALGORITHM);
	kept = *algorithm; /* it may be in the result */
	r = describe_heuristic(op, a, b, c, d, result);
	memcpy(result->algorithm, &kept, sizeof kept);
	return r;
}

BLAS_EXPORT cublasStatus_t cublasLtMatmulAlgoCheckForStream(struct blas *h, const struct lt_matmul *op,
	const struct lt_layout *a, const struct lt_layout *b, const struct lt_layout *c, const struct lt_layout *d,
	const struct lt_algorithm *algorithm, struct lt_heuristic *result, CUstream stream)
{
	(void)stream;
	return cublasLtMatmulAlgoCheck(h, op, a, b, c, d, algorithm, result);
}

BLAS_EXPORT cublasStatus_t cublasLtMatmulAlgoGetIds(struct blas *h, cublasComputeType_t compute, cudaDataType scale,
	cudaDataType a, cudaDataType b, cudaDataType c, cudaDataType d, int wanted, int *ids, int *found)
{
	(void)compute;
	(void)scale;
	(void)a;
	(void)b;
	(void)c;
	(void)d;
	BLAS_REQUIRE(h, wanted > 0 && ids && found);
	ids[0] = 0;
	*found = 1;
	return CUBLAS_STATUS_SUCCESS;
}

BLAS_EXPORT cublasStatus_t cublasLtMatmulAlgoInit(struct blas *h, cublasComputeType_t compute, cudaDataType scale,
	cudaDataType a, cudaDataType b, cudaDataType c, cudaDataType d, int id, struct lt_algorithm *algorithm)
{
	(void)compute;
	(void)scale;
	(void)a;
	(void)b;
	(void)c;
	(void)d;
	BLAS_REQUIRE(h, algorithm && !id);
	algorithm_make(algorithm);
	return CUBLAS_STATUS_SUCCESS;
}

/* ---- what the algorithm can do ---- */

struct capabilities {
	int32_t none, one;
	uint32_t no_mask, pointer_modes, epilogues, alignment;
	uint64_t flags;
};
static const struct capabilities capabilities = {
	.one = 1,
	.pointer_modes = 31,
	.epilogues = LT_DEFAULT | LT_RELU | LT_BIAS | LT_DRELU | LT_BGRAD | LT_GELU | LT_DGELU | LT_AUX | LT_BGRADA |
		     LT_BGRADB,
	.alignment = 1,
};

#define CAPABILITY(id, member, bytes) \
	{id, offsetof(struct capabilities, member), sizeof(((struct capabilities *)0)->member), bytes}
static const struct lt_attribute capability_attributes[] = {
	CAPABILITY(0, none, 4),
	CAPABILITY(1, no_mask, 4),
	CAPABILITY(2, no_mask, 4),
	CAPABILITY(3, one, 4),
	CAPABILITY(4, one, 4),
	CAPABILITY(5, none, 4),
	CAPABILITY(7, none, 4),
	CAPABILITY(10, none, 4),
	CAPABILITY(11, pointer_modes, 4),
	CAPABILITY(12, epilogues, 4),
	CAPABILITY(14, none, 4),
	CAPABILITY(15, flags, 8),
	CAPABILITY(16, alignment, 4),
	CAPABILITY(17, alignment, 4),
	CAPABILITY(18, alignment, 4),
	CAPABILITY(19, alignment, 4),
	CAPABILITY(21, one, 4),
	CAPABILITY(22, none, 4),
	CAPABILITY(23, none, 4),
};

enum { CAPABILITY_TILES = 6, CAPABILITY_STAGES = 13 };

BLAS_EXPORT cublasStatus_t cublasLtMatmulAlgoCapGetAttribute(
	const struct lt_algorithm *algorithm, int id, void *to, size_t size, size_t *written)
{
	if (!algorithm || algorithm->magic != LT_ALGORITHM)
		return CUBLAS_STATUS_INVALID_VALUE;
	if (id == CAPABILITY_TILES || id == CAPABILITY_STAGES) { /* lists: empty */
		if (written)
			*written = 0;
		return CUBLAS_STATUS_SUCCESS;
	}
	return lt_get(capability_attributes, sizeof capability_attributes / sizeof *capability_attributes,
		&capabilities, id, to, size, written);
}

#define CONFIG(id, member, bytes) \
	{id, offsetof(struct lt_algorithm, member), sizeof(((struct lt_algorithm *)0)->member), bytes}
static const struct lt_attribute config_attributes[] = {
	CONFIG(0, id, 4),
	CONFIG(1, tile, 4),
	CONFIG(2, splits, 4),
	CONFIG(3, reduction, 4),
	CONFIG(4, swizzling, 4),
	CONFIG(5, custom, 4),
	CONFIG(6, stages, 4),
	CONFIG(7, inner, 2),
	CONFIG(8, cluster, 2),
};

BLAS_EXPORT cublasStatus_t cublasLtMatmulAlgoConfigSetAttribute(
	struct lt_algorithm *algorithm, int id, const void *from, size_t size)
{
	if (!algorithm || algorithm->magic != LT_ALGORITHM || !id)
		return CUBLAS_STATUS_INVALID_VALUE;
	return lt_set(
		config_attributes, sizeof config_attributes / sizeof *config_attributes, algorithm, id, from, size);
}

BLAS_EXPORT cublasStatus_t cublasLtMatmulAlgoConfigGetAttribute(
	const struct lt_algorithm *algorithm, int id, void *to, size_t size, size_t *written)
{
	if (!algorithm || algorithm->magic != LT_ALGORITHM)
		return CUBLAS_STATUS_INVALID_VALUE;
	return lt_get(config_attributes, sizeof config_attributes / sizeof *config_attributes, algorithm, id, to, size,
		written);
}
