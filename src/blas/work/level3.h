/*
 * level3.h - level 3 routines: matrices.  Part of typed.h.  All but the smallest are products (work.h) of matrices that
 * are expanded first: a symmetric or triangular one becomes a full one in scratch memory.
 */

static struct blas_product make_product(int64_t m, int64_t n, int64_t k)
{
	return (struct blas_product){
		.m = m, .n = n, .k = k, .type_a = TYPE, .type_b = TYPE, .type_c = TYPE, .type_d = TYPE, .alpha = 1};
}

/* Opens member i of an operand of the computation's own type. */
static T *open_matrix(struct blas_run *r, const struct blas_operand *o, int64_t i, int64_t rows, int64_t cols)
{
	if (o->type == TYPE && o->ld >= rows)
		return blas_matrix(r, o, i, rows, cols);
	blas_fail(r, CUDA_ERROR_INVALID_VALUE);
	return NULL;
}

static bool fill_is_upper(const struct blas_job *j)
{
	return j->fill == CUBLAS_FILL_MODE_UPPER;
}

/* ---- symm, hemm: C = alpha A B + beta C, or with B A, for a symmetric A ---- */

static T *expand_symmetric(struct blas_run *r, const T *a, int64_t ld, int64_t n)
{
	const struct blas_job *j = r->job;
	T *full = blas_scratch(r, n * n, sizeof(T));

	for (int64_t k = 0; full && k < n; k++)
		for (int64_t i = 0; i < n; i++) {
			bool stored = fill_is_upper(j) ? i <= k : i >= k;
			T v = stored ? a[k * ld + i] : a[i * ld + k];

			full[k * n + i] = j->hermitian && i == k ? REAL_OF(v) : j->hermitian && !stored ? CONJ(v) : v;
		}
	return full;
}

static void symm(struct blas_run *r)
{
	const struct blas_job *j = r->job;
	bool right = j->side == CUBLAS_SIDE_RIGHT;
	int64_t n = right ? j->n : j->m;
	const T *a = open_matrix(r, &j->a, 0, n, n), *b = open_matrix(r, &j->b, 0, j->m, j->n);
	struct blas_product p = make_product(j->m, j->n, n);
	T *full = a && b ? expand_symmetric(r, a, j->a.ld, n) : NULL;

	p.a = right ? b : full;
	p.b = right ? full : b;
	p.lda = right ? j->b.ld : n;
	p.ldb = right ? n : j->b.ld;
	p.c = p.d = open_matrix(r, &j->c, 0, j->m, j->n);
	p.ldc = p.ldd = j->c.ld;
	p.alpha = scalar_of(r, &j->alpha);
	p.beta = scalar_of(r, &j->beta);
	if (!run_failed(r))
		PRODUCT(r, &p);
	free(full);
}

/* ---- syrk, herk, syr2k, her2k, syrkx, herkx: one triangle of C = alpha op(A) op(B)' + ... + beta C ---- */

/* The product of op(A) and the transpose of op(B), where op is that of the job. */
static struct blas_product make_rank_product(struct blas_run *r, const T *a, int64_t lda, const T *b, int64_t ldb, T *c)
{
	const struct blas_job *j = r->job;
	cublasOperation_t turned = j->hermitian ? CUBLAS_OP_C : CUBLAS_OP_T;
	struct blas_product p = make_product(j->n, j->n, j->k);

	p.ta = j->op_a == CUBLAS_OP_N ? CUBLAS_OP_N : turned;
	p.tb = j->op_a == CUBLAS_OP_N ? turned : CUBLAS_OP_N;
	p.a = a;
	p.b = b;
	p.c = p.d = c;
	p.lda = lda;
	p.ldb = ldb;
	p.ldc = p.ldd = j->c.ld;
	p.part = fill_is_upper(j) ? BLAS_UPPER : BLAS_LOWER;
	p.real_diagonal = j->hermitian;
	p.alpha = scalar_of(r, &j->alpha);
	p.beta = scalar_of(r, &j->beta);
	return p;
}

static const T *open_rank_operand(struct blas_run *r, const struct blas_operand *o)
{
	const struct blas_job *j = r->job;
	bool turned = j->op_a != CUBLAS_OP_N;

	return open_matrix(r, o, 0, turned ? j->k : j->n, turned ? j->n : j->k);
}

/* SyrkEx and HerkEx have other types than that of the sums. */
static void syrk(struct blas_run *r)
{
	const struct blas_job *j = r->job;
	bool turned = j->op_a != CUBLAS_OP_N;
	const T *a = blas_matrix(r, &j->a, 0, turned ? j->k : j->n, turned ? j->n : j->k);
	T *c = blas_matrix(r, &j->c, 0, j->n, j->n);
	struct blas_product p = make_rank_product(r, a, j->a.ld, a, j->a.ld, c);

	p.type_a = p.type_b = j->a.type;
	p.type_c = p.type_d = j->c.type;
	if (blas_type_complex(p.type_a) != COMPLEX || blas_type_complex(p.type_c) != COMPLEX)
		blas_fail(r, CUDA_ERROR_INVALID_VALUE);
	if (!run_failed(r))
		PRODUCT(r, &p);
}

static void syrkx(struct blas_run *r)
{
	const struct blas_job *j = r->job;
	const T *a = open_rank_operand(r, &j->a), *b = open_rank_operand(r, &j->b);
	struct blas_product p = make_rank_product(r, a, j->a.ld, b, j->b.ld, open_matrix(r, &j->c, 0, j->n, j->n));

	if (!run_failed(r))
		PRODUCT(r, &p);
}

static void syr2k(struct blas_run *r)
{
	const struct blas_job *j = r->job;
	const T *a = open_rank_operand(r, &j->a), *b = open_rank_operand(r, &j->b);
	struct blas_product p = make_rank_product(r, a, j->a.ld, b, j->b.ld, open_matrix(r, &j->c, 0, j->n, j->n));

	if (run_failed(r))
		return;
	PRODUCT(r, &p);
	p.a = b;
	p.b = a;
	p.lda = j->b.ld;
	p.ldb = j->a.ld;
	p.alpha = j->hermitian ? conj(p.alpha) : p.alpha;
	p.beta = 1;
	PRODUCT(r, &p);
}

/* ---- triangular matrices ---- */

/* op(A) as a full matrix in scratch memory; `turn`: its transpose.  *upper: whether the result is upper triangular. */
static T *expand_triangle(struct blas_run *r, const T *a, int64_t n, bool turn, bool *upper)
{
	const struct blas_job *j = r->job;
	T *full = blas_scratch(r, n * n, sizeof(T));
	bool swapped = (j->op_a != CUBLAS_OP_N) != turn;

	for (int64_t k = 0; full && k < n; k++)
		for (int64_t i = 0; i < n; i++) {
			int64_t row = swapped ? k : i, col = swapped ? i : k; /* in A */
			bool stored = fill_is_upper(j) ? row <= col : row >= col;
			T v = stored ? a[col * j->a.ld + row] : (T)0;

			if (row == col && j->diag == CUBLAS_DIAG_UNIT)
				v = 1;
			full[k * n + i] = j->op_a == CUBLAS_OP_C ? CONJ(v) : v;
		}
	*upper = fill_is_upper(j) != swapped;
	return full;
}

/* C = alpha op(A) B, or B op(A); B and C may be the same matrix. */
static void trmm(struct blas_run *r)
{
	const struct blas_job *j = r->job;
	bool right = j->side == CUBLAS_SIDE_RIGHT, upper;
	int64_t n = right ? j->n : j->m;
	const T *a = open_matrix(r, &j->a, 0, n, n), *b = open_matrix(r, &j->b, 0, j->m, j->n);
	struct blas_product p = make_product(j->m, j->n, n);
	T *full = a && b ? expand_triangle(r, a, n, false, &upper) : NULL,
	  *kept = b ? blas_scratch(r, j->m * j->n, sizeof(T)) : NULL;

	p.d = open_matrix(r, &j->c, 0, j->m, j->n);
	p.ldd = j->c.ld;
	p.alpha = scalar_of(r, &j->alpha);
	p.a = right ? kept : full;
	p.b = right ? full : kept;
	p.lda = right ? j->m : n;
	p.ldb = right ? n : j->m;
	if (!run_failed(r)) {
		for (int64_t k = 0; k < j->n; k++)
			memcpy(kept + k * j->m, b + k * j->b.ld, (size_t)j->m * sizeof(T));
		PRODUCT(r, &p);
	}
	free(full);
	free(kept);
}

enum { SOLVE_BLOCK = 48, SOLVE_COLS = 8 };

/* The solution of a diagonal block, for some columns of B. */
struct solve {
	const T *a;
	T *b;
	int64_t lda, ldb, size, cols;
	bool upper;
};

static void solve_columns(void *data, uint64_t number)
{
	const struct solve *s = data;
	int64_t last = ((int64_t)number + 1) * SOLVE_COLS;

	for (int64_t j = last - SOLVE_COLS; j < last && j < s->cols; j++) {
		T *x = s->b + j * s->ldb;

		for (int64_t l = 0; l < s->size; l++) {
			int64_t k = s->upper ? s->size - 1 - l : l;
			const T *col = s->a + k * s->lda;

			x[k] /= col[k];
			for (int64_t i = s->upper ? 0 : k + 1, to = s->upper ? k : s->size; i < to; i++)
				x[i] -= col[i] * x[k];
		}
	}
}

/* Replaces B, size × cols, by the solution X of A X = B.  A has zeros in its other triangle. */
static void solve_left(struct blas_run *r, const T *a, int64_t size, bool upper, T *b, int64_t ldb, int64_t cols)
{
	for (int64_t done = 0; done < size && !run_failed(r); done += SOLVE_BLOCK) {
		int64_t n = size - done < SOLVE_BLOCK ? size - done : SOLVE_BLOCK, at = upper ? size - done - n : done;
		struct solve s = {a + at * size + at, b + at, size, ldb, n, cols, upper};
		int64_t left = size - done - n, first = upper ? 0 : at + n; /* rows that depend on this block */
		struct blas_product p = make_product(left, cols, n);
		struct blas_run part = *r;

		part.serial |= n * n * cols < 1 << 14;
		blas_each(&part, (cols + SOLVE_COLS - 1) / SOLVE_COLS, solve_columns, &s);
		p.a = a + at * size + first;
		p.b = b + at;
		p.c = p.d = b + first;
		p.lda = size;
		p.ldb = p.ldc = p.ldd = ldb;
		p.alpha = -1;
		p.beta = 1;
		PRODUCT(r, &p);
	}
}

/* X op(A) = B is the transpose of op(A)' X' = B', so a matrix on the right is solved in transposed scratch memory. */
static void trsm_member(struct blas_run *r, int64_t number)
{
	const struct blas_job *j = r->job;
	bool right = j->side == CUBLAS_SIDE_RIGHT, upper = false;
	int64_t n = right ? j->n : j->m, cols = right ? j->m : j->n;
	const T *a = open_matrix(r, &j->a, number, n, n);
	T alpha = scalar_of(r, &j->alpha), *b = open_matrix(r, &j->c, number, j->m, j->n), *x = b;
	T *full = a ? expand_triangle(r, a, n, right, &upper) : NULL;

	if (right)
		x = b ? blas_scratch(r, n * cols, sizeof(T)) : NULL;
	for (int64_t k = 0; !run_failed(r) && k < j->n; k++)
		for (int64_t i = 0; i < j->m; i++)
			*(right ? &x[i * n + k] : &x[k * j->c.ld + i]) =
				alpha == (T)0 ? (T)0 : alpha * b[k * j->c.ld + i];
	if (!run_failed(r) && alpha != (T)0)
		solve_left(r, full, n, upper, x, right ? n : j->c.ld, cols);
	for (int64_t k = 0; right && !run_failed(r) && k < j->n; k++)
		for (int64_t i = 0; i < j->m; i++)
			b[k * j->c.ld + i] = x[i * n + k];
	if (right)
		free(x);
	free(full);
}

static void trsm_serial(void *data, uint64_t i)
{
	struct blas_run r = *(struct blas_run *)data;

	r.serial = true;
	if (!blas_stopped(&r))
		trsm_member(&r, (int64_t)i);
}

static void trsm(struct blas_run *r)
{
	if (r->job->count > 1)
		blas_each(r, r->job->count, trsm_serial, r);
	else if (r->job->count == 1)
		trsm_member(r, 0);
}

/* ---- element by element ---- */

static T op_element(const T *a, int64_t ld, int op, int64_t i, int64_t j)
{
	return op == CUBLAS_OP_N ? a[j * ld + i] : op == CUBLAS_OP_T ? a[i * ld + j] : CONJ(a[i * ld + j]);
}

/* C = alpha op(A) + beta op(B) */
static void geam(struct blas_run *r)
{
	const struct blas_job *j = r->job;
	T alpha = scalar_of(r, &j->alpha), beta = scalar_of(r, &j->beta);
	bool ta = j->op_a != CUBLAS_OP_N, tb = j->op_b != CUBLAS_OP_N, read_a = alpha != (T)0, read_b = beta != (T)0;
	const T *a = read_a ? open_matrix(r, &j->a, 0, ta ? j->n : j->m, ta ? j->m : j->n) : NULL;
	const T *b = read_b ? open_matrix(r, &j->b, 0, tb ? j->n : j->m, tb ? j->m : j->n) : NULL;
	T *c = open_matrix(r, &j->c, 0, j->m, j->n);

	for (int64_t k = 0; !run_failed(r) && k < j->n; k++)
		for (int64_t i = 0; i < j->m; i++)
			c[k * j->c.ld + i] = (read_a ? alpha * op_element(a, j->a.ld, j->op_a, i, k) : (T)0) +
					     (read_b ? beta * op_element(b, j->b.ld, j->op_b, i, k) : (T)0);
}

/* C = diag(x) A, or A diag(x); x is b, with an increment that may be negative or 0. */
static void dgmm(struct blas_run *r)
{
	const struct blas_job *j = r->job;
	bool right = j->side == CUBLAS_SIDE_RIGHT;
	const T *a = open_matrix(r, &j->a, 0, j->m, j->n);
	T *c = open_matrix(r, &j->c, 0, j->m, j->n);
	struct blas_vector v = blas_vector_open(r, &j->b, 0, right ? j->n : j->m, TYPE);
	const T *x = v.x;

	for (int64_t k = 0; !run_failed(r) && k < j->n; k++)
		for (int64_t i = 0; i < j->m; i++)
			c[k * j->c.ld + i] = a[k * j->a.ld + i] * x[right ? k : i];
	blas_vector_close(&v, false);
}
