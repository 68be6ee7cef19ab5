/* level2.h - level 2 routines: a matrix and vectors.  Part of typed.h. */

struct matrix_vector {
	cublasOperation_t op;
	cublasFillMode_t fill;
	cublasDiagType_t diag;
	int64_t m, n, lda, incx, incy;
	struct blas_scalar alpha, beta;
	const void *a, *x;
	void *y;
	bool conjugate;
};

/* Checks sizes, increments and the leading dimension, and queues the work. */
static cublasStatus_t queue_matrix_vector(struct blas *h, blas_work *work, struct matrix_vector v)
{
	if (!h)
		return CUBLAS_STATUS_NOT_INITIALIZED;
	if (v.m < 0 || v.n < 0 || v.lda < (v.m > 1 ? v.m : 1) || !v.incx || !v.incy || (unsigned)v.op > CUBLAS_OP_C ||
		(unsigned)v.fill > CUBLAS_FILL_MODE_UPPER || (unsigned)v.diag > CUBLAS_DIAG_UNIT)
		return CUBLAS_STATUS_INVALID_VALUE;
	if (!v.m || !v.n)
		return CUBLAS_STATUS_SUCCESS;
	if (!v.a || !v.x || !v.y)
		return CUBLAS_STATUS_INVALID_VALUE;
	return blas_queue(h, work, &v, sizeof v, false);
}

/* y = alpha op(A) x + beta y, by columns of A, so that memory is read in order. */
static void gemv(const void *args)
{
	const struct matrix_vector *v = args;
	int64_t rows = v->op == CUBLAS_OP_N ? v->m : v->n, cols = v->op == CUBLAS_OP_N ? v->n : v->m;
	const T *a = v->a, *x = (const T *)v->x + first_index(cols, v->incx);
	T *y = (T *)v->y + first_index(rows, v->incy), alpha = scalar_value(&v->alpha), beta = scalar_value(&v->beta);

	for (int64_t i = 0; i < rows; i++)
		y[i * v->incy] = beta == (T)0 ? (T)0 : beta * y[i * v->incy]; /* y may hold NaN */
	for (int64_t j = 0; alpha != (T)0 && j < v->n; j++) {
		const T *col = a + j * v->lda;
		T sum = 0, xj;

		if (v->op == CUBLAS_OP_N) {
			xj = alpha * x[j * v->incx];
			for (int64_t i = 0; i < v->m; i++)
				y[i * v->incy] += col[i] * xj;
			continue;
		}
		for (int64_t i = 0; i < v->m; i++)
			sum += (v->op == CUBLAS_OP_C ? CONJ(col[i]) : col[i]) * x[i * v->incx];
		y[j * v->incy] += alpha * sum;
	}
}

/* A += alpha x y' */
static void ger(const void *args)
{
	const struct matrix_vector *v = args;
	const T *x = (const T *)v->x + first_index(v->m, v->incx), *y = (const T *)v->a + first_index(v->n, v->incy);
	T *a = v->y, alpha = scalar_value(&v->alpha);

	for (int64_t j = 0; j < v->n; j++) {
		T yj = alpha * (v->conjugate ? CONJ(y[j * v->incy]) : y[j * v->incy]);

		for (int64_t i = 0; i < v->m; i++)
			a[j * v->lda + i] += x[i * v->incx] * yj;
	}
}

/* Element (i, j) of op(A). */
static inline T matrix_element(const struct matrix_vector *v, int64_t i, int64_t j)
{
	const T *a = v->a;

	return v->op == CUBLAS_OP_N   ? a[j * v->lda + i]
	       : v->op == CUBLAS_OP_T ? a[i * v->lda + j]
				      : CONJ(a[i * v->lda + j]);
}

/* Solves op(A) x = b, or computes x = op(A) b, for a triangular A, starting at the end without dependencies. */
static void triangle_apply(const struct matrix_vector *v, bool solve)
{
	bool upper = (v->fill == CUBLAS_FILL_MODE_UPPER) == (v->op == CUBLAS_OP_N), backwards = upper == solve;
	T *x = (T *)v->y + first_index(v->n, v->incy);

	for (int64_t k = 0; k < v->n; k++) {
		int64_t i = backwards ? v->n - 1 - k : k, from = upper ? i + 1 : 0, to = upper ? v->n : i;
		T sum = 0, d = v->diag == CUBLAS_DIAG_UNIT ? (T)1 : matrix_element(v, i, i);

		for (int64_t j = from; j < to; j++)
			sum += matrix_element(v, i, j) * x[j * v->incy];
		x[i * v->incy] = solve ? (x[i * v->incy] - sum) / d : x[i * v->incy] * d + sum;
	}
}

static void trsv(const void *args)
{
	triangle_apply(args, true);
}

static void trmv(const void *args)
{
	triangle_apply(args, false);
}

#define GEMV(I, end) \
	BLAS_EXPORT cublasStatus_t CUBLAS(gemv, end)(cublasHandle_t h, cublasOperation_t op, I m, I n, const T *alpha, \
		const T *a, I lda, const T *x, I incx, const T *beta, T *y, I incy) \
	{ \
		if (!h || !alpha || !beta) \
			return h ? CUBLAS_STATUS_INVALID_VALUE : CUBLAS_STATUS_NOT_INITIALIZED; \
		return queue_matrix_vector(h, gemv, \
			(struct matrix_vector){.op = op, \
				.m = m, \
				.n = n, \
				.lda = lda, \
				.incx = incx, \
				.incy = incy, \
				.alpha = blas_scalar(h, alpha, sizeof(T)), \
				.beta = blas_scalar(h, beta, sizeof(T)), \
				.a = a, \
				.x = x, \
				.y = y}); \
	}
BOTH(GEMV)

#define GER_AS(name, I, conj) \
	BLAS_EXPORT cublasStatus_t name( \
		cublasHandle_t h, I m, I n, const T *alpha, const T *x, I incx, const T *y, I incy, T *a, I lda) \
	{ \
		if (!h || !alpha) \
			return h ? CUBLAS_STATUS_INVALID_VALUE : CUBLAS_STATUS_NOT_INITIALIZED; \
		return queue_matrix_vector(h, ger, \
			(struct matrix_vector){.m = m, \
				.n = n, \
				.lda = lda, \
				.incx = incx, \
				.incy = incy, \
				.alpha = blas_scalar(h, alpha, sizeof(T)), \
				.x = x, \
				.a = y, \
				.y = a, \
				.conjugate = conj}); \
	}
#if COMPLEX
#define GER(I, end) GER_AS(CUBLAS(geru, end), I, false) GER_AS(CUBLAS(gerc, end), I, true)
#else
#define GER(I, end) GER_AS(CUBLAS(ger, end), I, false)
#endif
BOTH(GER)

#define TRIANGLE_AS(op_name, I, end) \
	BLAS_EXPORT cublasStatus_t CUBLAS(op_name, end)(cublasHandle_t h, cublasFillMode_t fill, cublasOperation_t op, \
		cublasDiagType_t diag, I n, const T *a, I lda, T *x, I incx) \
	{ \
		return queue_matrix_vector(h, op_name, \
			(struct matrix_vector){.op = op, \
				.fill = fill, \
				.diag = diag, \
				.m = n, \
				.n = n, \
				.lda = lda, \
				.incx = 1, \
				.incy = incx, \
				.a = a, \
				.x = x, \
				.y = x}); \
	}
#define TRIANGLES(I, end) TRIANGLE_AS(trsv, I, end) TRIANGLE_AS(trmv, I, end)
BOTH(TRIANGLES)
