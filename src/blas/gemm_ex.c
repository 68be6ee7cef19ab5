/* GemmEx and its batched forms: products of matrices with different element types. */
#include "blas/blas.h"

#include <stdlib.h>
#include <string.h>

cublasStatus_t blas_check_gemm(const struct blas *h, const struct blas_gemm *g)
{
	int64_t rows_a = g->ta == CUBLAS_OP_N ? g->m : g->k, rows_b = g->tb == CUBLAS_OP_N ? g->k : g->n;

	if (!h)
		return CUBLAS_STATUS_NOT_INITIALIZED;
	if (g->m < 0 || g->n < 0 || g->k < 0 || g->count < 0 || (unsigned)g->ta > CUBLAS_OP_C ||
		(unsigned)g->tb > CUBLAS_OP_C)
		return CUBLAS_STATUS_INVALID_VALUE;
	if (g->lda < (rows_a > 1 ? rows_a : 1) || g->ldb < (rows_b > 1 ? rows_b : 1) || g->ldc < (g->m > 1 ? g->m : 1))
		return CUBLAS_STATUS_INVALID_VALUE;
	if (g->m && g->n && g->count && (!g->c || (g->k && (!g->a || !g->b))))
		return CUBLAS_STATUS_INVALID_VALUE;
	return CUBLAS_STATUS_SUCCESS;
}

static unsigned element_size(cudaDataType type)
{
	return type == CUDA_R_64F ? 8 : type == CUDA_R_32F || type == CUDA_R_32I ? 4 : type == CUDA_R_8I ? 1 : 2;
}

static float bf16_to_float(uint16_t h)
{
	uint32_t u = (uint32_t)h << 16;
	float f;

	memcpy(&f, &u, sizeof f);
	return f;
}

/* Rounds to nearest even. */
static uint16_t float_to_bf16(float f)
{
	uint32_t u;

	memcpy(&u, &f, sizeof u);
	return f != f ? 0x7fff : (uint16_t)((u + 0x7fff + (u >> 16 & 1)) >> 16);
}

static double read_element(const void *p, cudaDataType type, int64_t i)
{
	switch (type) {
	case CUDA_R_64F:
		return ((const double *)p)[i];
	case CUDA_R_32F:
		return ((const float *)p)[i];
	case CUDA_R_32I:
		return ((const int32_t *)p)[i];
	case CUDA_R_8I:
		return ((const int8_t *)p)[i];
	case CUDA_R_16BF:
		return bf16_to_float(((const uint16_t *)p)[i]);
	default:
		return (double)((const _Float16 *)p)[i];
	}
}

static void write_element(void *p, cudaDataType type, int64_t i, double v)
{
	switch (type) {
	case CUDA_R_64F:
		((double *)p)[i] = v;
		break;
	case CUDA_R_32F:
		((float *)p)[i] = (float)v;
		break;
	case CUDA_R_32I:
		((int32_t *)p)[i] = (int32_t)(int64_t)v;
		break;
	case CUDA_R_16BF:
		((uint16_t *)p)[i] = float_to_bf16((float)v);
		break;
	default:
		((_Float16 *)p)[i] = (_Float16)v;
	}
}

/*
 * The matrices are converted to float, or to double if float cannot hold the sums, multiplied and converted back.  alpha
 * and beta have the type of the sums.
 */
struct gemm_ex {
	struct blas_gemm g;
	bool wide;           /* double */
	cudaDataType scalar; /* of alpha and beta */
};

static void convert_matrix(
	const struct gemm_ex *e, const void *from, cudaDataType type, int64_t ld, int64_t rows, int64_t cols, void *to)
{
	for (int64_t j = 0; j < cols; j++)
		for (int64_t i = 0; i < rows; i++) {
			double v = read_element(from, type, j * ld + i);

			if (e->wide)
				((double *)to)[j * rows + i] = v;
			else
				((float *)to)[j * rows + i] = (float)v;
		}
}

static void multiply_converted(const struct gemm_ex *e, const void *a, const void *b, void *c)
{
	const struct blas_gemm *g = &e->g;
	int64_t rows_a = g->ta == CUBLAS_OP_N ? g->m : g->k, cols_a = g->ta == CUBLAS_OP_N ? g->k : g->m;
	int64_t rows_b = g->tb == CUBLAS_OP_N ? g->k : g->n, cols_b = g->tb == CUBLAS_OP_N ? g->n : g->k;
	size_t size = e->wide ? 8 : 4;
	char *all = malloc(((size_t)(rows_a * cols_a) + (size_t)(rows_b * cols_b) + (size_t)(g->m * g->n)) * size + 1);
	char *fb, *fc;
	double alpha = read_element(blas_value(&g->alpha), e->scalar, 0),
	       beta = read_element(blas_value(&g->beta), e->scalar, 0);
	float alpha_f = (float)alpha, beta_f = (float)beta;
	struct blas_product p;

	if (!all)
		abort(); /* out of memory, and a host function cannot report errors */
	fb = all + (size_t)(rows_a * cols_a) * size;
	fc = fb + (size_t)(rows_b * cols_b) * size;
	convert_matrix(e, a, g->type_a, g->lda, rows_a, cols_a, all);
	convert_matrix(e, b, g->type_b, g->ldb, rows_b, cols_b, fb);
	if (beta != 0)
		convert_matrix(e, c, g->type_c, g->ldc, g->m, g->n, fc);
	p = (struct blas_product){g->ta, g->tb, g->m, g->n, g->k, all, fb, fc, rows_a, rows_b, g->m};
	p.lda = p.lda ? p.lda : 1;
	p.ldb = p.ldb ? p.ldb : 1;
	if (e->wide)
		blas_gemm_d(&p, &alpha, &beta);
	else
		blas_gemm_s(&p, &alpha_f, &beta_f);
	for (int64_t j = 0; j < g->n; j++)
		for (int64_t i = 0; i < g->m; i++)
			write_element(c, g->type_c, j * g->ldc + i,
				e->wide ? ((double *)fc)[j * g->m + i] : ((float *)fc)[j * g->m + i]);
	free(all);
}

static const void *batch_matrix(const void *p, bool pointers, int64_t i, int64_t stride, cudaDataType type)
{
	return pointers ? ((const void *const *)p)[i] : (const char *)p + i * stride * element_size(type);
}

static void gemm_ex(const void *args)
{
	const struct gemm_ex *e = args;
	const struct blas_gemm *g = &e->g;

	for (int64_t i = 0; i < g->count; i++)
		multiply_converted(e, batch_matrix(g->a, g->pointers, i, g->stride_a, g->type_a),
			batch_matrix(g->b, g->pointers, i, g->stride_b, g->type_b),
			(void *)(uintptr_t)batch_matrix(g->c, g->pointers, i, g->stride_c, g->type_c));
}

static bool type_is_float(cudaDataType type)
{
	return type == CUDA_R_32F || type == CUDA_R_16F || type == CUDA_R_16BF;
}

/* Checks that the matrix types are valid for the compute type, and sets `wide` and `scalar`. */
static bool choose_compute_type(struct gemm_ex *e, cublasComputeType_t compute)
{
	const struct blas_gemm *g = &e->g;

	switch (compute) {
	case CUBLAS_COMPUTE_16F:
	case CUBLAS_COMPUTE_16F_PEDANTIC:
		e->scalar = CUDA_R_16F;
		return g->type_a == CUDA_R_16F && g->type_b == CUDA_R_16F && g->type_c == CUDA_R_16F;
	case CUBLAS_COMPUTE_32F:
	case CUBLAS_COMPUTE_32F_PEDANTIC:
	case CUBLAS_COMPUTE_32F_FAST_16F:
	case CUBLAS_COMPUTE_32F_FAST_16BF:
	case CUBLAS_COMPUTE_32F_FAST_TF32:
		e->scalar = CUDA_R_32F;
		return g->type_a == g->type_b && type_is_float(g->type_c) &&
		       (type_is_float(g->type_a) || g->type_a == CUDA_R_8I);
	case CUBLAS_COMPUTE_64F:
	case CUBLAS_COMPUTE_64F_PEDANTIC:
		e->scalar = CUDA_R_64F;
		e->wide = true;
		return g->type_a == CUDA_R_64F && g->type_b == CUDA_R_64F && g->type_c == CUDA_R_64F;
	case CUBLAS_COMPUTE_32I:
	case CUBLAS_COMPUTE_32I_PEDANTIC:
		e->scalar = CUDA_R_32I;
		e->wide = true; /* double holds every 32-bit sum exactly */
		return g->type_a == CUDA_R_8I && g->type_b == CUDA_R_8I && g->type_c == CUDA_R_32I;
	default:
		return false;
	}
}

static cublasStatus_t queue_gemm_ex(
	struct blas *h, struct blas_gemm g, cublasComputeType_t compute, const void *alpha, const void *beta)
{
	struct gemm_ex e = {.g = g};
	cublasStatus_t r = blas_check_gemm(h, &g);

	if (r)
		return r;
	if (!alpha || !beta)
		return CUBLAS_STATUS_INVALID_VALUE;
	if (!choose_compute_type(&e, compute))
		return CUBLAS_STATUS_NOT_SUPPORTED;
	e.g.alpha = blas_scalar(h, alpha, element_size(e.scalar));
	e.g.beta = blas_scalar(h, beta, element_size(e.scalar));
	return g.m && g.n && g.count ? blas_queue(h, gemm_ex, &e, sizeof e, false) : CUBLAS_STATUS_SUCCESS;
}

#define EX(I, end) \
	BLAS_EXPORT cublasStatus_t cublasGemmEx##end(cublasHandle_t h, cublasOperation_t ta, cublasOperation_t tb, \
		I m, I n, I k, const void *alpha, const void *a, cudaDataType at, I lda, const void *b, \
		cudaDataType bt, I ldb, const void *beta, void *c, cudaDataType ct, I ldc, \
		cublasComputeType_t compute, int algorithm) \
	{ \
		(void)algorithm; \
		return queue_gemm_ex(h, \
			(struct blas_gemm){BLAS_GEMM_MATRICES, .count = 1, .type_a = at, .type_b = bt, .type_c = ct}, \
			compute, alpha, beta); \
	} \
	BLAS_EXPORT cublasStatus_t cublasGemmStridedBatchedEx##end(cublasHandle_t h, cublasOperation_t ta, \
		cublasOperation_t tb, I m, I n, I k, const void *alpha, const void *a, cudaDataType at, I lda, \
		long long sa, const void *b, cudaDataType bt, I ldb, long long sb, const void *beta, void *c, \
		cudaDataType ct, I ldc, long long sc, I count, cublasComputeType_t compute, int algorithm) \
	{ \
		(void)algorithm; \
		return queue_gemm_ex(h, \
			(struct blas_gemm){BLAS_GEMM_MATRICES, .count = count, .stride_a = sa, .stride_b = sb, \
				.stride_c = sc, .type_a = at, .type_b = bt, .type_c = ct}, \
			compute, alpha, beta); \
	} \
	BLAS_EXPORT cublasStatus_t cublasGemmBatchedEx##end(cublasHandle_t h, cublasOperation_t ta, \
		cublasOperation_t tb, I m, I n, I k, const void *alpha, const void *const *a, cudaDataType at, I lda, \
		const void *const *b, cudaDataType bt, I ldb, const void *beta, void *const *c, cudaDataType ct, \
		I ldc, I count, cublasComputeType_t compute, int algorithm) \
	{ \
		(void)algorithm; \
		return queue_gemm_ex(h, \
			(struct blas_gemm){BLAS_GEMM_MATRICES, .count = count, .pointers = true, .type_a = at, \
				.type_b = bt, .type_c = ct}, \
			compute, alpha, beta); \
	}
EX(int, )
EX(int64_t, _64)
