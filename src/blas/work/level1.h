/* level1.h - level 1 routines: vectors.  Part of typed.h.  x is operand b, y is c, results go to d. */

static struct blas_vector open_vector(struct blas_run *r, const struct blas_operand *o, int64_t n)
{
	return blas_vector_open(r, o, 0, n, TYPE);
}

/* Write one number of the computation's type, or its real part. */
static void write_result(struct blas_run *r, WIDE value)
{
	const struct blas_operand *o = &r->job->d;
	double parts[2] = {creal(value), cimag(value)};
	void *at = blas_matrix(r, o, 0, 1, 1);

	if (at)
		blas_write_d(at, blas_type_real(o->type), 1, parts, blas_type_complex(o->type) ? 2 : 1);
}

/* Opens x and y of the job for LOOP, a statement about x[i] and y[i]. */
#define VECTORS(write_x, write_y, ...) \
	{ \
		int64_t n = r->job->n; \
		struct blas_vector vx = open_vector(r, &r->job->b, n); \
		struct blas_vector vy = vx.x ? open_vector(r, &r->job->c, n) : vx; \
		T *x = vx.x, *y = vy.x; \
\
		for (int64_t i = 0; x && y && !run_failed(r) && i < n; i++) { \
			__VA_ARGS__; \
		} \
		blas_vector_close(&vx, write_x && !run_failed(r)); \
		if (vy.copy != vx.copy || vy.x != vx.x) \
			blas_vector_close(&vy, write_y && !run_failed(r)); \
	}

static void axpy(struct blas_run *r)
{
	T alpha = scalar_of(r, &r->job->alpha);

	VECTORS(false, true, y[i] += alpha * x[i])
}

static void copy(struct blas_run *r)
{
	VECTORS(false, true, y[i] = x[i])
}

static void swap(struct blas_run *r)
{
	VECTORS(true, true, T t = x[i]; x[i] = y[i]; y[i] = t)
}

static void rot(struct blas_run *r)
{
	T c = scalar_of(r, &r->job->alpha), s = scalar_of(r, &r->job->beta);

	VECTORS(true, true, T t = c * x[i] + s * y[i]; y[i] = c * y[i] - CONJ(s) * x[i]; x[i] = t)
}

static void scal(struct blas_run *r)
{
	struct blas_vector v = open_vector(r, &r->job->c, r->job->n);
	T alpha = scalar_of(r, &r->job->alpha), *x = v.x;

	for (int64_t i = 0; x && !run_failed(r) && i < v.n; i++)
		x[i] *= alpha;
	blas_vector_close(&v, !run_failed(r));
}

static void dot(struct blas_run *r)
{
	WIDE sum = 0;

	if (r->job->n > 0 && r->job->conjugate)
		VECTORS(false, false, sum += (WIDE)CONJ(x[i]) * (WIDE)y[i])
	else if (r->job->n > 0)
		VECTORS(false, false, sum += (WIDE)x[i] * (WIDE)y[i])
	if (!run_failed(r))
		write_result(r, sum);
}

static void nrm2(struct blas_run *r)
{
	struct blas_vector v = {NULL};
	double sum = 0, most = 0;
	T *x;

	if (r->job->n > 0)
		v = open_vector(r, &r->job->b, r->job->n);
	x = v.x;
	for (int64_t i = 0; x && i < v.n; i++) {
		sum += NORM(x[i]);
		most = fmax(most, ABS1(x[i]));
	}
	/* If squares exceed the range of double, scale the elements first. */
	if (!(sum < 1e300 && sum > 1e-280) && most > 0 && most < INFINITY) {
		sum = 0;
		for (int64_t i = 0; i < v.n; i++)
			sum += NORM((WIDE)x[i] / most);
		sum = sqrt(sum) * most;
	} else {
		sum = sqrt(sum);
	}
	blas_vector_close(&v, false);
	if (!run_failed(r))
		write_result(r, sum);
}

static void asum(struct blas_run *r)
{
	struct blas_vector v = {NULL};
	double sum = 0;

	if (r->job->n > 0)
		v = open_vector(r, &r->job->b, r->job->n);
	for (int64_t i = 0; v.x && i < v.n; i++)
		sum += ABS1(((T *)v.x)[i]);
	blas_vector_close(&v, false);
	if (!run_failed(r))
		write_result(r, sum);
}

/* Writes the index, from 1, of the first element with the largest (or least) absolute value; 0: empty vector. */
static void find_extreme(struct blas_run *r, bool least)
{
	const struct blas_job *j = r->job;
	struct blas_vector v = {NULL};
	int64_t best = -1;
	double best_value = 0;

	if (j->n > 0 && j->b.ld > 0)
		v = open_vector(r, &j->b, j->n);
	for (int64_t i = 0; v.x && i < v.n; i++) {
		double a = ABS1(((T *)v.x)[i]);

		if (best < 0 || (least ? a < best_value : a > best_value)) {
			best_value = a;
			best = i;
		}
	}
	blas_vector_close(&v, false);
	best++;
	int32_t narrow = (int32_t)best;
	void *at = run_failed(r) ? NULL : blas_bytes(r, j->d.at, j->wide ? 8 : 4); /* copied: any alignment */
	if (at)
		memcpy(at, j->wide ? (void *)&best : (void *)&narrow, j->wide ? 8 : 4);
}

static void amax(struct blas_run *r)
{
	find_extreme(r, false);
}

static void amin(struct blas_run *r)
{
	find_extreme(r, true);
}

/* ---- construction of rotations, with all arguments in device memory ---- */

/* Reads or writes the numbers behind the operands, each `counts` parts long, as doubles. */
static bool move_numbers(
	struct blas_run *r, const struct blas_operand *const *o, double (*v)[8], const int *counts, int n, bool write)
{
	for (int i = 0; i < n; i++) {
		uint32_t real = blas_type_real(o[i]->type);
		struct blas_operand numbers = {.at = o[i]->at, .ld = counts[i], .type = real};
		void *at = blas_matrix(r, &numbers, 0, counts[i], 1);

		if (!at)
			return false;
		if (write)
			blas_write_d(at, real, 1, v[i], counts[i]);
		else
			blas_read_d(v[i], at, real, 1, counts[i]);
	}
	return true;
}

static void rotg(struct blas_run *r)
{
	const struct blas_job *j = r->job;
	const struct blas_operand *o[] = {&j->a, &j->b, &j->c, &j->d};
	int counts[] = {1 + COMPLEX, 1 + COMPLEX, 1, 1 + COMPLEX};
	double v[4][8];

	if (!move_numbers(r, o, v, counts, 4, false))
		return;
#if COMPLEX
	rotation_complex(v[0], v[1], v[2], v[3]);
#else
	rotation_real(v[0], v[1], v[2], v[3]);
#endif
	move_numbers(r, o, v, counts, 4, true);
}

#if !COMPLEX
static void rotmg(struct blas_run *r)
{
	const struct blas_job *j = r->job;
	const struct blas_operand *o[] = {&j->a, &j->b, &j->c, &j->d, &j->e};
	int counts[] = {1, 1, 1, 1, 5};
	double v[5][8];

	if (!move_numbers(r, o, v, counts, 5, false))
		return;
	rotation_modified(v[0], v[1], v[2], *v[3], v[4]);
	move_numbers(r, o, v, counts, 5, true);
}

static void rotm(struct blas_run *r)
{
	const struct blas_operand *o[] = {&r->job->a};
	double v[1][8], h[4];

	if (r->job->a.at) {
		if (!move_numbers(r, o, v, (int[]){5}, 1, false))
			return;
	} else { /* in the client's memory: alpha, beta and parameter hold the five */
		memcpy(v[0], r->job->alpha.value, 16);
		memcpy(v[0] + 2, r->job->beta.value, 16);
		v[0][4] = r->job->parameter;
	}
	if (!rotation_matrix(v[0], h))
		return;
	VECTORS(true, true, T t = (T)(h[0] * x[i] + h[2] * y[i]); y[i] = (T)(h[1] * x[i] + h[3] * y[i]); x[i] = t)
}
#endif
