/*
 * Gangway's cublasLt against references in double: products in all orders and types with all epilogues, batches, scales,
 * heuristics, and transformations of matrices.  Device memory is reached by copies only.
 */
#include <math.h>
#include <stdint.h>

#include "test/blas/blas.h"

enum { M = 37, N = 21, K = 29, BATCH = 2, MOST = 64 * 64 * BATCH };
enum { R_32F = 0, R_64F = 1, R_16F = 2, R_8I = 3, R_32I = 10, R_16BF = 14, R_E4M3 = 28 };
enum { BY_32F = 68, BY_64F = 70, BY_32I = 72 };
enum {
	DEFAULT = 1,
	RELU = 2,
	BIAS = 4,
	DRELU = 8,
	BGRAD = 16,
	GELU = 32,
	DGELU = 64,
	AUX = 128,
	BGRADA = 256,
	BGRADB = 512
};

typedef struct {
	uint64_t data[8];
} *layout;
typedef struct {
	uint64_t data[32];
} *matmul;
typedef void *other;
struct heuristic {
	uint64_t algorithm[8];
	size_t workspace;
	int state;
	float waves;
	int reserved[4];
};

int cublasLtCreate(handle *h);
int cublasLtDestroy(handle h);
size_t cublasLtGetVersion(void);
int cublasLtMatrixLayoutCreate(layout *l, int type, uint64_t rows, uint64_t cols, int64_t ld);
int cublasLtMatrixLayoutSetAttribute(layout l, int id, const void *from, size_t size);
int cublasLtMatrixLayoutDestroy(layout l);
int cublasLtMatmulDescCreate(matmul *d, int compute, int scale);
int cublasLtMatmulDescSetAttribute(matmul d, int id, const void *from, size_t size);
int cublasLtMatmulDescGetAttribute(matmul d, int id, void *to, size_t size, size_t *written);
int cublasLtMatmulDescDestroy(matmul d);
int cublasLtMatmulPreferenceCreate(other *p);
int cublasLtMatmulPreferenceDestroy(other p);
int cublasLtMatmulAlgoGetHeuristic(handle h, matmul d, layout a, layout b, layout c, layout dd, other preference,
	int wanted, struct heuristic *results, int *found);
int cublasLtMatmul(handle h, matmul op, const void *alpha, const void *a, layout la, const void *b, layout lb,
	const void *beta, const void *c, layout lc, void *d, layout ld, const void *algorithm, void *workspace,
	size_t size, CUstream s);
int cublasLtMatrixTransformDescCreate(other *t, int scale);
int cublasLtMatrixTransformDescSetAttribute(other t, int id, const void *from, size_t size);
int cublasLtMatrixTransformDescDestroy(other t);
int cublasLtMatrixTransform(handle h, other t, const void *alpha, const void *a, layout la, const void *beta,
	const void *b, layout lb, void *c, layout lc, CUstream s);

/* ---- numbers of any type ---- */

static void put(void *p, int type, int i, double v)
{
	float f = (float)v;
	uint32_t u;

	memcpy(&u, &f, 4);
	if (type == R_64F)
		((double *)p)[i] = v;
	else if (type == R_32F)
		((float *)p)[i] = f;
	else if (type == R_16F)
		((_Float16 *)p)[i] = (_Float16)f;
	else if (type == R_16BF)
		((uint16_t *)p)[i] = (uint16_t)((u + 0x8000) >> 16);
	else if (type == R_32I)
		((int32_t *)p)[i] = (int32_t)v;
	else
		((int8_t *)p)[i] = (int8_t)v;
}

static double e4m3(uint8_t v)
{
	double f = v & 0x78 ? ldexp(8 + (v & 7), (v >> 3 & 15) - 10) : ldexp(v & 7, -9);

	return v & 0x80 ? -f : f;
}

static double get(const void *p, int type, int i)
{
	uint32_t u = type == R_16BF ? (uint32_t)((const uint16_t *)p)[i] << 16 : 0;
	float f;

	memcpy(&f, &u, 4);
	return type == R_64F    ? ((const double *)p)[i]
	       : type == R_32F  ? (double)((const float *)p)[i]
	       : type == R_16F  ? (double)((const _Float16 *)p)[i]
	       : type == R_32I  ? ((const int32_t *)p)[i]
	       : type == R_8I   ? ((const int8_t *)p)[i]
	       : type == R_E4M3 ? e4m3(((const uint8_t *)p)[i])
				: (double)f;
}

static double number(void)
{
	static uint32_t state = 1;

	state = state * 1664525 + 1013904223;
	return (double)(int32_t)state / (1u << 31);
}

/* A matrix in device memory, and its values as the device sees them. */
struct matrix {
	int type, rows, cols, ld, by_rows;
	void *device;
	layout layout;
	double v[BATCH][64][64]; /* [batch][row][column] */
};

static int place(const struct matrix *x, int batch, int i, int j)
{
	return batch * 64 * 64 + (x->by_rows ? i * x->ld + j : j * x->ld + i);
}

static void upload(struct matrix *x)
{
	static char t[MOST * 8];

	memset(t, 0, sizeof t);
	for (int b = 0; b < BATCH; b++)
		for (int i = 0; i < x->rows; i++)
			for (int j = 0; j < x->cols; j++) {
				double v = x->type == R_8I     ? floor(x->v[b][i][j] * 7)
					   : x->type == R_E4M3 ? floor(fabs(x->v[b][i][j]) * 0x40)
							       : x->v[b][i][j];

				put(t, x->type, place(x, b, i, j), v);
				x->v[b][i][j] = get(t, x->type, place(x, b, i, j));
			}
	CHECK_EQ(cuMemcpyHtoD_v2((CUdeviceptr)x->device, t, sizeof t), 0);
}

static void make(struct matrix *x, int type, int rows, int cols, int by_rows)
{
	int64_t stride = 64 * 64;
	int32_t count = BATCH;

	x->type = type;
	x->rows = rows;
	x->cols = cols;
	x->by_rows = by_rows;
	x->ld = (by_rows ? cols : rows) + 3;
	for (int b = 0; b < BATCH; b++)
		for (int i = 0; i < rows; i++)
			for (int j = 0; j < cols; j++)
				x->v[b][i][j] = number();
	upload(x);
	CHECK_EQ(cublasLtMatrixLayoutCreate(&x->layout, type, (uint64_t)rows, (uint64_t)cols, x->ld), 0);
	CHECK_EQ(cublasLtMatrixLayoutSetAttribute(x->layout, 1, &by_rows, 4), 0);
	CHECK_EQ(cublasLtMatrixLayoutSetAttribute(x->layout, 5, &count, 4), 0);
	CHECK_EQ(cublasLtMatrixLayoutSetAttribute(x->layout, 6, &stride, 8), 0);
}

static void expect(const char *what, int kind, const struct matrix *x, double tolerance)
{
	static char t[MOST * 8];

	CHECK_EQ(cuCtxSynchronize(), 0);
	CHECK_EQ(cuMemcpyDtoH_v2(t, (CUdeviceptr)x->device, sizeof t), 0);
	for (int b = 0; b < BATCH; b++)
		for (int i = 0; i < x->rows; i++)
			for (int j = 0; j < x->cols; j++) {
				double got = get(t, x->type, place(x, b, i, j)), want = x->v[b][i][j];

				if (!(fabs(got - want) <= tolerance * (1 + fabs(want)))) {
					fprintf(stderr, "%s, kind %d: (%d, %d) of matrix %d is %g, not %g\n", what,
						kind, i, j, b, got, want);
					failures++;
					return;
				}
			}
}

static double gelu(double x)
{
	return 0.5 * x * (1 + tanh(0.7978845608028654 * (x + 0.044715 * x * x * x)));
}

static struct matrix a, b, c, d, aux, bias; /* bias: a matrix of one column */

static void set(matmul op, int id, int64_t v, size_t size)
{
	CHECK_EQ(cublasLtMatmulDescSetAttribute(op, id, &v, size), 0);
}

/* d.v = alpha op(A) op(B) + beta C */
static void reference(int ta, int tb, int k, double alpha, double beta)
{
	for (int x = 0; x < BATCH; x++)
		for (int i = 0; i < d.rows; i++)
			for (int j = 0; j < d.cols; j++) {
				double sum = 0;

				for (int l = 0; l < k; l++)
					sum += (ta ? a.v[x][l][i] : a.v[x][i][l]) * (tb ? b.v[x][j][l] : b.v[x][l][j]);
				d.v[x][i][j] = alpha * sum + (beta != 0 ? beta * c.v[x][i][j] : 0);
			}
}

/* Apply an epilogue to d.v; aux.v and bias.v are what the call reads, or become what it writes. */
static void reference_epilogue(int kind, int ta, int tb)
{
	if (kind & (BGRAD | BGRADA | BGRADB))
		memset(bias.v, 0, sizeof bias.v);
	for (int x = 0; x < BATCH; x++)
		for (int i = 0; i < d.rows; i++)
			for (int j = 0; j < d.cols; j++) {
				double *v = &d.v[x][i][j], y = aux.v[x][i][j];

				if (kind & BIAS)
					*v += bias.v[x][i][0];
				if (kind & GELU) {
					if (kind & AUX)
						aux.v[x][i][j] = *v;
					*v = gelu(*v);
				}
				if (kind & RELU)
					*v = fmax(*v, 0);
				if (kind & DGELU)
					*v *= (gelu(y + 1e-5) - gelu(y - 1e-5)) / 2e-5;
				if (kind & BGRAD)
					bias.v[x][i][0] += *v;
			}
	for (int x = 0; x < BATCH; x++)
		for (int l = 0; l < K; l++) {
			for (int i = 0; kind & BGRADA && i < M; i++)
				bias.v[x][i][0] += ta ? a.v[x][l][i] : a.v[x][i][l];
			for (int j = 0; kind & BGRADB && j < N; j++)
				bias.v[x][j][0] += tb ? b.v[x][j][l] : b.v[x][l][j];
		}
}

static void run_product(handle h, matmul op, const void *alpha, const void *beta, int kind)
{
	struct heuristic found;
	int n = 0;
	other preference;

	CHECK_EQ(cublasLtMatmulPreferenceCreate(&preference), 0);
	CHECK_EQ(cublasLtMatmulAlgoGetHeuristic(
			 h, op, a.layout, b.layout, c.layout, d.layout, preference, 1, &found, &n),
		0);
	CHECK_EQ(n, 1);
	CHECK_EQ(found.state, 0);
	if (cublasLtMatmul(h, op, alpha, a.device, a.layout, b.device, b.layout, beta, c.device, c.layout, d.device,
		    d.layout, found.algorithm, NULL, 0, NULL)) {
		fprintf(stderr, "cublasLtMatmul fails, kind %d\n", kind);
		failures++;
	}
	cublasLtMatmulPreferenceDestroy(preference);
}

static void destroy_layouts(void)
{
	cublasLtMatrixLayoutDestroy(a.layout);
	cublasLtMatrixLayoutDestroy(b.layout);
	cublasLtMatrixLayoutDestroy(c.layout);
	cublasLtMatrixLayoutDestroy(d.layout);
}

/* Every epilogue, operation and order, with f32, f16 and bf16. */
static void test_epilogues(handle h)
{
	static const int kinds[] = {DEFAULT, RELU, BIAS, RELU | BIAS, GELU, GELU | BIAS, GELU | AUX, GELU | AUX | BIAS,
		DGELU | AUX, DGELU | AUX | BGRAD, BGRADA, BGRADB},
			 types[] = {R_32F, R_16F, R_16BF};
	float alpha = 0.75f, beta = 0.5f;

	for (int t = 0; t < 12 * 32; t++) {
		int kind = kinds[t % 12], orders = t / 12 % 8, type = types[t % 3], ta = t / 12 % 2, tb = t / 24 % 2;
		double tolerance = type == R_32F ? 1e-4 : type == R_16F ? 1e-2 : 6e-2;
		bool turned = orders & 4;
		matmul op;

		make(&a, type, ta ? K : M, ta ? M : K, orders & 1);
		make(&b, type, tb ? N : K, tb ? K : N, orders >> 1 & 1);
		make(&c, type, M, N, turned);
		make(&d, type, M, N, turned);
		make(&aux, type, M, N, 0); /* in column order, also beside a D in row order */
		make(&bias, type, kind & BGRADB ? N : M, 1, 0);
		CHECK_EQ(cublasLtMatmulDescCreate(&op, BY_32F, R_32F), 0);
		set(op, 3, ta ? OP_T : OP_N, 4);
		set(op, 4, tb ? OP_T : OP_N, 4);
		set(op, 7, kind, 4);
		set(op, 8, (int64_t)bias.device, 8);
		set(op, 10, 64 * 64, 8);
		set(op, 11, (int64_t)aux.device, 8);
		set(op, 12, aux.ld, 8);
		set(op, 13, 64 * 64, 8);
		reference(ta, tb, K, (double)alpha, (double)beta);
		reference_epilogue(kind, ta, tb);
		run_product(h, op, &alpha, &beta, kind);
		expect("product", kind, &d, tolerance);
		if (kind & AUX)
			expect("auxiliary matrix", kind, &aux, tolerance);
		if (kind & (BGRAD | BGRADA | BGRADB))
			expect("gradient of the bias", kind, &bias, tolerance * 4);
		cublasLtMatmulDescDestroy(op);
		destroy_layouts();
		cublasLtMatrixLayoutDestroy(aux.layout);
		cublasLtMatrixLayoutDestroy(bias.layout);
	}
}

/* ReLU writes a mask, and its gradient reads it. */
static void test_relu_mask(handle h)
{
	float alpha = 1, beta = 0;
	matmul op;

	for (int by_rows = 0; by_rows < 2; by_rows++) {
		make(&a, R_32F, M, K, 0);
		make(&b, R_32F, K, N, 0);
		make(&c, R_32F, M, N, by_rows);
		make(&d, R_32F, M, N, by_rows);
		CHECK_EQ(cublasLtMatmulDescCreate(&op, BY_32F, R_32F), 0);
		set(op, 7, RELU | AUX, 4);
		set(op, 11, (int64_t)aux.device, 8);
		set(op, 12, 128, 8);
		set(op, 13, 128 * 64, 8);
		reference(0, 0, K, 1, 0);
		static double before[BATCH][64][64];
		memcpy(before, d.v, sizeof before);
		for (int x = 0; x < BATCH * 64 * 64; x++)
			(&d.v[0][0][0])[x] = fmax((&d.v[0][0][0])[x], 0);
		run_product(h, op, &alpha, &beta, RELU | AUX);
		expect("relu", RELU | AUX, &d, 1e-4);
		set(op, 7, DRELU | AUX, 4);
		run_product(h, op, &alpha, &beta, DRELU | AUX); /* the same product, masked where it was negative */
		expect("gradient of relu", DRELU | AUX, &d, 1e-4);
		cublasLtMatmulDescDestroy(op);
		destroy_layouts();
	}
}

/* Element types without epilogues; fp8 with scales and the largest value of D. */
static void test_types(handle h)
{
	static const struct {
		int in, out, compute, scale;
	} kinds[] = {{R_64F, R_64F, BY_64F, R_64F}, {R_8I, R_32I, BY_32I, R_32I}, {R_8I, R_8I, BY_32I, R_32F},
		{R_16BF, R_32F, BY_32F, R_32F}, {R_16F, R_16F, 64, R_16F}, {R_E4M3, R_16BF, BY_32F, R_32F}};
	float *scales = device_alloc(64), values[3] = {0.5f, 2, -1};
	char alpha[8] = {0}, beta[8] = {0};

	for (unsigned t = 0; t < sizeof kinds / sizeof *kinds; t++) {
		double factor = kinds[t].out == R_8I ? 0.125 : 1, most = 0;
		bool small = kinds[t].in == R_E4M3;
		matmul op;

		make(&a, kinds[t].in, K, M, 0);
		make(&b, kinds[t].in, K, N, 0);
		make(&c, kinds[t].out, M, N, 0);
		make(&d, kinds[t].out, M, N, 0);
		put(alpha, kinds[t].scale, 0, factor);
		put(beta, kinds[t].scale, 0, 1);
		CHECK_EQ(cublasLtMatmulDescCreate(&op, kinds[t].compute, kinds[t].scale), 0);
		set(op, 3, OP_T, 4);
		if (small) {
			CHECK_EQ(cuMemcpyHtoD_v2((CUdeviceptr)scales, values, sizeof values), 0);
			set(op, 17, (int64_t)scales, 8);
			set(op, 18, (int64_t)(scales + 1), 8);
			set(op, 21, (int64_t)(scales + 2), 8);
		}
		reference(1, 0, K, factor, 1);
		for (int x = 0; kinds[t].out == R_8I && x < BATCH * 64 * 64; x++) {
			double *v = &d.v[0][0][0] + x;

			*v = fmin(fmax(nearbyint(*v), -128), 127);
		}
		run_product(h, op, alpha, beta, (int)t);
		expect("types", (int)t, &d, kinds[t].out == R_16F || kinds[t].out == R_16BF ? 1e-2 : 1e-5);
		for (int i = 0; i < M; i++)
			for (int j = 0; j < N; j++)
				most = fmax(most, fabs(d.v[BATCH - 1][i][j]));
		if (small) {
			CHECK_EQ(cuMemcpyDtoH_v2(values, (CUdeviceptr)scales, sizeof values), 0);
			CHECK(fabs((double)values[2] - most) < 1e-3 * most);
		}
		cublasLtMatmulDescDestroy(op);
		destroy_layouts();
	}
}

static void test_transform(handle h)
{
	float alpha = 2, beta = -1;

	for (int t = 0; t < 32; t++) {
		int ta = t & 1, tb = t >> 1 & 1;
		other op;

		make(&a, R_32F, ta ? N : M, ta ? M : N, t >> 2 & 1);
		make(&b, R_16F, tb ? N : M, tb ? M : N, t >> 3 & 1);
		make(&d, R_32F, M, N, t >> 4 & 1);
		make(&c, R_32F, 1, 1, 0);
		CHECK_EQ(cublasLtMatrixTransformDescCreate(&op, R_32F), 0);
		CHECK_EQ(cublasLtMatrixTransformDescSetAttribute(op, 2, &ta, 4), 0);
		CHECK_EQ(cublasLtMatrixTransformDescSetAttribute(op, 3, &tb, 4), 0);
		for (int x = 0; x < BATCH; x++)
			for (int i = 0; i < M; i++)
				for (int j = 0; j < N; j++)
					d.v[x][i][j] = 2 * (ta ? a.v[x][j][i] : a.v[x][i][j]) -
						       (tb ? b.v[x][j][i] : b.v[x][i][j]);
		CHECK_EQ(cublasLtMatrixTransform(h, op, &alpha, a.device, a.layout, &beta, b.device, b.layout, d.device,
				 d.layout, NULL),
			0);
		expect("transform", t, &d, 1e-6);
		cublasLtMatrixTransformDescDestroy(op);
		destroy_layouts();
	}
}

static void test_refusals(handle h)
{
	float one = 1;
	size_t written = 0;
	int value = 0;
	matmul op;

	make(&a, R_32F, M, K, 0);
	make(&b, R_32F, K, N, 0);
	make(&c, R_32F, M, N, 0);
	make(&d, R_32F, M, N + 1, 0);
	CHECK_EQ(cublasLtMatmulDescCreate(&op, BY_32F, R_32F), 0);
	CHECK_EQ(cublasLtMatmul(h, op, &one, a.device, a.layout, b.device, b.layout, &one, c.device, c.layout, d.device,
			 d.layout, NULL, NULL, 0, NULL),
		7);
	set(op, 7, RELU | GELU, 4);
	CHECK_EQ(cublasLtMatmul(h, op, &one, a.device, a.layout, b.device, b.layout, &one, c.device, c.layout, c.device,
			 c.layout, NULL, NULL, 0, NULL),
		15);
	CHECK_EQ(cublasLtMatmul(NULL, op, &one, a.device, a.layout, b.device, b.layout, &one, c.device, c.layout,
			 c.device, c.layout, NULL, NULL, 0, NULL),
		1);
	CHECK_EQ(cublasLtMatmulDescSetAttribute(op, 7, &value, 8), 7);
	CHECK_EQ(cublasLtMatmulDescSetAttribute(op, 99, &value, 4), 7);
	CHECK_EQ(cublasLtMatmulDescGetAttribute(op, 7, NULL, 0, &written), 0);
	CHECK_EQ((int)written, 4);
	CHECK_EQ(cublasLtMatmulDescGetAttribute(op, 7, &value, 4, &written), 0);
	CHECK_EQ(value, RELU | GELU);
	cublasLtMatmulDescDestroy(op);
	destroy_layouts();
}

int main(void)
{
	struct matrix *all[] = {&a, &b, &c, &d, &aux, &bias};
	handle h;

	CHECK_EQ(cublasLtCreate(&h), 0);
	if (failures)
		return RESULT();
	CHECK(cublasLtGetVersion() > 130000);
	for (int i = 0; i < 6; i++)
		all[i]->device = device_alloc(MOST * 8);
	test_epilogues(h);
	test_relu_mask(h);
	test_types(h);
	test_transform(h);
	test_refusals(h);
	CHECK_EQ(cublasLtDestroy(h), 0);
	return RESULT();
}
