/* Level 1 functions of vectors with any element types. */
#include <string.h>

#include "blas/api/blas.h"

/* The type of the sums.  False: the types do not go together. */
static bool choose_execution(struct blas_job *j, cudaDataType x, cudaDataType y, cudaDataType execution)
{
	bool complex = x == CUDA_C_32F || x == CUDA_C_64F;

	j->type = execution;
	if (complex != (execution == CUDA_C_32F || execution == CUDA_C_64F) ||
		complex != (y == CUDA_C_32F || y == CUDA_C_64F))
		return false;
	if (execution == CUDA_R_64F || execution == CUDA_C_64F)
		return x == execution && y == execution;
	if (execution == CUDA_C_32F)
		return x == CUDA_C_32F && y == CUDA_C_32F;
	return execution == CUDA_R_32F && (x == CUDA_R_32F || x == CUDA_R_16F || x == CUDA_R_16BF) &&
	       (y == CUDA_R_32F || y == x);
}

static cudaDataType real_type(cudaDataType type)
{
	return type == CUDA_C_32F ? CUDA_R_32F : type == CUDA_C_64F ? CUDA_R_64F : type;
}

static cublasStatus_t submit_vectors(struct blas *h, struct blas_job job)
{
	if (job.n <= 0)
		return CUBLAS_STATUS_SUCCESS;
	return (job.b.at || job.routine == BLAS_SCAL) && job.c.at ? blas_submit(h, &job) : CUBLAS_STATUS_INVALID_VALUE;
}

static cublasStatus_t submit_reduction(struct blas *h, struct blas_job job, void *result, cudaDataType type)
{
	if (job.n <= 0) {
		job.n = 0;
		if (h->pointers == CUBLAS_POINTER_MODE_HOST) {
			memset(result, 0, job.wide ? 8 : blas_size_of(type));
			return CUBLAS_STATUS_SUCCESS;
		}
	}
	job.d.type = type;
	job.d.ld = 1;
	return blas_submit_result(h, &job, result, job.wide ? 8 : blas_size_of(type));
}

#define VECTORS .n = n, .b = blas_operand(x, incx, xt), .c = blas_operand(y, incy, yt), .count = 1

#define TWO_VECTORS(I, end) \
	BLAS_EXPORT cublasStatus_t cublasAxpyEx##end(cublasHandle_t h, I n, const void *alpha, cudaDataType at, \
		const void *x, cudaDataType xt, I incx, void *y, cudaDataType yt, I incy, cudaDataType execution) \
	{ \
		struct blas_job job = {VECTORS, .routine = BLAS_AXPY}; \
\
		BLAS_REQUIRE(h, alpha); \
		if (!choose_execution(&job, xt, yt, execution) || !blas_size_of(at)) \
			return CUBLAS_STATUS_NOT_SUPPORTED; \
		job.alpha = blas_scalar_of(h, alpha, at); \
		return submit_vectors(h, job); \
	} \
	BLAS_EXPORT cublasStatus_t cublasCopyEx##end( \
		cublasHandle_t h, I n, const void *x, cudaDataType xt, I incx, void *y, cudaDataType yt, I incy) \
	{ \
		struct blas_job job = {VECTORS, .routine = BLAS_COPY}; \
\
		BLAS_REQUIRE(h, true); \
		if (xt != yt || !choose_execution(&job, xt, yt, blas_size_of(xt) == 2 ? CUDA_R_32F : xt)) \
			return CUBLAS_STATUS_NOT_SUPPORTED; \
		return submit_vectors(h, job); \
	} \
	BLAS_EXPORT cublasStatus_t cublasSwapEx##end( \
		cublasHandle_t h, I n, void *x, cudaDataType xt, I incx, void *y, cudaDataType yt, I incy) \
	{ \
		struct blas_job job = {VECTORS, .routine = BLAS_SWAP}; \
\
		BLAS_REQUIRE(h, true); \
		if (xt != yt || !choose_execution(&job, xt, yt, blas_size_of(xt) == 2 ? CUDA_R_32F : xt)) \
			return CUBLAS_STATUS_NOT_SUPPORTED; \
		return submit_vectors(h, job); \
	} \
	BLAS_EXPORT cublasStatus_t cublasRotEx##end(cublasHandle_t h, I n, void *x, cudaDataType xt, I incx, void *y, \
		cudaDataType yt, I incy, const void *c, const void *s, cudaDataType cst, cudaDataType execution) \
	{ \
		struct blas_job job = {VECTORS, .routine = BLAS_ROT}; \
\
		BLAS_REQUIRE(h, c &&s); \
		if (xt != yt || !choose_execution(&job, xt, yt, execution) || !blas_size_of(cst)) \
			return CUBLAS_STATUS_NOT_SUPPORTED; \
		job.alpha = blas_scalar_of(h, c, real_type(cst)); \
		job.beta = blas_scalar_of(h, s, cst); \
		return submit_vectors(h, job); \
	}
TWO_VECTORS(int, )
TWO_VECTORS(int64_t, _64)

#define DOT_EX(name, I, conj) \
	BLAS_EXPORT cublasStatus_t name(cublasHandle_t h, I n, const void *x, cudaDataType xt, I incx, const void *y, \
		cudaDataType yt, I incy, void *result, cudaDataType rt, cudaDataType execution) \
	{ \
		struct blas_job job = {VECTORS, .routine = BLAS_DOT, .conjugate = conj}; \
\
		BLAS_REQUIRE(h, result); \
		if (xt != yt || rt != xt || !choose_execution(&job, xt, yt, execution)) \
			return CUBLAS_STATUS_NOT_SUPPORTED; \
		return submit_reduction(h, job, result, rt); \
	}

#define ONE_VECTOR(name, code, I) \
	BLAS_EXPORT cublasStatus_t name(cublasHandle_t h, I n_of, const void *x, cudaDataType xt, I incx, \
		void *result, cudaDataType rt, cudaDataType execution) \
	{ \
		struct blas_job job = {.routine = code, .n = n_of, .b = blas_operand(x, incx, xt), .count = 1}; \
		bool complex = xt == CUDA_C_32F || xt == CUDA_C_64F; \
\
		BLAS_REQUIRE(h, result); \
		/* Sums have the real type, the routine that of the elements. */ \
		if (rt != real_type(xt) || !choose_execution(&job, xt, xt, \
						   complex && execution == CUDA_R_32F   ? CUDA_C_32F \
						   : complex && execution == CUDA_R_64F ? CUDA_C_64F \
											: execution)) \
			return CUBLAS_STATUS_NOT_SUPPORTED; \
		return submit_reduction(h, job, result, rt); \
	}

#define EXTREME_EX(name, code, I) \
	BLAS_EXPORT cublasStatus_t name(cublasHandle_t h, I n_of, const void *x, cudaDataType xt, I incx, I *result) \
	{ \
		struct blas_job job = {.routine = code, \
			.n = n_of, \
			.b = blas_operand(x, incx, xt), \
			.count = 1, \
			.wide = sizeof(I) == 8}; \
\
		BLAS_REQUIRE(h, result); \
		if (!choose_execution(&job, xt, xt, blas_size_of(xt) == 2 ? CUDA_R_32F : xt)) \
			return CUBLAS_STATUS_NOT_SUPPORTED; \
		return submit_reduction(h, job, result, CUDA_R_32I); \
	}

#define REDUCTIONS(I, end) \
	DOT_EX(cublasDotEx##end, I, false) \
	DOT_EX(cublasDotcEx##end, I, true) \
	ONE_VECTOR(cublasNrm2Ex##end, BLAS_NRM2, I) \
	ONE_VECTOR(cublasAsumEx##end, BLAS_ASUM, I) \
	EXTREME_EX(cublasIamaxEx##end, BLAS_AMAX, I) \
	EXTREME_EX(cublasIaminEx##end, BLAS_AMIN, I) \
	BLAS_EXPORT cublasStatus_t cublasScalEx##end(cublasHandle_t h, I n_of, const void *alpha, cudaDataType at, \
		void *x, cudaDataType xt, I incx, cudaDataType execution) \
	{ \
		struct blas_job job = {.routine = BLAS_SCAL, .n = n_of, .c = blas_operand(x, incx, xt), .count = 1}; \
\
		BLAS_REQUIRE(h, alpha); \
		if (!choose_execution(&job, xt, xt, execution) || !blas_size_of(at)) \
			return CUBLAS_STATUS_NOT_SUPPORTED; \
		if (incx <= 0) \
			return CUBLAS_STATUS_SUCCESS; \
		job.alpha = blas_scalar_of(h, alpha, at); \
		return submit_vectors(h, job); \
	}
REDUCTIONS(int, )
REDUCTIONS(int64_t, _64)
