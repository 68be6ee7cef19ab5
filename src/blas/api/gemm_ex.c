/* Products of matrices with different element types. */
#include "blas/api/blas.h"

/* ---- which types go together: the vendor's tables ---- */

static bool type_is_float(cudaDataType type)
{
	return type == CUDA_R_32F || type == CUDA_R_16F || type == CUDA_R_16BF;
}

static bool type_is_fp8(cudaDataType type)
{
	return type == CUDA_R_8F_E4M3 || type == CUDA_R_8F_E5M2;
}

static bool types_for_float(cudaDataType a, cudaDataType b, cudaDataType c)
{
	if (type_is_fp8(a) && type_is_fp8(b))
		return type_is_float(c) || type_is_fp8(c);
	if (a != b)
		return false;
	if (a == CUDA_C_32F || a == CUDA_C_8I)
		return c == CUDA_C_32F;
	return (type_is_float(a) && type_is_float(c)) || (a == CUDA_R_8I && c == CUDA_R_32F);
}

/* Sets the type of the sums and of alpha and beta.  False: the combination does not exist. */
static bool choose_types(struct blas_job *j, cublasComputeType_t compute, cudaDataType *scalar)
{
	cudaDataType a = j->a.type, b = j->b.type, c = j->c.type;

	switch (compute) {
	case CUBLAS_COMPUTE_16F:
	case CUBLAS_COMPUTE_16F_PEDANTIC:
		j->type = CUDA_R_32F;
		*scalar = CUDA_R_16F;
		return a == CUDA_R_16F && b == CUDA_R_16F && c == CUDA_R_16F;
	case CUBLAS_COMPUTE_32F:
	case CUBLAS_COMPUTE_32F_PEDANTIC:
	case CUBLAS_COMPUTE_32F_FAST_16F:
	case CUBLAS_COMPUTE_32F_FAST_16BF:
	case CUBLAS_COMPUTE_32F_FAST_TF32:
	case CUBLAS_COMPUTE_32F_EMULATED_16BFX9:
		*scalar = j->type = c == CUDA_C_32F ? CUDA_C_32F : CUDA_R_32F;
		return types_for_float(a, b, c);
	case CUBLAS_COMPUTE_64F:
	case CUBLAS_COMPUTE_64F_PEDANTIC:
	case CUBLAS_COMPUTE_64F_EMULATED_FIXEDPOINT:
		*scalar = j->type = c == CUDA_C_64F ? CUDA_C_64F : CUDA_R_64F;
		return a == *scalar && b == *scalar && c == *scalar;
	case CUBLAS_COMPUTE_32I:
	case CUBLAS_COMPUTE_32I_PEDANTIC:
		j->type = CUDA_R_64F; /* double holds every 32-bit sum exactly */
		*scalar = CUDA_R_32I;
		return a == CUDA_R_8I && b == CUDA_R_8I && c == CUDA_R_32I;
	default:
		return false;
	}
}

static cublasStatus_t submit_gemm_ex(struct blas *h, struct blas_job job, cublasOperation_t ta, cublasOperation_t tb,
	cublasComputeType_t compute, const void *alpha, const void *beta)
{
	cudaDataType scalar;

	BLAS_REQUIRE(h, true);
	if (!choose_types(&job, compute, &scalar))
		return CUBLAS_STATUS_NOT_SUPPORTED;
	return blas_submit_gemm(h, &job, ta, tb, alpha, beta, scalar);
}

#define SIZES .op_a = ta, .op_b = tb, .m = m, .n = n, .k = k

#define EX(I, end) \
	BLAS_EXPORT cublasStatus_t cublasGemmEx##end(cublasHandle_t h, cublasOperation_t ta, cublasOperation_t tb, \
		I m, I n, I k, const void *alpha, const void *a, cudaDataType at, I lda, const void *b, \
		cudaDataType bt, I ldb, const void *beta, void *c, cudaDataType ct, I ldc, \
		cublasComputeType_t compute, int algorithm) \
	{ \
		(void)algorithm; \
		return submit_gemm_ex(h, \
			(struct blas_job){SIZES, .count = 1, .a = blas_operand(a, lda, at), \
				.b = blas_operand(b, ldb, bt), .c = blas_operand(c, ldc, ct)}, \
			ta, tb, compute, alpha, beta); \
	} \
	BLAS_EXPORT cublasStatus_t cublasGemmStridedBatchedEx##end(cublasHandle_t h, cublasOperation_t ta, \
		cublasOperation_t tb, I m, I n, I k, const void *alpha, const void *a, cudaDataType at, I lda, \
		long long sa, const void *b, cudaDataType bt, I ldb, long long sb, const void *beta, void *c, \
		cudaDataType ct, I ldc, long long sc, I count_of, cublasComputeType_t compute, int algorithm) \
	{ \
		(void)algorithm; \
		return submit_gemm_ex(h, \
			(struct blas_job){SIZES, .count = count_of, .a = blas_strided(a, lda, at, sa), \
				.b = blas_strided(b, ldb, bt, sb), .c = blas_strided(c, ldc, ct, sc)}, \
			ta, tb, compute, alpha, beta); \
	} \
	BLAS_EXPORT cublasStatus_t cublasGemmBatchedEx##end(cublasHandle_t h, cublasOperation_t ta, \
		cublasOperation_t tb, I m, I n, I k, const void *alpha, const void *const *a, cudaDataType at, I lda, \
		const void *const *b, cudaDataType bt, I ldb, const void *beta, void *const *c, cudaDataType ct, \
		I ldc, I count_of, cublasComputeType_t compute, int algorithm) \
	{ \
		(void)algorithm; \
		return submit_gemm_ex(h, \
			(struct blas_job){SIZES, .count = count_of, .a = blas_array(a, lda, at), \
				.b = blas_array(b, ldb, bt), .c = blas_array(c, ldc, ct)}, \
			ta, tb, compute, alpha, beta); \
	} \
	BLAS_EXPORT cublasStatus_t cublasGemmGroupedBatchedEx##end(cublasHandle_t h, const cublasOperation_t *ta, \
		const cublasOperation_t *tb, const I *m, const I *n, const I *k, const void *alpha, \
		const void *const *a, cudaDataType at, const I *lda, const void *const *b, cudaDataType bt, \
		const I *ldb, const void *beta, void *const *c, cudaDataType ct, const I *ldc, I groups, \
		const I *sizes, cublasComputeType_t compute) \
	{ \
		struct blas_job job = {.a.type = at, .b.type = bt, .c.type = ct}; \
		cudaDataType scalar; \
\
		BLAS_REQUIRE(h, groups >= 0 && (!groups || (ta && tb && m && n && k && alpha && beta && sizes))); \
		if (!choose_types(&job, compute, &scalar)) \
			return CUBLAS_STATUS_NOT_SUPPORTED; \
		for (I g = 0, first = 0; g < groups; first += sizes[g++]) { \
			size_t at_g = (size_t)g * blas_size_of(scalar); \
			cublasStatus_t r = submit_gemm_ex(h, \
				(struct blas_job){.op_a = ta[g], \
					.op_b = tb[g], \
					.m = m[g], \
					.n = n[g], \
					.k = k[g], \
					.count = sizes[g], \
					.a = blas_array(a + first, lda[g], at), \
					.b = blas_array(b + first, ldb[g], bt), \
					.c = blas_array(c + first, ldc[g], ct)}, \
				ta[g], tb[g], compute, (const char *)alpha + at_g, (const char *)beta + at_g); \
			if (r) \
				return r; \
		} \
		return CUBLAS_STATUS_SUCCESS; \
	}
EX(int, )
EX(int64_t, _64)

/* ---- SgemmEx, CgemmEx and the 3m forms, whose alpha and beta have a fixed type ---- */

#define TYPED_EX(name, I, T, compute) \
	BLAS_EXPORT cublasStatus_t name(cublasHandle_t h, cublasOperation_t ta, cublasOperation_t tb, I m, I n, I k, \
		const T *alpha, const void *a, cudaDataType at, I lda, const void *b, cudaDataType bt, I ldb, \
		const T *beta, void *c, cudaDataType ct, I ldc) \
	{ \
		return submit_gemm_ex(h, \
			(struct blas_job){SIZES, .count = 1, .a = blas_operand(a, lda, at), \
				.b = blas_operand(b, ldb, bt), .c = blas_operand(c, ldc, ct)}, \
			ta, tb, compute, alpha, beta); \
	}
TYPED_EX(cublasSgemmEx, int, float, CUBLAS_COMPUTE_32F)
TYPED_EX(cublasSgemmEx_64, int64_t, float, CUBLAS_COMPUTE_32F)
TYPED_EX(cublasCgemmEx, int, float _Complex, CUBLAS_COMPUTE_32F)
TYPED_EX(cublasCgemmEx_64, int64_t, float _Complex, CUBLAS_COMPUTE_32F)
TYPED_EX(cublasCgemm3mEx, int, float _Complex, CUBLAS_COMPUTE_32F)
TYPED_EX(cublasCgemm3mEx_64, int64_t, float _Complex, CUBLAS_COMPUTE_32F)

/* ---- half precision: alpha and beta are halves, too ---- */

#define HALF(I, end) \
	BLAS_EXPORT cublasStatus_t cublasHgemm##end(cublasHandle_t h, cublasOperation_t ta, cublasOperation_t tb, I m, \
		I n, I k, const void *alpha, const void *a, I lda, const void *b, I ldb, const void *beta, void *c, \
		I ldc) \
	{ \
		return cublasGemmEx##end(h, ta, tb, m, n, k, alpha, a, CUDA_R_16F, lda, b, CUDA_R_16F, ldb, beta, c, \
			CUDA_R_16F, ldc, CUBLAS_COMPUTE_16F, 0); \
	} \
	BLAS_EXPORT cublasStatus_t cublasHgemmBatched##end(cublasHandle_t h, cublasOperation_t ta, \
		cublasOperation_t tb, I m, I n, I k, const void *alpha, const void *const *a, I lda, \
		const void *const *b, I ldb, const void *beta, void *const *c, I ldc, I count) \
	{ \
		return cublasGemmBatchedEx##end(h, ta, tb, m, n, k, alpha, a, CUDA_R_16F, lda, b, CUDA_R_16F, ldb, \
			beta, c, CUDA_R_16F, ldc, count, CUBLAS_COMPUTE_16F, 0); \
	} \
	BLAS_EXPORT cublasStatus_t cublasHgemmStridedBatched##end(cublasHandle_t h, cublasOperation_t ta, \
		cublasOperation_t tb, I m, I n, I k, const void *alpha, const void *a, I lda, long long sa, \
		const void *b, I ldb, long long sb, const void *beta, void *c, I ldc, long long sc, I count) \
	{ \
		return cublasGemmStridedBatchedEx##end(h, ta, tb, m, n, k, alpha, a, CUDA_R_16F, lda, sa, b, \
			CUDA_R_16F, ldb, sb, beta, c, CUDA_R_16F, ldc, sc, count, CUBLAS_COMPUTE_16F, 0); \
	}
HALF(int, )
HALF(int64_t, _64)

/* ---- syrk and herk of other element types ---- */

static cublasStatus_t submit_rank_ex(struct blas *h, struct blas_job job, cublasFillMode_t fill, cublasOperation_t op,
	const void *alpha, const void *beta, cudaDataType scalar)
{
	BLAS_REQUIRE(h, alpha && beta && blas_fill_valid(fill) &&
				(op == CUBLAS_OP_N || op == (job.hermitian ? CUBLAS_OP_C : CUBLAS_OP_T)) &&
				job.n >= 0 && job.k >= 0 &&
				job.a.ld >= blas_at_least_1(op == CUBLAS_OP_N ? job.n : job.k) &&
				job.c.ld >= blas_at_least_1(job.n));
	if ((job.a.type != CUDA_C_32F && job.a.type != CUDA_C_8I) || job.c.type != CUDA_C_32F)
		return CUBLAS_STATUS_NOT_SUPPORTED;
	if (!job.n)
		return CUBLAS_STATUS_SUCCESS;
	job.alpha = blas_scalar_of(h, alpha, scalar);
	job.beta = blas_scalar_of(h, beta, scalar);
	return blas_submit(h, &job);
}

#define RANK_EX(name, I, T, scalar, is_hermitian) \
	BLAS_EXPORT cublasStatus_t name(cublasHandle_t h, cublasFillMode_t fill_of, cublasOperation_t op, I n_of, \
		I k_of, const T *alpha, const void *a, cudaDataType at, I lda, const T *beta, void *c, \
		cudaDataType ct, I ldc) \
	{ \
		return submit_rank_ex(h, \
			(struct blas_job){.routine = BLAS_SYRK, \
				.type = CUDA_C_32F, \
				.hermitian = is_hermitian, \
				.fill = fill_of, \
				.op_a = op, \
				.m = n_of, \
				.n = n_of, \
				.k = k_of, \
				.count = 1, \
				.a = blas_operand(a, lda, at), \
				.c = blas_operand(c, ldc, ct)}, \
			fill_of, op, alpha, beta, scalar); \
	}
#define RANKS_EX(I, end) \
	RANK_EX(cublasCsyrkEx##end, I, float _Complex, CUDA_C_32F, false) \
	RANK_EX(cublasCsyrk3mEx##end, I, float _Complex, CUDA_C_32F, false) \
	RANK_EX(cublasCherkEx##end, I, float, CUDA_R_32F, true) \
	RANK_EX(cublasCherk3mEx##end, I, float, CUDA_R_32F, true)
RANKS_EX(int, )
RANKS_EX(int64_t, _64)

/* ---- gemv of halves: the product of a matrix of one row, y' = x' op(A)' ---- */

static cublasStatus_t submit_half_gemv(struct blas *h, struct blas_job job, cublasOperation_t op, const void *alpha,
	const void *beta, cudaDataType scalar)
{
	int64_t rows = op == CUBLAS_OP_N ? job.m : job.n, cols = op == CUBLAS_OP_N ? job.n : job.m;
	struct blas_operand matrix = job.a;

	BLAS_REQUIRE(h, blas_op_valid(op) && job.m >= 0 && job.n >= 0 && job.count >= 0 &&
				matrix.ld >= blas_at_least_1(job.m) && job.b.ld && job.c.ld);
	if (job.b.ld < 0 || job.c.ld < 0)
		return CUBLAS_STATUS_NOT_SUPPORTED;
	job.a = job.b;
	job.b = matrix;
	job.m = 1;
	job.n = rows;
	job.k = cols;
	job.op_b = op == CUBLAS_OP_N ? CUBLAS_OP_T : CUBLAS_OP_N;
	return blas_submit_gemm(h, &job, CUBLAS_OP_N, (cublasOperation_t)job.op_b, alpha, beta, scalar);
}

#define HALF_GEMV(prefix, I, end, in, out, scalar) \
	BLAS_EXPORT cublasStatus_t cublas##prefix##gemvBatched##end(cublasHandle_t h, cublasOperation_t op, I m_of, \
		I n_of, const void *alpha, const void *const *a, I lda, const void *const *x, I incx, \
		const void *beta, void *const *y, I incy, I batch) \
	{ \
		return submit_half_gemv(h, \
			(struct blas_job){.type = CUDA_R_32F, \
				.m = m_of, \
				.n = n_of, \
				.count = batch, \
				.a = blas_array(a, lda, in), \
				.b = blas_array(x, incx, in), \
				.c = blas_array(y, incy, out)}, \
			op, alpha, beta, scalar); \
	} \
	BLAS_EXPORT cublasStatus_t cublas##prefix##gemvStridedBatched##end(cublasHandle_t h, cublasOperation_t op, \
		I m_of, I n_of, const void *alpha, const void *a, I lda, long long sa, const void *x, I incx, \
		long long sx, const void *beta, void *y, I incy, long long sy, I batch) \
	{ \
		return submit_half_gemv(h, \
			(struct blas_job){.type = CUDA_R_32F, \
				.m = m_of, \
				.n = n_of, \
				.count = batch, \
				.a = blas_strided(a, lda, in, sa), \
				.b = blas_strided(x, incx, in, sx), \
				.c = blas_strided(y, incy, out, sy)}, \
			op, alpha, beta, scalar); \
	}
#define HALF_GEMVS(I, end) \
	HALF_GEMV(HSH, I, end, CUDA_R_16F, CUDA_R_16F, CUDA_R_32F) \
	HALF_GEMV(HSS, I, end, CUDA_R_16F, CUDA_R_32F, CUDA_R_32F) \
	HALF_GEMV(TST, I, end, CUDA_R_16BF, CUDA_R_16BF, CUDA_R_32F) \
	HALF_GEMV(TSS, I, end, CUDA_R_16BF, CUDA_R_32F, CUDA_R_32F)
HALF_GEMVS(int, )
HALF_GEMVS(int64_t, _64)
