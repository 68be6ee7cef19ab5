/* level2.h - level 2 functions: a matrix and vectors.  Part of typed.h.  A is operand a, x is b, y is c. */

/* Empty matrices need no memory. */
static cublasStatus_t submit_matrix_vector(struct blas *h, struct blas_job job)
{
	if (job.n == 0 || job.m == 0)
		return CUBLAS_STATUS_SUCCESS;
	return job.a.at ? blas_submit(h, &job) : CUBLAS_STATUS_INVALID_VALUE;
}

#define GEMV(I, end) \
	BLAS_EXPORT cublasStatus_t CUBLAS(gemv, end)(cublasHandle_t h, cublasOperation_t op, I m, I n, const T *alpha, \
		const T *a, I lda, const T *x, I incx, const T *beta, T *y, I incy) \
	{ \
		BLAS_REQUIRE(h, alpha &&beta &&blas_op_valid(op) && m >= 0 && n >= 0 && lda >= blas_at_least_1(m) && \
					incx && incy); \
		if (m && n && (!x || !y)) \
			return CUBLAS_STATUS_INVALID_VALUE; \
		return submit_matrix_vector( \
			h, JOB(.routine = BLAS_GEMV, .op_a = op, .m = m, .n = n, .a = OPERAND(a, lda), \
				   .b = OPERAND(x, incx), .c = OPERAND(y, incy), .alpha = SCALAR(alpha), \
				   .beta = SCALAR(beta))); \
	} \
	BLAS_EXPORT cublasStatus_t CUBLAS(gbmv, end)(cublasHandle_t h, cublasOperation_t op, I m, I n, I kl, I ku, \
		const T *alpha, const T *a, I lda, const T *x, I incx, const T *beta, T *y, I incy) \
	{ \
		BLAS_REQUIRE(h, alpha &&beta &&blas_op_valid(op) && m >= 0 && n >= 0 && kl >= 0 && ku >= 0 && \
					(int64_t)lda > (int64_t)kl + ku && incx && incy); \
		if (m && n && (!x || !y)) \
			return CUBLAS_STATUS_INVALID_VALUE; \
		return submit_matrix_vector( \
			h, JOB(.routine = BLAS_GEMV, .storage = BLAS_BAND, .op_a = op, .m = m, .n = n, .kl = kl, \
				   .ku = ku, .a = OPERAND(a, lda), .b = OPERAND(x, incx), .c = OPERAND(y, incy), \
				   .alpha = SCALAR(alpha), .beta = SCALAR(beta))); \
	}
BOTH(GEMV)

#define GEMV_BATCHED(I, end) \
	BLAS_EXPORT cublasStatus_t CUBLAS(gemvBatched, end)(cublasHandle_t h, cublasOperation_t op, I m, I n, \
		const T *alpha, const T *const *a, I lda, const T *const *x, I incx, const T *beta, T *const *y, \
		I incy, I batch) \
	{ \
		BLAS_REQUIRE(h, alpha &&beta &&blas_op_valid(op) && m >= 0 && n >= 0 && batch >= 0 && \
					lda >= blas_at_least_1(m) && incx && incy); \
		if (!m || !n || !batch) \
			return CUBLAS_STATUS_SUCCESS; \
		if (!x || !y) \
			return CUBLAS_STATUS_INVALID_VALUE; \
		return submit_matrix_vector( \
			h, BATCH(batch, .routine = BLAS_GEMV, .op_a = op, .m = m, .n = n, \
				   .a = blas_array(a, lda, TYPE), .b = blas_array(x, incx, TYPE), \
				   .c = blas_array(y, incy, TYPE), .alpha = SCALAR(alpha), .beta = SCALAR(beta))); \
	} \
	BLAS_EXPORT cublasStatus_t CUBLAS(gemvStridedBatched, end)(cublasHandle_t h, cublasOperation_t op, I m, I n, \
		const T *alpha, const T *a, I lda, long long sa, const T *x, I incx, long long sx, const T *beta, \
		T *y, I incy, long long sy, I batch) \
	{ \
		BLAS_REQUIRE(h, alpha &&beta &&blas_op_valid(op) && m >= 0 && n >= 0 && batch >= 0 && \
					lda >= blas_at_least_1(m) && incx && incy); \
		if (!m || !n || !batch) \
			return CUBLAS_STATUS_SUCCESS; \
		if (!x || !y) \
			return CUBLAS_STATUS_INVALID_VALUE; \
		return submit_matrix_vector(h, \
			BATCH(batch, .routine = BLAS_GEMV, .op_a = op, .m = m, .n = n, \
				.a = blas_strided(a, lda, TYPE, sa), .b = blas_strided(x, incx, TYPE, sx), \
				.c = blas_strided(y, incy, TYPE, sy), .alpha = SCALAR(alpha), .beta = SCALAR(beta))); \
	}
BOTH_PLAIN(GEMV_BATCHED)

/* ---- symmetric and Hermitian matrices ---- */

/* The three forms of y = alpha A x + beta y: full, banded, packed. */
#define SYMMETRIC_PRODUCT(name, I, kind, is_hermitian, width, lead, ...) \
	BLAS_EXPORT cublasStatus_t name(cublasHandle_t h, cublasFillMode_t fill, I n, __VA_ARGS__) \
	{ \
		BLAS_REQUIRE(h, alpha &&beta &&blas_fill_valid(fill) && n >= 0 && (width) >= 0 && \
					(kind == BLAS_PACKED || \
						(lead) >= blas_at_least_1(kind == BLAS_BAND ? (width) + 1 : n)) && \
					incx && incy); \
		if (n && (!x || !y)) \
			return CUBLAS_STATUS_INVALID_VALUE; \
		return submit_matrix_vector( \
			h, JOB(.routine = BLAS_SYMV, .storage = kind, .hermitian = is_hermitian, .fill = fill, .m = n, \
				   .n = n, .kl = width, .ku = width, .a = OPERAND(a, lead), .b = OPERAND(x, incx), \
				   .c = OPERAND(y, incy), .alpha = SCALAR(alpha), .beta = SCALAR(beta))); \
	}
#define SYMMETRIC_PRODUCTS(I, full, banded, packed, is_hermitian) \
	SYMMETRIC_PRODUCT(full, I, BLAS_FULL, is_hermitian, 0, lda, const T *alpha, const T *a, I lda, const T *x, \
		I incx, const T *beta, T *y, I incy) \
	SYMMETRIC_PRODUCT(banded, I, BLAS_BAND, is_hermitian, k, lda, I k, const T *alpha, const T *a, I lda, \
		const T *x, I incx, const T *beta, T *y, I incy) \
	SYMMETRIC_PRODUCT(packed, I, BLAS_PACKED, is_hermitian, 0, 1, const T *alpha, const T *a, const T *x, I incx, \
		const T *beta, T *y, I incy)
#if COMPLEX
#define SYMV(I, end) \
	SYMMETRIC_PRODUCTS(I, CUBLAS(hemv, end), CUBLAS(hbmv, end), CUBLAS(hpmv, end), true) \
	SYMMETRIC_PRODUCT(CUBLAS(symv, end), I, BLAS_FULL, false, 0, lda, const T *alpha, const T *a, I lda, \
		const T *x, I incx, const T *beta, T *y, I incy)
#else
#define SYMV(I, end) SYMMETRIC_PRODUCTS(I, CUBLAS(symv, end), CUBLAS(sbmv, end), CUBLAS(spmv, end), false)
#endif
BOTH(SYMV)

/* ---- triangular matrices: x is changed in place ---- */

#define TRIANGLE(name, I, code, kind, width, lead, ...) \
	BLAS_EXPORT cublasStatus_t name(cublasHandle_t h, cublasFillMode_t fill, cublasOperation_t op, \
		cublasDiagType_t diag_of, I n, __VA_ARGS__) \
	{ \
		BLAS_REQUIRE(h, blas_triangle_valid(fill, op, diag_of) && n >= 0 && (width) >= 0 && \
					(kind == BLAS_PACKED || \
						(lead) >= blas_at_least_1(kind == BLAS_BAND ? (width) + 1 : n)) && \
					incx); \
		if (n && !x) \
			return CUBLAS_STATUS_INVALID_VALUE; \
		return submit_matrix_vector( \
			h, JOB(.routine = code, .storage = kind, .fill = fill, .op_a = op, .diag = diag_of, .m = n, \
				   .n = n, .kl = width, .ku = width, .a = OPERAND(a, lead), .c = OPERAND(x, incx))); \
	}
#define TRIANGLES(I, end) \
	TRIANGLE(CUBLAS(trmv, end), I, BLAS_TRMV, BLAS_FULL, 0, lda, const T *a, I lda, T *x, I incx) \
	TRIANGLE(CUBLAS(tbmv, end), I, BLAS_TRMV, BLAS_BAND, k, lda, I k, const T *a, I lda, T *x, I incx) \
	TRIANGLE(CUBLAS(tpmv, end), I, BLAS_TRMV, BLAS_PACKED, 0, 1, const T *a, T *x, I incx) \
	TRIANGLE(CUBLAS(trsv, end), I, BLAS_TRSV, BLAS_FULL, 0, lda, const T *a, I lda, T *x, I incx) \
	TRIANGLE(CUBLAS(tbsv, end), I, BLAS_TRSV, BLAS_BAND, k, lda, I k, const T *a, I lda, T *x, I incx) \
	TRIANGLE(CUBLAS(tpsv, end), I, BLAS_TRSV, BLAS_PACKED, 0, 1, const T *a, T *x, I incx)
BOTH(TRIANGLES)

/* ---- updates of A ---- */

#define GER_AS(name, I, conj) \
	BLAS_EXPORT cublasStatus_t name( \
		cublasHandle_t h, I m, I n, const T *alpha, const T *x, I incx, const T *y, I incy, T *a, I lda) \
	{ \
		BLAS_REQUIRE(h, alpha &&m >= 0 && n >= 0 && lda >= blas_at_least_1(m) && incx && incy); \
		if (m && n && (!x || !y)) \
			return CUBLAS_STATUS_INVALID_VALUE; \
		return submit_matrix_vector( \
			h, JOB(.routine = BLAS_GER, .m = m, .n = n, .conjugate = conj, .a = OPERAND(a, lda), \
				   .b = OPERAND(x, incx), .d = OPERAND(y, incy), .alpha = SCALAR(alpha))); \
	}
#if COMPLEX
#define GER(I, end) GER_AS(CUBLAS(geru, end), I, false) GER_AS(CUBLAS(gerc, end), I, true)
#else
#define GER(I, end) GER_AS(CUBLAS(ger, end), I, false)
#endif
BOTH(GER)

#define RANK_1(name, I, A, scalar, kind, is_hermitian, lead, ...) \
	BLAS_EXPORT cublasStatus_t name( \
		cublasHandle_t h, cublasFillMode_t fill, I n, const A *alpha, const T *x, I incx, __VA_ARGS__) \
	{ \
		BLAS_REQUIRE(h, alpha &&blas_fill_valid(fill) && n >= 0 && incx && \
					(kind == BLAS_PACKED || (lead) >= blas_at_least_1(n))); \
		if (n && !x) \
			return CUBLAS_STATUS_INVALID_VALUE; \
		return submit_matrix_vector( \
			h, JOB(.routine = BLAS_SYR, .storage = kind, .hermitian = is_hermitian, .fill = fill, .m = n, \
				   .n = n, .a = OPERAND(a, lead), .b = OPERAND(x, incx), .alpha = scalar(alpha))); \
	}
#define RANK_2(name, I, kind, is_hermitian, lead, ...) \
	BLAS_EXPORT cublasStatus_t name(cublasHandle_t h, cublasFillMode_t fill, I n, const T *alpha, const T *x, \
		I incx, const T *y, I incy, __VA_ARGS__) \
	{ \
		BLAS_REQUIRE(h, alpha &&blas_fill_valid(fill) && n >= 0 && incx && incy && \
					(kind == BLAS_PACKED || (lead) >= blas_at_least_1(n))); \
		if (n && (!x || !y)) \
			return CUBLAS_STATUS_INVALID_VALUE; \
		return submit_matrix_vector( \
			h, JOB(.routine = BLAS_SYR2, .storage = kind, .hermitian = is_hermitian, .fill = fill, .m = n, \
				   .n = n, .a = OPERAND(a, lead), .b = OPERAND(x, incx), .d = OPERAND(y, incy), \
				   .alpha = SCALAR(alpha))); \
	}
#if COMPLEX
#define UPDATES(I, end) \
	RANK_1(CUBLAS(her, end), I, REAL, REAL_SCALAR, BLAS_FULL, true, lda, T *a, I lda) \
	RANK_1(CUBLAS(hpr, end), I, REAL, REAL_SCALAR, BLAS_PACKED, true, 1, T *a) \
	RANK_1(CUBLAS(syr, end), I, T, SCALAR, BLAS_FULL, false, lda, T *a, I lda) \
	RANK_2(CUBLAS(her2, end), I, BLAS_FULL, true, lda, T *a, I lda) \
	RANK_2(CUBLAS(hpr2, end), I, BLAS_PACKED, true, 1, T *a) \
	RANK_2(CUBLAS(syr2, end), I, BLAS_FULL, false, lda, T *a, I lda)
#else
#define UPDATES(I, end) \
	RANK_1(CUBLAS(syr, end), I, T, SCALAR, BLAS_FULL, false, lda, T *a, I lda) \
	RANK_1(CUBLAS(spr, end), I, T, SCALAR, BLAS_PACKED, false, 1, T *a) \
	RANK_2(CUBLAS(syr2, end), I, BLAS_FULL, false, lda, T *a, I lda) \
	RANK_2(CUBLAS(spr2, end), I, BLAS_PACKED, false, 1, T *a)
#endif
BOTH(UPDATES)

/* ---- between packed and full storage of a triangle ---- */

BLAS_EXPORT cublasStatus_t CUBLAS(tpttr, )(
	cublasHandle_t h, cublasFillMode_t fill, int n, const T *packed, T *a, int lda)
{
	BLAS_REQUIRE(h, blas_fill_valid(fill) && n >= 0 && lda >= blas_at_least_1(n));
	return submit_matrix_vector(h, JOB(.routine = BLAS_TPTTR, .storage = BLAS_PACKED, .fill = fill, .m = n, .n = n,
					       .a = OPERAND(packed, 1), .c = OPERAND(a, lda)));
}

BLAS_EXPORT cublasStatus_t CUBLAS(trttp, )(
	cublasHandle_t h, cublasFillMode_t fill, int n, const T *a, int lda, T *packed)
{
	BLAS_REQUIRE(h, blas_fill_valid(fill) && n >= 0 && lda >= blas_at_least_1(n));
	return submit_matrix_vector(h, JOB(.routine = BLAS_TRTTP, .storage = BLAS_PACKED, .fill = fill, .m = n, .n = n,
					       .a = OPERAND(packed, 1), .c = OPERAND(a, lda)));
}
