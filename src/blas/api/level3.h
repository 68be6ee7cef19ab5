/* level3.h - level 3 functions: matrices.  Part of typed.h.  The result is operand c, that of a product operand d. */

#define GEMM_AS(name, I) \
	BLAS_EXPORT cublasStatus_t name(cublasHandle_t h, cublasOperation_t ta, cublasOperation_t tb, I m, I n, I k, \
		const T *alpha, const T *a, I lda, const T *b, I ldb, const T *beta, T *c, I ldc) \
	{ \
		struct blas_job job = JOB(.op_a = ta, .op_b = tb, .m = m, .n = n, .k = k, .a = OPERAND(a, lda), \
			.b = OPERAND(b, ldb), .c = OPERAND(c, ldc)); \
\
		return blas_submit_gemm(h, &job, ta, tb, alpha, beta, TYPE); \
	}
#define GEMM(I, end) GEMM_AS(CUBLAS(gemm, end), I)
BOTH(GEMM)

#define GEMM_BATCHED_AS(gemmBatched, gemmStridedBatched, I) \
	BLAS_EXPORT cublasStatus_t gemmBatched(cublasHandle_t h, cublasOperation_t ta, cublasOperation_t tb, I m, I n, \
		I k, const T *alpha, const T *const *a, I lda, const T *const *b, I ldb, const T *beta, T *const *c, \
		I ldc, I count) \
	{ \
		struct blas_job job = JOB(.op_a = ta, .op_b = tb, .m = m, .n = n, .k = k, \
			.a = blas_array(a, lda, TYPE), .b = blas_array(b, ldb, TYPE), .c = blas_array(c, ldc, TYPE)); \
\
		job.count = count; \
		return blas_submit_gemm(h, &job, ta, tb, alpha, beta, TYPE); \
	} \
	BLAS_EXPORT cublasStatus_t gemmStridedBatched(cublasHandle_t h, cublasOperation_t ta, cublasOperation_t tb, \
		I m, I n, I k, const T *alpha, const T *a, I lda, long long sa, const T *b, I ldb, long long sb, \
		const T *beta, T *c, I ldc, long long sc, I count) \
	{ \
		struct blas_job job = \
			JOB(.op_a = ta, .op_b = tb, .m = m, .n = n, .k = k, .a = blas_strided(a, lda, TYPE, sa), \
				.b = blas_strided(b, ldb, TYPE, sb), .c = blas_strided(c, ldc, TYPE, sc)); \
\
		job.count = count; \
		return blas_submit_gemm(h, &job, ta, tb, alpha, beta, TYPE); \
	}
#define GEMM_BATCHED(I, end) GEMM_BATCHED_AS(CUBLAS(gemmBatched, end), CUBLAS(gemmStridedBatched, end), I)
BOTH_PLAIN(GEMM_BATCHED)

/* The products that a GPU may compute with three multiplications instead of four. */
#if COMPLEX
#define GEMM_3M(I, end) GEMM_AS(CUBLAS(gemm3m, end), I)
BOTH_PLAIN(GEMM_3M)
#if COMPLEX_FLOAT
#define GEMM_3M_BATCHED(I, end) GEMM_BATCHED_AS(CUBLAS(gemm3mBatched, end), CUBLAS(gemm3mStridedBatched, end), I)
BOTH_PLAIN(GEMM_3M_BATCHED)
#endif
#endif

/* ---- symmetric and Hermitian matrices ---- */

/* Empty results need no work.  geam reads only matrices whose factor is not 0, rank updates of rank 0 read none. */
static cublasStatus_t submit_matrix(struct blas *h, struct blas_job job)
{
	bool reads = job.routine != BLAS_GEAM &&
		     (job.k || (job.routine != BLAS_SYRK && job.routine != BLAS_SYR2K && job.routine != BLAS_SYRKX));

	if (!job.m || !job.n || !job.count)
		return CUBLAS_STATUS_SUCCESS;
	return job.c.at && (job.a.at || !reads) ? blas_submit(h, &job) : CUBLAS_STATUS_INVALID_VALUE;
}

#define SYMM_AS(name, I, is_hermitian) \
	BLAS_EXPORT cublasStatus_t name(cublasHandle_t h, cublasSideMode_t side, cublasFillMode_t fill, I m, I n, \
		const T *alpha, const T *a, I lda, const T *b, I ldb, const T *beta, T *c, I ldc) \
	{ \
		BLAS_REQUIRE(h, alpha &&beta &&blas_fill_valid(fill) && (unsigned)side <= CUBLAS_SIDE_RIGHT && \
					m >= 0 && n >= 0 && \
					lda >= blas_at_least_1(side == CUBLAS_SIDE_LEFT ? m : n) && \
					ldb >= blas_at_least_1(m) && ldc >= blas_at_least_1(m)); \
		return submit_matrix( \
			h, JOB(.routine = BLAS_SYMM, .hermitian = is_hermitian, .side = side, .fill = fill, .m = m, \
				   .n = n, .a = OPERAND(a, lda), .b = OPERAND(b, ldb), .c = OPERAND(c, ldc), \
				   .alpha = SCALAR(alpha), .beta = SCALAR(beta))); \
	}

#if COMPLEX
#define SYMM(I, end) SYMM_AS(CUBLAS(symm, end), I, false) SYMM_AS(CUBLAS(hemm, end), I, true)
#else
#define SYMM(I, end) SYMM_AS(CUBLAS(symm, end), I, false)
#endif
BOTH(SYMM)

/* The operation of a rank update: a complex symmetric one has no conjugates, a Hermitian one always. */
static bool rank_op_valid(cublasOperation_t op, bool hermitian)
{
	return op == CUBLAS_OP_N ||
	       (hermitian ? op == CUBLAS_OP_C : op == CUBLAS_OP_T || (!COMPLEX && op == CUBLAS_OP_C));
}

static bool rank_valid(cublasFillMode_t fill, cublasOperation_t op, bool hermitian, int64_t n, int64_t k, int64_t lda,
	int64_t ldb, int64_t ldc)
{
	int64_t rows = blas_at_least_1(op == CUBLAS_OP_N ? n : k);

	return blas_fill_valid(fill) && rank_op_valid(op, hermitian) && n >= 0 && k >= 0 && lda >= rows &&
	       ldb >= rows && ldc >= blas_at_least_1(n);
}

#define RANK_K(name, I, Alpha, Beta, scalar_a, scalar_b, is_hermitian) \
	BLAS_EXPORT cublasStatus_t name(cublasHandle_t h, cublasFillMode_t fill, cublasOperation_t op, I n, I k, \
		const Alpha *alpha, const T *a, I lda, const Beta *beta, T *c, I ldc) \
	{ \
		BLAS_REQUIRE(h, alpha &&beta &&rank_valid(fill, op, is_hermitian, n, k, lda, lda, ldc)); \
		return submit_matrix(h, JOB(.routine = BLAS_SYRK, .hermitian = is_hermitian, .fill = fill, .op_a = op, \
						.m = n, .n = n, .k = k, .a = OPERAND(a, lda), .c = OPERAND(c, ldc), \
						.alpha = scalar_a(alpha), .beta = scalar_b(beta))); \
	}
#define RANK_2K(name, code, I, Beta, scalar_b, is_hermitian) \
	BLAS_EXPORT cublasStatus_t name(cublasHandle_t h, cublasFillMode_t fill, cublasOperation_t op, I n, I k, \
		const T *alpha, const T *a, I lda, const T *b, I ldb, const Beta *beta, T *c, I ldc) \
	{ \
		BLAS_REQUIRE(h, alpha &&beta &&rank_valid(fill, op, is_hermitian, n, k, lda, ldb, ldc)); \
		return submit_matrix( \
			h, JOB(.routine = code, .hermitian = is_hermitian, .fill = fill, .op_a = op, .m = n, .n = n, \
				   .k = k, .a = OPERAND(a, lda), .b = OPERAND(b, ldb), .c = OPERAND(c, ldc), \
				   .alpha = SCALAR(alpha), .beta = scalar_b(beta))); \
	}
#define SYMMETRIC_UPDATES(I, end) \
	RANK_K(CUBLAS(syrk, end), I, T, T, SCALAR, SCALAR, false) \
	RANK_2K(CUBLAS(syr2k, end), BLAS_SYR2K, I, T, SCALAR, false)
BOTH(SYMMETRIC_UPDATES)
#define SYRKX(I, end) RANK_2K(CUBLAS(syrkx, end), BLAS_SYRKX, I, T, SCALAR, false)
BOTH_PLAIN(SYRKX)
#if COMPLEX
#define HERMITIAN_UPDATES(I, end) \
	RANK_K(CUBLAS(herk, end), I, REAL, REAL, REAL_SCALAR, REAL_SCALAR, true) \
	RANK_2K(CUBLAS(her2k, end), BLAS_SYR2K, I, REAL, REAL_SCALAR, true)
BOTH(HERMITIAN_UPDATES)
#define HERKX(I, end) RANK_2K(CUBLAS(herkx, end), BLAS_SYRKX, I, REAL, REAL_SCALAR, true)
BOTH_PLAIN(HERKX)
#endif

/* ---- triangular matrices ---- */

#define TRIANGULAR(I, end) \
	BLAS_EXPORT cublasStatus_t CUBLAS(trmm, end)(cublasHandle_t h, cublasSideMode_t side, cublasFillMode_t fill, \
		cublasOperation_t op, cublasDiagType_t diag, I m, I n, const T *alpha, const T *a, I lda, const T *b, \
		I ldb, T *c, I ldc) \
	{ \
		BLAS_REQUIRE(h, alpha && (unsigned)side <= CUBLAS_SIDE_RIGHT && blas_triangle_valid(fill, op, diag) && \
					m >= 0 && n >= 0 && \
					lda >= blas_at_least_1(side == CUBLAS_SIDE_LEFT ? m : n) && \
					ldb >= blas_at_least_1(m) && ldc >= blas_at_least_1(m)); \
		return submit_matrix(h, JOB(.routine = BLAS_TRMM, .side = side, .fill = fill, .op_a = op, \
						.diag = diag, .m = m, .n = n, .a = OPERAND(a, lda), \
						.b = OPERAND(b, ldb), .c = OPERAND(c, ldc), .alpha = SCALAR(alpha))); \
	} \
	BLAS_EXPORT cublasStatus_t CUBLAS(trsm, end)(cublasHandle_t h, cublasSideMode_t side, cublasFillMode_t fill, \
		cublasOperation_t op, cublasDiagType_t diag, I m, I n, const T *alpha, const T *a, I lda, T *b, I ldb) \
	{ \
		BLAS_REQUIRE(h, alpha && (unsigned)side <= CUBLAS_SIDE_RIGHT && blas_triangle_valid(fill, op, diag) && \
					m >= 0 && n >= 0 && \
					lda >= blas_at_least_1(side == CUBLAS_SIDE_LEFT ? m : n) && \
					ldb >= blas_at_least_1(m)); \
		return submit_matrix( \
			h, JOB(.routine = BLAS_TRSM, .side = side, .fill = fill, .op_a = op, .diag = diag, .m = m, \
				   .n = n, .a = OPERAND(a, lda), .c = OPERAND(b, ldb), .alpha = SCALAR(alpha))); \
	}
BOTH(TRIANGULAR)

/* ---- element by element ---- */

#define GEAM(I, end) \
	BLAS_EXPORT cublasStatus_t CUBLAS(geam, end)(cublasHandle_t h, cublasOperation_t ta, cublasOperation_t tb, \
		I m, I n, const T *alpha, const T *a, I lda, const T *beta, const T *b, I ldb, T *c, I ldc) \
	{ \
		BLAS_REQUIRE(h, alpha &&beta &&blas_op_valid(ta) && blas_op_valid(tb) && m >= 0 && n >= 0 && \
					ldc >= blas_at_least_1(m) && \
					lda >= blas_at_least_1(ta == CUBLAS_OP_N ? m : n) && \
					ldb >= blas_at_least_1(tb == CUBLAS_OP_N ? m : n)); \
		return submit_matrix(h, JOB(.routine = BLAS_GEAM, .op_a = ta, .op_b = tb, .m = m, .n = n, \
						.a = OPERAND(a, lda), .b = OPERAND(b, ldb), .c = OPERAND(c, ldc), \
						.alpha = SCALAR(alpha), .beta = SCALAR(beta))); \
	} \
	BLAS_EXPORT cublasStatus_t CUBLAS(dgmm, end)( \
		cublasHandle_t h, cublasSideMode_t side, I m, I n, const T *a, I lda, const T *x, I incx, T *c, I ldc) \
	{ \
		BLAS_REQUIRE(h, (unsigned)side <= CUBLAS_SIDE_RIGHT && m >= 0 && n >= 0 && \
					lda >= blas_at_least_1(m) && ldc >= blas_at_least_1(m)); \
		return submit_matrix(h, JOB(.routine = BLAS_DGMM, .side = side, .m = m, .n = n, .a = OPERAND(a, lda), \
						.b = OPERAND(x, incx), .c = OPERAND(c, ldc))); \
	}
BOTH_PLAIN(GEAM)
