/* level3.h - level 3 routines: matrices.  Part of typed.h. */

/* ---- gemm: op(A) and op(B) are packed in blocks; a block of C is computed four columns at a time ---- */

enum { ROWS = 256, DEPTH = 128, COLS = 64 };

struct blocks {
	T a[DEPTH][ROWS]; /* each row holds a column of op(A) */
	T b[COLS][DEPTH];
};

static inline T op_element(const T *a, int64_t ld, cublasOperation_t op, int64_t i, int64_t j)
{
	return op == CUBLAS_OP_N ? a[j * ld + i] : op == CUBLAS_OP_T ? a[i * ld + j] : CONJ(a[i * ld + j]);
}

static void pack_a(struct blocks *k, const struct blas_product *p, int64_t i0, int64_t rows, int64_t l0, int64_t depth)
{
	for (int64_t l = 0; l < depth; l++)
		for (int64_t i = 0; i < rows; i++)
			k->a[l][i] = op_element(p->a, p->lda, p->ta, i0 + i, l0 + l);
}

static void pack_b(
	struct blocks *k, const struct blas_product *p, int64_t l0, int64_t depth, int64_t j0, int64_t cols, T alpha)
{
	for (int64_t j = 0; j < cols; j++)
		for (int64_t l = 0; l < depth; l++)
			k->b[j][l] = alpha * op_element(p->b, p->ldb, p->tb, l0 + l, j0 + j);
}

FOR_EACH_CPU static void add_block(const struct blocks *k, T *c, int64_t ldc, int64_t rows, int64_t depth, int64_t cols)
{
	int64_t j = 0;

	for (; j + 4 <= cols; j += 4) {
		T *restrict c0 = c + j * ldc, *restrict c1 = c0 + ldc, *restrict c2 = c1 + ldc, *restrict c3 = c2 + ldc;

		for (int64_t l = 0; l < depth; l++) {
			T b0 = k->b[j][l], b1 = k->b[j + 1][l], b2 = k->b[j + 2][l], b3 = k->b[j + 3][l];

			for (int64_t i = 0; i < rows; i++) {
				c0[i] += k->a[l][i] * b0;
				c1[i] += k->a[l][i] * b1;
				c2[i] += k->a[l][i] * b2;
				c3[i] += k->a[l][i] * b3;
			}
		}
	}
	for (; j < cols; j++)
		for (int64_t l = 0; l < depth; l++)
			for (int64_t i = 0; i < rows; i++)
				c[j * ldc + i] += k->a[l][i] * k->b[j][l];
}

static int64_t min_size(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

void GEMM(const struct blas_product *p, const void *alpha_at, const void *beta_at)
{
	T alpha = *(const T *)alpha_at, beta = *(const T *)beta_at, *c = p->c;
	struct blocks *k = malloc(sizeof *k);

	for (int64_t j = 0; j < p->n; j++)
		for (int64_t i = 0; i < p->m; i++)
			c[j * p->ldc + i] = beta == (T)0 ? (T)0 : beta * c[j * p->ldc + i];
	if (!k)
		abort(); /* out of memory, and a host function cannot report errors */
	for (int64_t l = 0; alpha != (T)0 && l < p->k; l += DEPTH)
		for (int64_t i = 0; i < p->m; i += ROWS) {
			int64_t rows = min_size(ROWS, p->m - i), depth = min_size(DEPTH, p->k - l);

			pack_a(k, p, i, rows, l, depth);
			for (int64_t j = 0; j < p->n; j += COLS) {
				pack_b(k, p, l, depth, j, min_size(COLS, p->n - j), alpha);
				add_block(k, c + j * p->ldc + i, p->ldc, rows, depth, min_size(COLS, p->n - j));
			}
		}
	free(k);
}

/* The product with index i of a batch. */
static struct blas_product batch_product(const struct blas_gemm *g, int64_t i)
{
	struct blas_product p = {g->ta, g->tb, g->m, g->n, g->k, NULL, NULL, NULL, g->lda, g->ldb, g->ldc};

	p.a = g->pointers ? ((const T *const *)g->a)[i] : (const T *)g->a + i * g->stride_a;
	p.b = g->pointers ? ((const T *const *)g->b)[i] : (const T *)g->b + i * g->stride_b;
	p.c = g->pointers ? ((T *const *)g->c)[i] : (T *)g->c + i * g->stride_c;
	return p;
}

static void gemm(const void *args)
{
	const struct blas_gemm *g = args;

	for (int64_t i = 0; i < g->count; i++) {
		struct blas_product p = batch_product(g, i);

		GEMM(&p, blas_value(&g->alpha), blas_value(&g->beta));
	}
}

static cublasStatus_t queue_gemm(struct blas *h, struct blas_gemm g, const T *alpha, const T *beta)
{
	cublasStatus_t r = blas_check_gemm(h, &g);

	if (r)
		return r;
	if (!alpha || !beta)
		return CUBLAS_STATUS_INVALID_VALUE;
	if (!g.m || !g.n || !g.count)
		return CUBLAS_STATUS_SUCCESS;
	g.alpha = blas_scalar(h, alpha, sizeof(T));
	g.beta = blas_scalar(h, beta, sizeof(T));
	return blas_queue(h, gemm, &g, sizeof g, false);
}

#define GEMM_NAME(I, end) \
	BLAS_EXPORT cublasStatus_t CUBLAS(gemm, end)(cublasHandle_t h, cublasOperation_t ta, cublasOperation_t tb, \
		I m, I n, I k, const T *alpha, const T *a, I lda, const T *b, I ldb, const T *beta, T *c, I ldc) \
	{ \
		return queue_gemm(h, (struct blas_gemm){BLAS_GEMM_MATRICES, .count = 1}, alpha, beta); \
	}
BOTH(GEMM_NAME)

#define GEMM_BATCHED(I, end) \
	BLAS_EXPORT cublasStatus_t CUBLAS(gemmBatched, end)(cublasHandle_t h, cublasOperation_t ta, \
		cublasOperation_t tb, I m, I n, I k, const T *alpha, const T *const *a, I lda, const T *const *b, \
		I ldb, const T *beta, T *const *c, I ldc, I count) \
	{ \
		return queue_gemm( \
			h, (struct blas_gemm){BLAS_GEMM_MATRICES, .count = count, .pointers = true}, alpha, beta); \
	} \
	BLAS_EXPORT cublasStatus_t CUBLAS(gemmStridedBatched, end)(cublasHandle_t h, cublasOperation_t ta, \
		cublasOperation_t tb, I m, I n, I k, const T *alpha, const T *a, I lda, long long sa, const T *b, \
		I ldb, long long sb, const T *beta, T *c, I ldc, long long sc, I count) \
	{ \
		return queue_gemm(h, \
			(struct blas_gemm){ \
				BLAS_GEMM_MATRICES, .count = count, .stride_a = sa, .stride_b = sb, .stride_c = sc}, \
			alpha, beta); \
	}
BOTH_PLAIN(GEMM_BATCHED)

/* ---- trsm: op(A) X = alpha B, or X op(A) = alpha B, for a triangular A ---- */

struct trsm {
	cublasSideMode_t side;
	cublasFillMode_t fill;
	cublasOperation_t op;
	cublasDiagType_t diag;
	int64_t m, n, lda, ldb;
	struct blas_scalar alpha;
	const void *a;
	void *b;
};

/* A on the right is its transpose on the left, applied to the rows of B. */
static void trsm(const void *args)
{
	const struct trsm *s = args;
	bool right = s->side == CUBLAS_SIDE_RIGHT,
	     upper = (s->fill == CUBLAS_FILL_MODE_UPPER) == (s->op == CUBLAS_OP_N);
	int64_t size = right ? s->n : s->m, lines = right ? s->m : s->n, step = right ? s->ldb : 1,
		line = right ? 1 : s->ldb;
	T alpha = scalar_value(&s->alpha);

	upper ^= right;
	for (int64_t l = 0; l < lines; l++) {
		T *x = (T *)s->b + l * line;

		for (int64_t k = 0; k < size; k++) {
			int64_t i = upper ? size - 1 - k : k, from = upper ? i + 1 : 0, to = upper ? size : i;
			T sum = alpha * x[i * step];

			for (int64_t j = from; j < to; j++)
				sum -= (right ? op_element(s->a, s->lda, s->op, j, i)
					      : op_element(s->a, s->lda, s->op, i, j)) *
				       x[j * step];
			x[i * step] = s->diag == CUBLAS_DIAG_UNIT ? sum : sum / op_element(s->a, s->lda, s->op, i, i);
		}
	}
}

#define TRSM(I, end) \
	BLAS_EXPORT cublasStatus_t CUBLAS(trsm, end)(cublasHandle_t h, cublasSideMode_t side, cublasFillMode_t fill, \
		cublasOperation_t op, cublasDiagType_t diag, I m, I n, const T *alpha, const T *a, I lda, T *b, I ldb) \
	{ \
		struct trsm s = {side, fill, op, diag, m, n, lda, ldb, .a = a, .b = b}; \
\
		if (!h) \
			return CUBLAS_STATUS_NOT_INITIALIZED; \
		if (!alpha || m < 0 || n < 0 || lda < (side == CUBLAS_SIDE_LEFT ? m : n) || ldb < m || \
			(unsigned)side > CUBLAS_SIDE_RIGHT || (unsigned)op > CUBLAS_OP_C || (m && n && (!a || !b))) \
			return CUBLAS_STATUS_INVALID_VALUE; \
		s.alpha = blas_scalar(h, alpha, sizeof(T)); \
		return m && n ? blas_queue(h, trsm, &s, sizeof s, false) : CUBLAS_STATUS_SUCCESS; \
	}
BOTH(TRSM)

/* ---- geam: C = alpha op(A) + beta op(B) ---- */

static void geam(const void *args)
{
	const struct blas_gemm *g = args;
	T alpha = scalar_value(&g->alpha), beta = scalar_value(&g->beta), *c = g->c;

	for (int64_t j = 0; j < g->n; j++)
		for (int64_t i = 0; i < g->m; i++)
			c[j * g->ldc + i] = (alpha == (T)0 ? (T)0 : alpha * op_element(g->a, g->lda, g->ta, i, j)) +
					    (beta == (T)0 ? (T)0 : beta * op_element(g->b, g->ldb, g->tb, i, j));
}

#define GEAM(I, end) \
	BLAS_EXPORT cublasStatus_t CUBLAS(geam, end)(cublasHandle_t h, cublasOperation_t ta, cublasOperation_t tb, \
		I m, I n, const T *alpha, const T *a, I lda, const T *beta, const T *b, I ldb, T *c, I ldc) \
	{ \
		struct blas_gemm g = {.ta = ta, \
			.tb = tb, \
			.m = m, \
			.n = n, \
			.a = a, \
			.b = b, \
			.c = c, \
			.lda = lda, \
			.ldb = ldb, \
			.ldc = ldc}; \
\
		if (!h) \
			return CUBLAS_STATUS_NOT_INITIALIZED; \
		if (!alpha || !beta || m < 0 || n < 0 || ldc < m || lda < (ta == CUBLAS_OP_N ? m : n) || \
			ldb < (tb == CUBLAS_OP_N ? m : n) || (m && n && (!a || !b || !c))) \
			return CUBLAS_STATUS_INVALID_VALUE; \
		g.alpha = blas_scalar(h, alpha, sizeof(T)); \
		g.beta = blas_scalar(h, beta, sizeof(T)); \
		return m && n ? blas_queue(h, geam, &g, sizeof g, false) : CUBLAS_STATUS_SUCCESS; \
	}
BOTH_PLAIN(GEAM)

/* ---- getrfBatched: A = P L U of many matrices, in place ---- */

struct getrf {
	int64_t n, lda, count;
	T *const *a;
	int *pivots, *info; /* pivots NULL: no row exchanges */
};

static void swap_rows(T *a, int64_t n, int64_t lda, int64_t i, int64_t j)
{
	for (int64_t k = 0; i != j && k < n; k++) {
		T t = a[k * lda + i];

		a[k * lda + i] = a[k * lda + j];
		a[k * lda + j] = t;
	}
}

/* Returns 0, or the index, from 1, of the first zero pivot. */
static int factorize_lu(T *a, int64_t n, int64_t lda, int *pivots)
{
	int zero = 0;

	for (int64_t j = 0; j < n; j++) {
		int64_t best = j;

		for (int64_t i = j + 1; pivots && i < n; i++)
			if (ABS1(a[j * lda + i]) > ABS1(a[j * lda + best]))
				best = i;
		if (pivots)
			pivots[j] = (int)best + 1;
		swap_rows(a, n, lda, j, best);
		if (a[j * lda + j] == (T)0) {
			zero = zero ? zero : (int)j + 1;
			continue;
		}
		for (int64_t i = j + 1; i < n; i++)
			a[j * lda + i] /= a[j * lda + j];
		for (int64_t k = j + 1; k < n; k++)
			for (int64_t i = j + 1; i < n; i++)
				a[k * lda + i] -= a[j * lda + i] * a[k * lda + j];
	}
	return zero;
}

static void getrf(const void *args)
{
	const struct getrf *g = args;

	for (int64_t i = 0; i < g->count; i++)
		g->info[i] = factorize_lu(g->a[i], g->n, g->lda, g->pivots ? g->pivots + i * g->n : NULL);
}

BLAS_EXPORT cublasStatus_t CUBLAS(getrfBatched, )(
	cublasHandle_t h, int n, T *const *a, int lda, int *pivots, int *info, int count)
{
	struct getrf g = {n, lda, count, a, pivots, info};

	if (!h)
		return CUBLAS_STATUS_NOT_INITIALIZED;
	if (n < 0 || count < 0 || lda < (n > 1 ? n : 1) || (count && !info) || (n && count && !a))
		return CUBLAS_STATUS_INVALID_VALUE;
	return count ? blas_queue(h, getrf, &g, sizeof g, false) : CUBLAS_STATUS_SUCCESS;
}
