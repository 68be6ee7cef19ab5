/* factor.h - factorizations of batches of small matrices, each on one thread.  Part of typed.h. */

/* Runs fn for each member of the batch, on several threads. */
struct batch {
	struct blas_run *run;
	void (*fn)(struct blas_run *r, int64_t i);
};

static void batch_member(void *data, uint64_t i)
{
	const struct batch *b = data;
	struct blas_run r = *b->run;

	r.serial = true;
	if (!blas_stopped(&r))
		b->fn(&r, (int64_t)i);
}

static void batch_run(struct blas_run *r, void (*fn)(struct blas_run *r, int64_t i))
{
	struct batch b = {r, fn};

	blas_each(r, r->job->count, batch_member, &b);
}

/* The int number i of an array behind operand e (of results) or b (of pivots). */
static int *int_at(struct blas_run *r, uint64_t at, int64_t i, int64_t n)
{
	if (!(at % 4))
		return blas_bytes(r, at + (uint64_t)i * 4, (uint64_t)n * 4);
	blas_fail(r, CUDA_ERROR_MISALIGNED_ADDRESS);
	return NULL;
}

static void write_info(struct blas_run *r, int64_t i, int info)
{
	int *at = r->job->e.at ? int_at(r, r->job->e.at, i, 1) : NULL;

	if (at)
		*at = info;
}

static void swap_rows(T *a, int64_t cols, int64_t lda, int64_t i, int64_t j)
{
	for (int64_t k = 0; i != j && k < cols; k++) {
		T t = a[k * lda + i];

		a[k * lda + i] = a[k * lda + j];
		a[k * lda + j] = t;
	}
}

/* ---- A = P L U ---- */

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

static void getrf_member(struct blas_run *r, int64_t i)
{
	const struct blas_job *j = r->job;
	T *a = open_matrix(r, &j->a, i, j->n, j->n);
	int *pivots = a && j->b.at ? int_at(r, j->b.at, i * j->n, j->n) : NULL;

	if (a && !run_failed(r))
		write_info(r, i, factorize_lu(a, j->n, j->a.ld, pivots));
}

static void getrf(struct blas_run *r)
{
	batch_run(r, getrf_member);
}

/* ---- solving with L and U ---- */

/* Pivots come from the client's memory: false, if one is not a row. */
static bool exchange_rows(struct blas_run *r, T *b, int64_t ldb, int64_t cols, const int *pivots, int64_t n, bool back)
{
	for (int64_t l = 0; pivots && l < n; l++) {
		int64_t k = back ? n - 1 - l : l, other = (int64_t)__atomic_load_n(&pivots[k], __ATOMIC_RELAXED) - 1;

		if (other < 0 || other >= n) {
			blas_fail(r, CUDA_ERROR_INVALID_VALUE);
			return false;
		}
		swap_rows(b, cols, ldb, k, other);
	}
	return true;
}

/* One triangle of LU: lower with a unit diagonal, or upper; op applies to it. */
static void lu_triangle(const T *lu, int64_t ld, int64_t n, bool lower, int op, T *x)
{
	bool forwards = lower == (op == CUBLAS_OP_N);

	for (int64_t l = 0; l < n; l++) {
		int64_t k = forwards ? l : n - 1 - l;
		T sum = x[k];

		for (int64_t i = forwards ? 0 : k + 1, to = forwards ? k : n; i < to; i++)
			sum -= op_element(lu, ld, op, k, i) * x[i];
		x[k] = lower ? sum : sum / op_element(lu, ld, op, k, k);
	}
}

static void lu_solve(struct blas_run *r, const T *lu, int64_t ld, int64_t n, const int *pivots, int op, T *b,
	int64_t ldb, int64_t cols)
{
	if (op == CUBLAS_OP_N && !exchange_rows(r, b, ldb, cols, pivots, n, false))
		return;
	for (int64_t j = 0; j < cols; j++) {
		lu_triangle(lu, ld, n, op == CUBLAS_OP_N, op, b + j * ldb);
		lu_triangle(lu, ld, n, op != CUBLAS_OP_N, op, b + j * ldb);
	}
	if (op != CUBLAS_OP_N)
		exchange_rows(r, b, ldb, cols, pivots, n, true);
}

/* n equations, k right sides in c, pivots in b. */
static void getrs_member(struct blas_run *r, int64_t i)
{
	const struct blas_job *j = r->job;
	const T *lu = open_matrix(r, &j->a, i, j->n, j->n);
	T *b = open_matrix(r, &j->c, i, j->n, j->k);
	const int *pivots = j->b.at ? int_at(r, j->b.at, i * j->n, j->n) : NULL;

	if (!run_failed(r))
		lu_solve(r, lu, j->a.ld, j->n, pivots, j->op_a, b, j->c.ld, j->k);
}

static void getrs(struct blas_run *r)
{
	batch_run(r, getrs_member);
}

/* C = the inverse of the matrix with this LU. */
static void write_inverse(struct blas_run *r, int64_t number, const T *lu, int64_t ld, const int *pivots, T *c)
{
	const struct blas_job *j = r->job;

	for (int64_t i = 0; i < j->n; i++)
		if (lu[i * ld + i] == (T)0) {
			write_info(r, number, (int)i + 1);
			return;
		}
	for (int64_t k = 0; k < j->n; k++)
		for (int64_t i = 0; i < j->n; i++)
			c[k * j->c.ld + i] = i == k;
	lu_solve(r, lu, ld, j->n, pivots, CUBLAS_OP_N, c, j->c.ld, j->n);
	write_info(r, number, 0);
}

static void getri_member(struct blas_run *r, int64_t i)
{
	const struct blas_job *j = r->job;
	const T *lu = open_matrix(r, &j->a, i, j->n, j->n);
	T *c = open_matrix(r, &j->c, i, j->n, j->n);
	const int *pivots = j->b.at ? int_at(r, j->b.at, i * j->n, j->n) : NULL;

	if (!run_failed(r))
		write_inverse(r, i, lu, j->a.ld, pivots, c);
}

static void getri(struct blas_run *r)
{
	batch_run(r, getri_member);
}

static void matinv_member(struct blas_run *r, int64_t i)
{
	const struct blas_job *j = r->job;
	const T *a = open_matrix(r, &j->a, i, j->n, j->n);
	T *c = open_matrix(r, &j->c, i, j->n, j->n), *lu = a ? blas_scratch(r, j->n * j->n, sizeof(T)) : NULL;
	int *pivots = blas_scratch(r, j->n, sizeof(int));

	if (!run_failed(r)) {
		for (int64_t k = 0; k < j->n; k++)
			memcpy(lu + k * j->n, a + k * j->a.ld, (size_t)j->n * sizeof(T));
		factorize_lu(lu, j->n, j->n, pivots);
		write_inverse(r, i, lu, j->n, pivots, c);
	}
	free(lu);
	free(pivots);
}

static void matinv(struct blas_run *r)
{
	batch_run(r, matinv_member);
}

/* ---- A = Q R by Householder reflections: I - tau v v', v[0] = 1, v stored below the diagonal ---- */

/* Makes x[1..n) zero; x[0] becomes the norm with a sign.  Returns tau. */
static T reflection_make(T *x, int64_t n)
{
	double below = 0;

	for (int64_t i = 1; i < n; i++)
		below += NORM(x[i]);
	if (below == 0 && (WIDE)x[0] == (WIDE)REAL_OF(x[0]))
		return 0;
	double norm = sqrt(below + NORM(x[0])), beta = creal(x[0]) > 0 ? -norm : norm;
	WIDE tau = (beta - (WIDE)x[0]) / beta, scale = 1 / ((WIDE)x[0] - beta);
	for (int64_t i = 1; i < n; i++)
		x[i] = (T)((WIDE)x[i] * scale);
	x[0] = (T)beta;
	return (T)tau;
}

/* c -= tau v (v' c) */
static void reflection_apply(const T *v, T tau, T *c, int64_t n)
{
	T sum = c[0];

	for (int64_t i = 1; i < n; i++)
		sum += CONJ(v[i]) * c[i];
	sum *= tau;
	c[0] -= sum;
	for (int64_t i = 1; i < n; i++)
		c[i] -= v[i] * sum;
}

static void factorize_qr(T *a, int64_t m, int64_t n, int64_t lda, T *tau)
{
	for (int64_t k = 0; k < (m < n ? m : n); k++) {
		tau[k] = reflection_make(a + k * lda + k, m - k);
		for (int64_t j = k + 1; j < n; j++)
			reflection_apply(a + k * lda + k, CONJ(tau[k]), a + j * lda + k, m - k);
	}
}

/* The factors tau are operand c. */
static void geqrf_member(struct blas_run *r, int64_t i)
{
	const struct blas_job *j = r->job;
	struct blas_operand o = j->c;
	T *a = open_matrix(r, &j->a, i, j->m, j->n), *tau;

	o.ld = j->m < j->n ? j->m : j->n;
	tau = open_matrix(r, &o, i, o.ld, 1);
	if (!run_failed(r))
		factorize_qr(a, j->m, j->n, j->a.ld, tau);
}

static void geqrf(struct blas_run *r)
{
	batch_run(r, geqrf_member);
}

/* The least squares solution of A X = C for m >= n; k right sides.  X replaces the first n rows of C. */
static void gels_member(struct blas_run *r, int64_t i)
{
	const struct blas_job *j = r->job;
	T *a = open_matrix(r, &j->a, i, j->m, j->n), *c = open_matrix(r, &j->c, i, j->m, j->k);
	T *tau = blas_scratch(r, j->n, sizeof(T));
	int info = 0;

	if (run_failed(r) || j->m < j->n) {
		free(tau);
		return;
	}
	factorize_qr(a, j->m, j->n, j->a.ld, tau);
	for (int64_t k = j->n - 1; k >= 0; k--)
		info = a[k * j->a.ld + k] == (T)0 ? (int)k + 1 : info;
	for (int64_t k = 0; !info && k < j->k; k++) {
		T *x = c + k * j->c.ld;

		for (int64_t l = 0; l < j->n; l++)
			reflection_apply(a + l * j->a.ld + l, CONJ(tau[l]), x + l, j->m - l);
		lu_triangle(a, j->a.ld, j->n, false, CUBLAS_OP_N, x);
	}
	write_info(r, i, info);
	free(tau);
}

static void gels(struct blas_run *r)
{
	batch_run(r, gels_member);
}
