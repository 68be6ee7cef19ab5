/* batched.h - batches of small matrices: solutions and factorizations.  Part of typed.h. */

#define TRSM_BATCHED(I, end) \
	BLAS_EXPORT cublasStatus_t CUBLAS(trsmBatched, end)(cublasHandle_t h, cublasSideMode_t side, \
		cublasFillMode_t fill, cublasOperation_t op, cublasDiagType_t diag, I m, I n, const T *alpha, \
		const T *const *a, I lda, T *const *b, I ldb, I batch) \
	{ \
		BLAS_REQUIRE(h, alpha && (unsigned)side <= CUBLAS_SIDE_RIGHT && blas_triangle_valid(fill, op, diag) && \
					m >= 0 && n >= 0 && batch >= 0 && \
					lda >= blas_at_least_1(side == CUBLAS_SIDE_LEFT ? m : n) && \
					ldb >= blas_at_least_1(m)); \
		return submit_matrix(h, BATCH(batch, .routine = BLAS_TRSM, .side = side, .fill = fill, .op_a = op, \
						.diag = diag, .m = m, .n = n, .a = blas_array(a, lda, TYPE), \
						.c = blas_array(b, ldb, TYPE), .alpha = SCALAR(alpha))); \
	}
BOTH_PLAIN(TRSM_BATCHED)

/* Groups of batches.  The arrays of sizes and scalars are in host memory, those of pointers in device memory. */
#if !COMPLEX
#define GEMM_GROUPED(I, end) \
	BLAS_EXPORT cublasStatus_t CUBLAS(gemmGroupedBatched, end)(cublasHandle_t h, const cublasOperation_t *ta, \
		const cublasOperation_t *tb, const I *m, const I *n, const I *k, const T *alpha, const T *const *a, \
		const I *lda, const T *const *b, const I *ldb, const T *beta, T *const *c, const I *ldc, I groups, \
		const I *sizes) \
	{ \
		BLAS_REQUIRE(h, groups >= 0 && (!groups || (ta && tb && m && n && k && alpha && beta && sizes))); \
		for (I g = 0, first = 0; g < groups; first += sizes[g++]) { \
			struct blas_job job = JOB(.op_a = ta[g], .op_b = tb[g], .m = m[g], .n = n[g], .k = k[g], \
				.a = blas_array(a + first, lda[g], TYPE), .b = blas_array(b + first, ldb[g], TYPE), \
				.c = blas_array(c + first, ldc[g], TYPE)); \
			job.count = sizes[g]; \
			cublasStatus_t r = blas_submit_gemm(h, &job, ta[g], tb[g], alpha + g, beta + g, TYPE); \
			if (r) \
				return r; \
		} \
		return CUBLAS_STATUS_SUCCESS; \
	}
BOTH_PLAIN(GEMM_GROUPED)
#endif

/* ---- factorizations: pivots are operand b, the status of each matrix goes to operand e ---- */

#define INTS(p) blas_operand(p, 1, CUDA_R_32I)

static cublasStatus_t submit_batch(struct blas *h, struct blas_job job)
{
	if (!job.n || !job.count)
		return CUBLAS_STATUS_SUCCESS;
	return job.a.at ? blas_submit(h, &job) : CUBLAS_STATUS_INVALID_VALUE;
}

BLAS_EXPORT cublasStatus_t CUBLAS(getrfBatched, )(
	cublasHandle_t h, int n, T *const *a, int lda, int *pivots, int *info, int batch)
{
	BLAS_REQUIRE(h, n >= 0 && batch >= 0 && lda >= blas_at_least_1(n) && (!batch || info));
	return submit_batch(h, BATCH(batch, .routine = BLAS_GETRF, .n = n, .a = blas_array(a, lda, TYPE),
				       .b = INTS(pivots), .e = INTS(info)));
}

BLAS_EXPORT cublasStatus_t CUBLAS(getriBatched, )(cublasHandle_t h, int n, const T *const *a, int lda,
	const int *pivots, T *const *c, int ldc, int *info, int batch)
{
	BLAS_REQUIRE(h, n >= 0 && batch >= 0 && lda >= blas_at_least_1(n) && ldc >= blas_at_least_1(n) &&
				(!batch || (info && c)));
	return submit_batch(h, BATCH(batch, .routine = BLAS_GETRI, .n = n, .a = blas_array(a, lda, TYPE),
				       .b = INTS(pivots), .c = blas_array(c, ldc, TYPE), .e = INTS(info)));
}

/* For matrices of up to 32 rows, as in the vendor's library. */
BLAS_EXPORT cublasStatus_t CUBLAS(matinvBatched, )(
	cublasHandle_t h, int n, const T *const *a, int lda, T *const *c, int ldc, int *info, int batch)
{
	BLAS_REQUIRE(h, n >= 0 && batch >= 0 && lda >= blas_at_least_1(n) && ldc >= blas_at_least_1(n) && n <= 32 &&
				(!batch || (info && c)));
	return submit_batch(h, BATCH(batch, .routine = BLAS_MATINV, .n = n, .a = blas_array(a, lda, TYPE),
				       .c = blas_array(c, ldc, TYPE), .e = INTS(info)));
}

/* `info` of the functions below is one number in host memory: 0, or minus the index of a bad argument. */
static cublasStatus_t report_bad_argument(struct blas *h, int *info, int bad)
{
	if (!h)
		return CUBLAS_STATUS_NOT_INITIALIZED;
	if (!info)
		return CUBLAS_STATUS_INVALID_VALUE;
	*info = -bad;
	return bad ? CUBLAS_STATUS_INVALID_VALUE : CUBLAS_STATUS_SUCCESS;
}

BLAS_EXPORT cublasStatus_t CUBLAS(getrsBatched, )(cublasHandle_t h, cublasOperation_t op, int n, int sides,
	const T *const *a, int lda, const int *pivots, T *const *b, int ldb, int *info, int batch)
{
	int bad = !blas_op_valid(op)         ? 1
		  : n < 0                    ? 2
		  : sides < 0                ? 3
		  : lda < blas_at_least_1(n) ? 5
		  : ldb < blas_at_least_1(n) ? 8
		  : batch < 0                ? 10
					     : 0;
	cublasStatus_t r = report_bad_argument(h, info, bad);

	if (r || !sides)
		return r;
	return submit_batch(
		h, BATCH(batch, .routine = BLAS_GETRS, .op_a = op, .n = n, .k = sides, .a = blas_array(a, lda, TYPE),
			   .b = INTS(pivots), .c = blas_array(b, ldb, TYPE)));
}

BLAS_EXPORT cublasStatus_t CUBLAS(geqrfBatched, )(
	cublasHandle_t h, int m, int n, T *const *a, int lda, T *const *tau, int *info, int batch)
{
	int bad = m < 0 ? 1 : n < 0 ? 2 : lda < blas_at_least_1(m) ? 4 : batch < 0 ? 7 : 0;
	cublasStatus_t r = report_bad_argument(h, info, bad);

	if (r || !m)
		return r;
	return submit_batch(h, BATCH(batch, .routine = BLAS_GEQRF, .m = m, .n = n, .a = blas_array(a, lda, TYPE),
				       .c = blas_array(tau, 1, TYPE)));
}

/* Only overdetermined systems, and no transposition, as in the vendor's library. */
BLAS_EXPORT cublasStatus_t CUBLAS(gelsBatched, )(cublasHandle_t h, cublasOperation_t op, int m, int n, int sides,
	T *const *a, int lda, T *const *c, int ldc, int *info, int *device_info, int batch)
{
	int bad = op != CUBLAS_OP_N          ? 1
		  : m < 0                    ? 2
		  : n < 0                    ? 3
		  : sides < 0                ? 4
		  : lda < blas_at_least_1(m) ? 6
		  : ldc < blas_at_least_1(m) ? 8
		  : batch < 0                ? 11
					     : 0;
	cublasStatus_t r = report_bad_argument(h, info, bad);

	if (h && info && (op == CUBLAS_OP_T || op == CUBLAS_OP_C || (!bad && m < n)))
		return CUBLAS_STATUS_NOT_SUPPORTED;
	if (r || !sides)
		return r;
	return submit_batch(
		h, BATCH(batch, .routine = BLAS_GELS, .m = m, .n = n, .k = sides, .a = blas_array(a, lda, TYPE),
			   .c = blas_array(c, ldc, TYPE), .e = INTS(device_info)));
}
