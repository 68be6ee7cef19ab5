/*
 * level2.h - level 2 routines: a matrix and vectors.  Part of typed.h.
 *
 * All forms of storage have contiguous columns, so one struct describes them: full, banded and packed matrices,
 * general, symmetric and triangular.
 */

struct columns {
	T *a;
	int64_t m, n, ld;
	int64_t below, above; /* stored elements of a column below and above the diagonal, at most */
	enum blas_storage storage;
	bool upper;
};

/* The stored part of a column: p[i] is the element in row i, for from <= i < to. */
struct column {
	T *p;
	int64_t from, to;
};

static struct column column_at(const struct columns *s, int64_t j)
{
	struct column c = {
		.from = j - s->above > 0 ? j - s->above : 0, .to = j + s->below + 1 < s->m ? j + s->below + 1 : s->m};

	switch (s->storage) {
	case BLAS_FULL:
		c.p = s->a + j * s->ld;
		break;
	case BLAS_BAND: /* row `above` of the array holds the diagonal */
		c.p = s->a + j * s->ld + s->above - j;
		break;
	case BLAS_PACKED:
		c.p = s->a + (s->upper ? j * (j + 1) / 2 : j * (2 * s->n - j - 1) / 2);
		break;
	}
	return c;
}

/* Opens operand o of the job; `triangle`: only one half of it is stored. */
static bool columns_open(struct blas_run *r, struct columns *s, const struct blas_operand *operand, bool triangle)
{
	const struct blas_job *j = r->job;
	struct blas_operand o = *operand;
	int64_t rows = j->m, cols = j->n;

	*s = (struct columns){.m = j->m,
		.n = j->n,
		.ld = o.ld,
		.below = j->storage == BLAS_BAND ? j->kl : j->m,
		.above = j->storage == BLAS_BAND ? j->ku : j->n,
		.storage = (enum blas_storage)j->storage,
		.upper = j->fill == CUBLAS_FILL_MODE_UPPER};
	if (triangle && s->upper)
		s->below = 0;
	else if (triangle)
		s->above = 0;
	if (j->storage == BLAS_BAND)
		rows = s->below + s->above + 1;
	/* Only triangles are packed, and only full matrices come in batches. */
	if ((triangle && j->m != j->n) || (!triangle && j->storage == BLAS_PACKED) ||
		(j->storage != BLAS_FULL && (j->count != 1 || o.array))) {
		blas_fail(r, CUDA_ERROR_INVALID_VALUE);
		return false;
	}
	if (j->m < 0 || j->n < 0 || j->kl < 0 || j->ku < 0 || j->storage > BLAS_PACKED || o.type != TYPE ||
		j->n > INT32_MAX || (o.ld < rows && j->storage != BLAS_PACKED)) {
		blas_fail(r, CUDA_ERROR_INVALID_VALUE);
		return false;
	}
	if (j->storage == BLAS_PACKED) {
		rows = j->n * (j->n + 1) / 2;
		cols = 1;
	}
	s->a = blas_matrix(r, &o, 0, rows, cols);
	return s->a;
}

/* ---- gemv, gbmv: y = alpha op(A) x + beta y ---- */

struct gemv {
	const struct columns *s;
	const T *x;
	T *y, alpha;
	cublasOperation_t op;
};

enum { GEMV_ROWS = 1024, GEMV_COLS = 16 };

/* Rows number * GEMV_ROWS and those after them, from multiples of the columns. */
FOR_EACH_CPU static void gemv_rows(void *data, uint64_t number)
{
	const struct gemv *g = data;
	int64_t first = (int64_t)number * GEMV_ROWS, last = first + GEMV_ROWS;

	for (int64_t j = 0; j < g->s->n; j++) {
		struct column c = column_at(g->s, j);
		T f = g->alpha * g->x[j];

		for (int64_t i = c.from > first ? c.from : first, to = c.to < last ? c.to : last; i < to; i++)
			g->y[i] += c.p[i] * f;
	}
}

FOR_EACH_CPU static void gemv_cols(void *data, uint64_t number)
{
	const struct gemv *g = data;
	int64_t last = ((int64_t)number + 1) * GEMV_COLS;

	for (int64_t j = last - GEMV_COLS; j < last && j < g->s->n; j++) {
		struct column c = column_at(g->s, j);
		T parts[16] = {0}, sum = 0;
		int64_t i = c.from;

		for (; !COMPLEX && i + 16 <= c.to; i += 16)
			for (int k = 0; k < 16; k++)
				parts[k] += c.p[i + k] * g->x[i + k];
		for (int k = 0; k < 16; k++)
			sum += parts[k];
		for (; i < c.to; i++)
			sum += (g->op == CUBLAS_OP_C ? CONJ(c.p[i]) : c.p[i]) * g->x[i];
		g->y[j] += g->alpha * sum;
	}
}

static void scale_vector(T *y, int64_t n, T beta)
{
	for (int64_t i = 0; i < n; i++)
		y[i] = beta == (T)0 ? (T)0 : beta * y[i]; /* y may hold NaN */
}

static void gemv_member(struct blas_run *r, const struct columns *s, int64_t i)
{
	const struct blas_job *j = r->job;
	bool turned = j->op_a != CUBLAS_OP_N;
	int64_t rows = turned ? j->n : j->m, cols = turned ? j->m : j->n;
	T alpha = scalar_of(r, &j->alpha), beta = scalar_of(r, &j->beta);
	struct blas_vector y = blas_vector_open(r, &j->c, i, rows, TYPE), x = {NULL};

	if (y.x && alpha != (T)0)
		x = blas_vector_open(r, &j->b, i, cols, TYPE);
	if (y.x && !run_failed(r)) {
		struct gemv g = {s, x.x, y.x, alpha, (cublasOperation_t)j->op_a};
		struct blas_run part = *r;

		part.serial |= j->m * j->n < 1 << 16;
		scale_vector(y.x, rows, beta);
		if (alpha != (T)0)
			blas_each(&part,
				turned ? (rows + GEMV_COLS - 1) / GEMV_COLS : (rows + GEMV_ROWS - 1) / GEMV_ROWS,
				turned ? gemv_cols : gemv_rows, &g);
	}
	blas_vector_close(&x, false);
	blas_vector_close(&y, !run_failed(r));
}

static void gemv(struct blas_run *r)
{
	const struct blas_job *j = r->job;
	struct columns s;

	if (!columns_open(r, &s, &j->a, false))
		return;
	for (int64_t i = 0; i < j->count && !blas_stopped(r); i++) {
		if (j->count > 1 || j->a.array)
			s.a = blas_matrix(r, &j->a, i, j->m, j->n);
		if (s.a)
			gemv_member(r, &s, i);
	}
}

/* ---- symv, hemv and their banded and packed forms ---- */

static void symv(struct blas_run *r)
{
	const struct blas_job *j = r->job;
	T alpha = scalar_of(r, &j->alpha), beta = scalar_of(r, &j->beta);
	struct blas_vector vx = {NULL}, vy = {NULL};
	struct columns s;

	if (columns_open(r, &s, &j->a, true) && (vy = blas_vector_open(r, &j->c, 0, j->n, TYPE)).x && alpha != (T)0)
		vx = blas_vector_open(r, &j->b, 0, j->n, TYPE);
	T *x = vx.x, *y = vy.x;
	if (y && !run_failed(r))
		scale_vector(y, j->n, beta);
	for (int64_t k = 0; x && y && k < j->n; k++) {
		struct column c = column_at(&s, k);
		T sum = 0, f = alpha * x[k];

		for (int64_t i = c.from; i < c.to; i++) {
			if (i == k)
				continue;
			y[i] += c.p[i] * f;
			sum += (j->hermitian ? CONJ(c.p[i]) : c.p[i]) * x[i];
		}
		y[k] += alpha * sum + (j->hermitian ? REAL_OF(c.p[k]) : c.p[k]) * f;
	}
	blas_vector_close(&vx, false);
	blas_vector_close(&vy, !run_failed(r));
}

/* ---- triangular matrices: x = op(A) x, and the solution of op(A) x = b ---- */

static T stored_value(const struct blas_job *j, T v)
{
	return j->op_a == CUBLAS_OP_C ? CONJ(v) : v;
}

/* Without the diagonal: the sum of column k times x. */
static T column_dot(const struct blas_job *j, const struct column *c, int64_t k, const T *x)
{
	T sum = 0;

	for (int64_t i = c->from; i < c->to; i++)
		if (i != k)
			sum += stored_value(j, c->p[i]) * x[i];
	return sum;
}

static void column_add(const struct column *c, int64_t k, T f, T *x)
{
	for (int64_t i = c->from; i < c->to; i++)
		if (i != k)
			x[i] += c->p[i] * f;
}

static void triangle_solve(const struct blas_job *j, const struct columns *s, T *x)
{
	bool turned = j->op_a != CUBLAS_OP_N, backwards = s->upper != turned;

	for (int64_t l = 0; l < j->n; l++) {
		int64_t k = backwards ? j->n - 1 - l : l;
		struct column c = column_at(s, k);

		if (turned)
			x[k] -= column_dot(j, &c, k, x);
		if (j->diag != CUBLAS_DIAG_UNIT)
			x[k] /= stored_value(j, c.p[k]);
		if (!turned)
			column_add(&c, k, -x[k], x);
	}
}

static void triangle_multiply(const struct blas_job *j, const struct columns *s, T *x)
{
	bool turned = j->op_a != CUBLAS_OP_N, backwards = s->upper == turned;

	for (int64_t l = 0; l < j->n; l++) {
		int64_t k = backwards ? j->n - 1 - l : l;
		struct column c = column_at(s, k);
		T f = x[k];

		if (!turned)
			column_add(&c, k, f, x);
		if (j->diag != CUBLAS_DIAG_UNIT)
			x[k] *= stored_value(j, c.p[k]);
		if (turned)
			x[k] += column_dot(j, &c, k, x);
	}
}

static void triangle_run(struct blas_run *r, void (*fn)(const struct blas_job *j, const struct columns *s, T *x))
{
	struct blas_vector x = {NULL};
	struct columns s;

	if (columns_open(r, &s, &r->job->a, true) && (x = blas_vector_open(r, &r->job->c, 0, r->job->n, TYPE)).x)
		fn(r->job, &s, x.x);
	blas_vector_close(&x, !run_failed(r));
}

static void trmv(struct blas_run *r)
{
	triangle_run(r, triangle_multiply);
}

static void trsv(struct blas_run *r)
{
	triangle_run(r, triangle_solve);
}

/* ---- updates: A += alpha x y', and symmetric ones ---- */

static void ger(struct blas_run *r)
{
	const struct blas_job *j = r->job;
	T alpha = scalar_of(r, &j->alpha), *a = blas_matrix(r, &j->a, 0, j->m, j->n);
	struct blas_vector vx = blas_vector_open(r, &j->b, 0, j->m, TYPE),
			   vy = blas_vector_open(r, &j->d, 0, j->n, TYPE);
	T *x = vx.x, *y = vy.x;

	for (int64_t k = 0; !run_failed(r) && j->a.type == TYPE && k < j->n; k++) {
		T f = alpha * (j->conjugate ? CONJ(y[k]) : y[k]);

		for (int64_t i = 0; i < j->m; i++)
			a[k * j->a.ld + i] += x[i] * f;
	}
	blas_vector_close(&vx, false);
	blas_vector_close(&vy, false);
}

static void rank_update(struct blas_run *r, bool two)
{
	const struct blas_job *j = r->job;
	struct blas_vector vx = blas_vector_open(r, &j->b, 0, j->n, TYPE), vy = {NULL};
	T alpha = scalar_of(r, &j->alpha);
	struct columns s;

	if (two)
		vy = blas_vector_open(r, &j->d, 0, j->n, TYPE);
	T *x = vx.x, *y = two ? vy.x : vx.x;
	columns_open(r, &s, &j->a, true);
	for (int64_t k = 0; !run_failed(r) && k < j->n; k++) {
		struct column c = column_at(&s, k);
		T f = alpha * (j->hermitian ? CONJ(y[k]) : y[k]), g = 0;

		if (two)
			g = j->hermitian ? CONJ(alpha * x[k]) : alpha * x[k];
		for (int64_t i = c.from; i < c.to; i++)
			c.p[i] += x[i] * f + (two ? y[i] * g : (T)0);
		if (j->hermitian)
			c.p[k] = REAL_OF(c.p[k]);
	}
	blas_vector_close(&vx, false);
	blas_vector_close(&vy, false);
}

static void syr(struct blas_run *r)
{
	rank_update(r, false);
}

static void syr2(struct blas_run *r)
{
	rank_update(r, true);
}

/* ---- between packed (a) and full (c) storage of a triangle ---- */

static void triangle_repack(struct blas_run *r, bool to_packed)
{
	const struct blas_job *j = r->job;
	struct columns packed;
	T *full = blas_matrix(r, &j->c, 0, j->n, j->n);

	if (!full || j->c.type != TYPE || !columns_open(r, &packed, &j->a, true))
		return;
	for (int64_t k = 0; k < j->n; k++) {
		struct column c = column_at(&packed, k);

		for (int64_t i = c.from; i < c.to; i++)
			*(to_packed ? &c.p[i] : &full[k * j->c.ld + i]) = to_packed ? full[k * j->c.ld + i] : c.p[i];
	}
}

static void tpttr(struct blas_run *r)
{
	triangle_repack(r, false);
}

static void trttp(struct blas_run *r)
{
	triangle_repack(r, true);
}
