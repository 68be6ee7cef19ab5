/* The changes of a product before cublasLtMatmul stores it: scales, bias, activation, gradients, largest values. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "blas/lt/lt_values.h"
#include "blas/work/work.h"

/* GELU by the tanh formula, as the vendor computes it, and its derivative. */
static const float gelu_root = 0.7978845608028654f, gelu_cube = 0.044715f; /* sqrt(2 / pi) */

static float gelu(float x)
{
	return 0.5f * x * (1 + tanhf(gelu_root * (x + gelu_cube * x * x * x)));
}

static float gelu_slope(float x)
{
	float t = tanhf(gelu_root * (x + gelu_cube * x * x * x));

	return 0.5f * (1 + t) + 0.5f * x * (1 - t * t) * gelu_root * (1 + 3 * gelu_cube * x * x);
}

/* ---- the auxiliary matrix: one bit an element for ReLU, the input of the activation for GELU ---- */

/* A bit may share its byte with rows of another thread's tile. */
static void mask_write(const struct epilogue *e, const float *v, int64_t i, int64_t j, int64_t n)
{
	for (int64_t x = 0; x < n; x++) {
		int64_t bit = e->by_column ? (i + x) * e->aux_ld + j : j * e->aux_ld + i + x;
		unsigned char *at = (unsigned char *)e->aux + bit / 8;

		if (v[x] > 0)
			__atomic_fetch_or(at, (unsigned char)(1 << bit % 8), __ATOMIC_RELAXED);
		else
			__atomic_fetch_and(at, (unsigned char)~(1 << bit % 8), __ATOMIC_RELAXED);
	}
}

static bool mask_read(const struct epilogue *e, int64_t i, int64_t j)
{
	int64_t bit = e->by_column ? i * e->aux_ld + j : j * e->aux_ld + i;

	return ((const unsigned char *)e->aux)[bit / 8] >> bit % 8 & 1;
}

static void amax_raise(_Atomic(uint32_t) *amax, const float *v, int64_t n)
{
	float most = 0;
	uint32_t bits, old;

	if (!amax)
		return;
	for (int64_t i = 0; i < n; i++)
		most = fmaxf(most, fabsf(v[i]));
	memcpy(&bits, &most, 4);
	old = atomic_load(amax);
	while (old < bits && !atomic_compare_exchange_weak(amax, &old, bits)) {
	}
}

/* The step between elements of a column of D in memory: with transposed matrices it is the leading dimension. */
static void aux_values(const struct epilogue *e, float *v, int64_t i, int64_t j, int64_t n, bool write)
{
	int64_t step = e->by_column ? e->aux_ld : 1, first = e->by_column ? i * e->aux_ld + j : j * e->aux_ld + i;
	unsigned char *at = (unsigned char *)e->aux + (size_t)first * blas_type_size(e->aux_type);

	if (write)
		blas_write_s(at, e->aux_type, step, v, n);
	else
		blas_read_s(v, at, e->aux_type, step, n);
}

static void aux_store(const struct epilogue *e, const float *v, int64_t i, int64_t j, int64_t n)
{
	float scaled[256];

	amax_raise(e->amax_aux, v, n);
	for (int64_t x = 0; x < n; x++)
		scaled[x] = v[x] * e->scale_aux;
	aux_values(e, scaled, i, j, n, true);
}

/* ---- one column ---- */

static void scale_column(const struct blas_product *p, float *v, const float *c, int64_t i, int64_t j, int64_t n)
{
	const struct epilogue *e = p->epilogue;
	float alpha = (float)creal(p->alpha) * e->scale, beta = (float)creal(p->beta) * e->scale_c;

	for (int64_t x = 0; x < n; x++) {
		int64_t row = e->by_column ? j : i + x, col = e->by_column ? i + x : j;
		float a = alpha * (e->alpha ? e->alpha[row] : 1) * (e->scale_rows ? e->scale_rows[row] : 1) *
			  (e->scale_cols ? e->scale_cols[col] : 1);

		v[x] *= a;
		if (c)
			v[x] += beta * (e->beta ? e->beta[row] : 1) * c[x];
	}
}

static void add_bias(const struct epilogue *e, float *v, int64_t i, int64_t j, int64_t n)
{
	unsigned size = blas_type_size(e->bias_type);
	float bias[256];

	blas_read_s(bias, (const unsigned char *)e->bias + (size_t)(e->by_column ? j : i) * size, e->bias_type, 1,
		e->by_column ? 1 : n);
	for (int64_t x = 0; x < n; x++)
		v[x] += bias[e->by_column ? 0 : x];
}

static void epilogue_activate(const struct epilogue *e, float *v, int64_t i, int64_t j, int64_t n)
{
	float input[256];

	if (e->kind & LT_RELU) {
		if (e->kind & LT_AUX)
			mask_write(e, v, i, j, n);
		for (int64_t x = 0; x < n; x++)
			v[x] = v[x] > 0 || v[x] != v[x] ? v[x] : 0;
	} else if (e->kind & LT_GELU) {
		if (e->kind & LT_AUX)
			aux_store(e, v, i, j, n);
		for (int64_t x = 0; x < n; x++)
			v[x] = gelu(v[x]);
	} else if (e->kind & LT_DRELU) {
		for (int64_t x = 0; x < n; x++)
			v[x] = mask_read(e, i + x, j) ? v[x] : 0;
	} else if (e->kind & LT_DGELU) {
		aux_values(e, input, i, j, n, false);
		for (int64_t x = 0; x < n; x++)
			v[x] *= gelu_slope(input[x]);
	}
}

/* ---- opening: addresses of the job ---- */

static float *open_floats(struct blas_run *r, uint64_t at, int64_t n)
{
	struct blas_operand o = {.at = at, .ld = n, .type = CUDA_R_32F};

	return at ? blas_matrix(r, &o, 0, n, 1) : NULL;
}

static bool open_aux(struct blas_run *r, struct epilogue *e, int64_t i)
{
	const struct blas_job *j = r->job;
	struct blas_operand o = j->epilogue.aux;
	int64_t rows = e->by_column ? j->n : j->m, cols = e->by_column ? j->m : j->n;

	e->aux_type = o.type;
	e->aux_ld = o.ld;
	if (e->kind & (LT_RELU | LT_DRELU)) { /* bits */
		o.type = CUDA_R_8U;
		o.stride /= 8;
		o.ld = (o.ld + 7) / 8;
		rows = (rows + 7) / 8;
		if (e->aux_ld % 8 || cols < 0) {
			blas_fail(r, CUDA_ERROR_INVALID_VALUE);
			return false;
		}
	}
	e->aux = blas_matrix(r, &o, i, rows, cols);
	return e->aux;
}

static bool open_bias(struct blas_run *r, struct epilogue *e, int64_t i)
{
	const struct blas_job *j = r->job;
	struct blas_operand o = j->epilogue.bias;
	int64_t rows = e->by_column ? j->n : j->m, cols = e->by_column ? j->m : j->n;

	o.ld = e->kind & LT_BGRADB ? cols : rows;
	e->bias = blas_matrix(r, &o, i, o.ld, 1);
	e->bias_type = o.type;
	e->bias_rows = o.ld;
	return e->bias;
}

bool blas_epilogue_open(struct blas_run *r, struct epilogue *e, int64_t i)
{
	const struct blas_job *j = r->job;
	const struct blas_epilogue *f = &j->epilogue;
	int64_t rows = f->transposed ? j->n : j->m, cols = f->transposed ? j->m : j->n;

	if (!lt_epilogue_known((int)f->kind) || blas_type_complex(f->bias.type) || blas_type_complex(f->aux.type) ||
		blas_type_complex(j->type)) {
		blas_fail(r, CUDA_ERROR_INVALID_VALUE);
		return false;
	}
	*e = (struct epilogue){.kind = f->kind,
		.by_column = f->transposed,
		.scale = (f->scale_a_vector ? 1 : blas_float_at(r, f->scale_a)) *
			 (f->scale_b_vector ? 1 : blas_float_at(r, f->scale_b)),
		.scale_c = blas_float_at(r, f->scale_c),
		.scale_d = blas_float_at(r, f->scale_d),
		.scale_aux = blas_float_at(r, f->scale_aux),
		.scale_rows = f->scale_a_vector ? open_floats(r, f->scale_a, rows) : NULL,
		.scale_cols = f->scale_b_vector ? open_floats(r, f->scale_b, cols) : NULL,
		.alpha = j->alpha.vector ? open_floats(r, j->alpha.at, rows) : NULL,
		.beta = j->beta.vector ? open_floats(r, j->beta.at, rows) : NULL,
		.amax_d = (_Atomic(uint32_t) *)open_floats(r, f->amax_d, 1),
		.amax_aux = (_Atomic(uint32_t) *)open_floats(r, f->amax_aux, 1)};
	if (e->amax_d)
		atomic_store(e->amax_d, 0);
	if (e->amax_aux)
		atomic_store(e->amax_aux, 0);
	if (e->kind & (LT_BIAS | LT_BGRAD | LT_BGRADA | LT_BGRADB) && !open_bias(r, e, i))
		return false;
	if (e->kind & LT_AUX && !open_aux(r, e, i))
		return false;
	e->gradient_ld = j->m;
	if (e->kind & LT_BGRAD && !(e->gradient = blas_scratch(r, j->m * j->n, sizeof(float))))
		return false;
	return !atomic_load(r->error);
}

/* The sums of the rows of `v`, a matrix of the product; across its columns if the product is transposed. */
static void write_sums(const struct epilogue *e, const float *v, int64_t rows, int64_t cols, int64_t ld, bool by_column)
{
	for (int64_t i = 0; i < (by_column ? cols : rows); i++) {
		double sum = 0;
		float f;

		for (int64_t j = 0; j < (by_column ? rows : cols); j++)
			sum += (double)(by_column ? v[i * ld + j] : v[j * ld + i]);
		f = (float)sum;
		blas_write_s(
			(unsigned char *)e->bias + (size_t)i * blas_type_size(e->bias_type), e->bias_type, 1, &f, 1);
	}
}

/* The sums over k of op(A) by rows, or of op(B) by columns. */
static void write_operand_sums(const struct blas_product *p)
{
	const struct epilogue *e = p->epilogue;
	bool a = !(e->kind & LT_BGRADA) == e->by_column; /* of the product's A */
	const unsigned char *from = a ? p->a : p->b;
	uint32_t type = a ? p->type_a : p->type_b;
	int64_t ld = a ? p->lda : p->ldb;
	bool by_rows = a == ((a ? p->ta : p->tb) == CUBLAS_OP_N); /* the sums run across columns in memory */

	for (int64_t i = 0; i < e->bias_rows; i++) {
		double sum = 0;
		float f;

		for (int64_t l = 0; l < p->k; l++) {
			blas_read_s(&f, from + (size_t)(by_rows ? l * ld + i : i * ld + l) * blas_type_size(type), type,
				1, 1);
			sum += (double)f;
		}
		f = (float)sum;
		blas_write_s(
			(unsigned char *)e->bias + (size_t)i * blas_type_size(e->bias_type), e->bias_type, 1, &f, 1);
	}
}

void blas_epilogue_close(const struct blas_product *p)
{
	const struct epilogue *e = p->epilogue;

	if (e->gradient)
		write_sums(e, e->gradient, p->m, p->n, e->gradient_ld, e->by_column);
	if (e->kind & (LT_BGRADA | LT_BGRADB))
		write_operand_sums(p);
	free(e->gradient);
}

void blas_epilogue_column(const struct blas_product *p, float *v, const float *c, int64_t i, int64_t j, int64_t n)
{
	const struct epilogue *e = p->epilogue;

	scale_column(p, v, c, i, j, n);
	if (e->kind & LT_BIAS)
		add_bias(e, v, i, j, n);
	epilogue_activate(e, v, i, j, n);
	if (e->gradient)
		for (int64_t x = 0; x < n; x++)
			e->gradient[j * e->gradient_ld + i + x] = v[x];
	amax_raise(e->amax_d, v, n);
	for (int64_t x = 0; x < n; x++)
		v[x] *= e->scale_d;
}
