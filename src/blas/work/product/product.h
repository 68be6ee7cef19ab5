/*
 * product.h - D = alpha op(A) op(B) + beta C, with sums in R.  Included by product_s.c and product_d.c.
 *
 *	pack	op(A) in panels of micro.rows rows, op(B) in panels of micro.cols columns, both converted to R
 *	tile	TILE_ROWS × TILE_COLS sums in a buffer of the thread: DEPTH by DEPTH, so that the panels stay in the cache
 *	store	alpha, beta, epilogue and the type of D, column by column of a finished tile
 *
 * A complex product is four products of the planes of its operands; plane 2 of A is the negative of its plane 1:
 *
 *	re	= A0 B0 + A2 B1
 *	im	= A0 B1 + A1 B0
 *
 * C and D may be the same memory: a tile reads its part of C before it writes.
 */
#include <stdlib.h>
#include <string.h>

#include "blas/work/product/micro.h"
#include "blas/work/work.h"

enum {
	TILE_ROWS = 192,
	TILE_COLS = 240,
	DEPTH = 256,
	PANELS = 8,           /* packed by one task */
	BLOCK = 8192,         /* rows or columns packed at a time, which limits the scratch memory */
	THIN = 4,             /* so few columns are multiplied without packing A */
	SERIAL_WORK = 1 << 16 /* products with fewer multiplications stay on one thread */
};

/* One operand: `rows` panels of `width` rows each, `depth` deep. */
struct side {
	const unsigned char *from;
	int64_t rows, row_step, depth_step; /* in elements */
	uint32_t type;
	bool paired, conjugate, negative;
	int width;
	R *packed[3]; /* by plane: real, imaginary, negative imaginary */
};

struct product_run {
	struct blas_run *run;
	const struct blas_product *p;
	struct micro micro;
	struct side a, b;
	int64_t row0, col0; /* of D: the block that is packed */
	int64_t row_tiles;
};

static int64_t min_size(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

static int64_t panels_of(const struct side *s)
{
	return (s->rows + s->width - 1) / s->width;
}

/* ---- packing ---- */

/* Read n numbers of a plane, `step` elements apart. */
static void read_numbers(const struct side *s, R *to, int64_t element, int64_t step, int plane, int64_t n)
{
	unsigned parts = s->paired ? 2 : 1;
	uint32_t real = blas_type_real(s->type);
	bool negate = plane == 2 ? !s->conjugate : plane == 1 && s->conjugate;

	READ_NUMBERS(to, s->from + ((size_t)element * parts + (plane ? 1 : 0)) * blas_type_size(real), real,
		step * parts, n);
	for (int64_t i = 0; negate && i < n; i++)
		to[i] = -to[i];
}

static void pack_panel(const struct side *s, R *to, int64_t depth, int64_t row, int plane)
{
	int64_t rows = min_size(s->width, s->rows - row), l = 0;
	R line[DEPTH];

	if (rows < s->width)
		memset(to, 0, (size_t)(depth * s->width) * sizeof(R));
	for (; s->row_step == 1 && l < depth; l++)
		read_numbers(s, to + l * s->width, row + l * s->depth_step, 1, plane, rows);
	for (; l < depth; l += DEPTH) {
		int64_t n = min_size(DEPTH, depth - l);

		for (int64_t i = 0; i < rows; i++) {
			R *at = to + l * s->width + i;

			read_numbers(s, line, (row + i) * s->row_step + l * s->depth_step, s->depth_step, plane, n);
			for (int64_t k = 0; k < n; k++)
				at[k * s->width] = line[k];
		}
	}
}

struct packing {
	const struct side *side;
	int64_t depth;
	int planes;
};

static void pack_some(void *data, uint64_t i)
{
	const struct packing *k = data;
	const struct side *s = k->side;

	for (int plane = 0; plane < k->planes; plane++)
		for (int64_t p = (int64_t)i * PANELS; p < ((int64_t)i + 1) * PANELS && p < panels_of(s); p++)
			pack_panel(s, s->packed[plane] + p * s->width * k->depth, k->depth, p * s->width, plane);
}

static void pack_side(struct blas_run *r, const struct side *s, int64_t depth, int planes)
{
	struct packing k = {s, depth, planes};

	blas_each(r, (panels_of(s) + PANELS - 1) / PANELS, pack_some, &k);
}

/* ---- tiles ---- */

/* sums += the product of two planes, for the tile whose panels start at pa and pb. */
static void tile_add(const struct product_run *k, const R *a, const R *b, int64_t rows, int64_t cols, R *sums)
{
	int64_t depth = k->p->k;
	int mr = k->micro.rows, nr = k->micro.cols;

	for (int64_t l = 0; l < depth; l += DEPTH) {
		int64_t n = min_size(DEPTH, depth - l);

		for (int64_t j = 0; j < cols; j += nr)
			for (int64_t i = 0; i < rows; i += mr)
				k->micro.add(n, a + i * depth + l * mr, b + j * depth + l * nr,
					sums + j * TILE_ROWS + i, TILE_ROWS);
	}
}

/* The rows from..to of column j that are written. */
static void written_rows(const struct blas_product *p, int64_t j, int64_t *from, int64_t *to)
{
	if (p->part == BLAS_LOWER && *from < j)
		*from = j;
	if (p->part == BLAS_UPPER && *to > j + 1)
		*to = j + 1;
}

/* v = alpha v + beta C, for n complex elements as pairs. */
static void scale_complex(const struct blas_product *p, R *v, const R *c, int64_t n)
{
	R ar = (R)creal(p->alpha), ai = (R)cimag(p->alpha), br = (R)creal(p->beta), bi = (R)cimag(p->beta);

	for (int64_t i = 0; i < n; i++) {
		R re = v[2 * i], im = v[2 * i + 1];

		v[2 * i] = ar * re - ai * im;
		v[2 * i + 1] = ar * im + ai * re;
		if (c) {
			v[2 * i] += br * c[2 * i] - bi * c[2 * i + 1];
			v[2 * i + 1] += br * c[2 * i + 1] + bi * c[2 * i];
		}
	}
}

static void scale_real(const struct blas_product *p, R *v, const R *c, int64_t n)
{
	R alpha = (R)creal(p->alpha), beta = (R)creal(p->beta);

	for (int64_t i = 0; i < n; i++)
		v[i] *= alpha;
	for (int64_t i = 0; c && i < n; i++)
		v[i] += beta * c[i];
}

/* Write rows row..row + n of column j of D from `v`, which holds sums. */
static void store_column(const struct blas_product *p, R *v, int64_t row, int64_t j, int64_t n)
{
	int parts = blas_type_complex(p->type_d) ? 2 : 1;
	unsigned size_c = blas_type_size(p->type_c), size_d = blas_type_size(p->type_d);
	R old[2 * TILE_ROWS], *c = NULL;

	if (p->beta != 0) {
		c = old;
		READ_NUMBERS(c, (const unsigned char *)p->c + (size_t)(j * p->ldc + row) * size_c,
			blas_type_real(p->type_c), 1, n * parts);
	}
	if (p->epilogue)
		EPILOGUE(p, v, c, row, j, n);
	else if (parts == 2)
		scale_complex(p, v, c, n);
	else
		scale_real(p, v, c, n);
	if (p->real_diagonal && parts == 2 && j >= row && j < row + n)
		v[2 * (j - row) + 1] = 0;
	WRITE_NUMBERS((unsigned char *)p->d + (size_t)(j * p->ldd + row) * size_d, blas_type_real(p->type_d), 1, v,
		n * parts);
}

static void tile_store(const struct product_run *k, int64_t row, int64_t col, int64_t rows, int64_t cols, R *re, R *im)
{
	for (int64_t j = 0; j < cols; j++) {
		int64_t from = row, to = row + rows;
		R pairs[2 * TILE_ROWS], *v = re + j * TILE_ROWS;

		written_rows(k->p, col + j, &from, &to);
		if (from >= to)
			continue;
		v += from - row;
		for (int64_t i = 0; im && i < to - from; i++) {
			pairs[2 * i] = v[i];
			pairs[2 * i + 1] = im[j * TILE_ROWS + from - row + i];
		}
		store_column(k->p, im ? pairs : v, from, col + j, to - from);
	}
}

static void run_tile(void *data, uint64_t number)
{
	const struct product_run *k = data;
	int64_t depth = k->p->k, i0 = (int64_t)number % k->row_tiles * TILE_ROWS,
		j0 = (int64_t)number / k->row_tiles * TILE_COLS;
	int64_t rows = min_size(TILE_ROWS, k->a.rows - i0), cols = min_size(TILE_COLS, k->b.rows - j0);
	int64_t row = k->row0 + i0, col = k->col0 + j0;
	bool paired = k->a.paired;
	size_t tile = (size_t)TILE_ROWS * TILE_COLS * sizeof(R);

	if (blas_stopped(k->run) || (k->p->part == BLAS_LOWER && row + rows <= col) ||
		(k->p->part == BLAS_UPPER && col + cols <= row))
		return;
	R *re = blas_scratch(k->run, 1, tile * (paired ? 2 : 1)), *im = paired && re ? re + tile / sizeof(R) : NULL;
	if (!re)
		return;
	memset(re, 0, (size_t)(((cols + k->micro.cols - 1) / k->micro.cols * k->micro.cols) * TILE_ROWS) * sizeof(R));
	if (paired)
		memset(im, 0, tile);
	tile_add(k, k->a.packed[0] + i0 * depth, k->b.packed[0] + j0 * depth, rows, cols, re);
	if (paired) {
		tile_add(k, k->a.packed[2] + i0 * depth, k->b.packed[1] + j0 * depth, rows, cols, re);
		tile_add(k, k->a.packed[0] + i0 * depth, k->b.packed[1] + j0 * depth, rows, cols, im);
		tile_add(k, k->a.packed[1] + i0 * depth, k->b.packed[0] + j0 * depth, rows, cols, im);
	}
	tile_store(k, row, col, rows, cols, re, im);
	free(re);
}

/* ---- the whole product ---- */

static bool allocate_side(struct blas_run *r, struct side *s, int64_t most, int64_t depth, int planes)
{
	int64_t rows = (most + s->width - 1) / s->width * s->width, plane;

	if (__builtin_mul_overflow(rows, depth, &plane) || plane > INT64_MAX / 64) {
		blas_fail(r, CUDA_ERROR_OUT_OF_MEMORY);
		return false;
	}
	s->packed[0] = blas_scratch(r, plane * planes, sizeof(R));
	for (int i = 1; i < planes && s->packed[0]; i++)
		s->packed[i] = s->packed[0] + i * plane;
	return s->packed[0];
}

/* op(A) or op(B) without its transposition: `rows` are those of op(A), or the columns of op(B). */
static struct side make_side(const void *from, uint32_t type, bool contiguous, int64_t ld, bool conjugate, int width)
{
	return (struct side){.from = from,
		.type = type,
		.row_step = contiguous ? 1 : ld,
		.depth_step = contiguous ? ld : 1,
		.paired = blas_type_complex(type),
		.conjugate = conjugate,
		.width = width};
}

static void multiply_blocks(struct product_run *k)
{
	const struct blas_product *p = k->p;
	struct side a = k->a, b = k->b;
	unsigned size_a = blas_type_size(p->type_a), size_b = blas_type_size(p->type_b);

	for (k->col0 = 0; k->col0 < p->n; k->col0 += BLOCK) {
		k->b.rows = min_size(BLOCK, p->n - k->col0);
		k->b.from = b.from + (size_t)(k->col0 * b.row_step) * size_b;
		pack_side(k->run, &k->b, p->k, b.paired ? 2 : 1);
		for (k->row0 = 0; k->row0 < p->m; k->row0 += BLOCK) {
			k->a.rows = min_size(BLOCK, p->m - k->row0);
			k->a.from = a.from + (size_t)(k->row0 * a.row_step) * size_a;
			pack_side(k->run, &k->a, p->k, a.paired ? 3 : 1);
			k->row_tiles = (k->a.rows + TILE_ROWS - 1) / TILE_ROWS;
			blas_each(k->run, k->row_tiles * ((k->b.rows + TILE_COLS - 1) / TILE_COLS), run_tile, k);
		}
	}
}

/* ---- few columns: every element of A is used once, so it is not packed ---- */

struct thin {
	struct blas_run *run;
	const struct blas_product *p;
	const R *b; /* op(B): n columns of k */
};

enum { THIN_ROWS = 64 };

/* Rows of D from THIN_ROWS dot products for each column, if A is stored by rows, else from multiples of its columns. */
FOR_EACH_CPU static void run_thin(void *data, uint64_t number)
{
	const struct thin *t = data;
	const struct blas_product *p = t->p;
	int64_t row = (int64_t)number * THIN_ROWS, rows = min_size(THIN_ROWS, p->m - row);
	const unsigned char *a = p->a;
	size_t size = blas_type_size(p->type_a);
	R sums[THIN][THIN_ROWS] = {{0}}, line[DEPTH];

	for (int64_t l = 0; p->ta != CUBLAS_OP_N && l < p->k; l += DEPTH)
		for (int64_t i = 0; i < rows; i++) {
			int64_t n = min_size(DEPTH, p->k - l);

			READ_NUMBERS(line, a + (size_t)((row + i) * p->lda + l) * size, p->type_a, 1, n);
			for (int64_t j = 0; j < p->n; j++) {
				const R *b = t->b + j * p->k + l;
				R parts[16] = {0}, sum = 0;
				int64_t x = 0;

				for (; x + 16 <= n; x += 16)
					for (int y = 0; y < 16; y++)
						parts[y] += line[x + y] * b[x + y];
				for (int y = 0; y < 16; y++)
					sum += parts[y];
				for (; x < n; x++)
					sum += line[x] * b[x];
				sums[j][i] += sum;
			}
		}
	for (int64_t l = 0; p->ta == CUBLAS_OP_N && l < p->k; l++) {
		READ_NUMBERS(line, a + (size_t)(l * p->lda + row) * size, p->type_a, 1, rows);
		for (int64_t j = 0; j < p->n; j++) {
			R b = t->b[j * p->k + l];

			for (int64_t i = 0; i < THIN_ROWS; i++)
				sums[j][i] += line[i] * b;
		}
	}
	for (int64_t j = 0; j < p->n; j++) {
		int64_t from = row, to = row + rows;

		written_rows(p, j, &from, &to);
		if (from < to)
			store_column(p, sums[j] + (from - row), from, j, to - from);
	}
}

static void multiply_thin(struct blas_run *r, const struct blas_product *p)
{
	R *b = blas_scratch(r, p->n * p->k, sizeof(R));
	struct thin t = {r, p, b};
	size_t size = blas_type_size(p->type_b);

	for (int64_t j = 0; b && j < p->n; j++)
		READ_NUMBERS(b + j * p->k,
			(const unsigned char *)p->b + (size_t)(p->tb == CUBLAS_OP_N ? j * p->ldb : j) * size, p->type_b,
			p->tb == CUBLAS_OP_N ? 1 : p->ldb, p->k);
	if (b)
		blas_each(r, (p->m + THIN_ROWS - 1) / THIN_ROWS, run_thin, &t);
	free(b);
}

/* k = 0 or alpha = 0: A and B are not read. */
static void scale_only(const struct blas_product *p)
{
	R zero[2 * TILE_ROWS];

	for (int64_t j = 0; j < p->n; j++)
		for (int64_t i = 0; i < p->m; i += TILE_ROWS) {
			int64_t from = i, to = min_size(i + TILE_ROWS, p->m);

			memset(zero, 0, sizeof zero);
			written_rows(p, j, &from, &to);
			if (from < to)
				store_column(p, zero, from, j, to - from);
		}
}

static void product_compute(struct blas_run *r, const struct blas_product *p)
{
	struct product_run k = {.run = r, .p = p, .micro = micro_choose(sizeof(R) == 8)};
	bool paired = blas_type_complex(p->type_a);

	k.a = make_side(p->a, p->type_a, p->ta == CUBLAS_OP_N, p->lda, p->ta == CUBLAS_OP_C, k.micro.rows);
	k.b = make_side(p->b, p->type_b, p->tb != CUBLAS_OP_N, p->ldb, p->tb == CUBLAS_OP_C, k.micro.cols);
	if (allocate_side(r, &k.a, min_size(BLOCK, p->m), p->k, paired ? 3 : 1) &&
		allocate_side(r, &k.b, min_size(BLOCK, p->n), p->k, paired ? 2 : 1))
		multiply_blocks(&k);
	free(k.a.packed[0]);
	free(k.b.packed[0]);
}

void PRODUCT(struct blas_run *r, const struct blas_product *p)
{
	bool serial = r->serial;

	if (p->m <= 0 || p->n <= 0)
		return;
	r->serial = serial || (double)p->m * (double)p->n * (double)p->k < SERIAL_WORK;
	if (p->k <= 0 || (p->alpha == 0 && !(p->epilogue && p->epilogue->alpha)))
		scale_only(p);
	else if (p->n <= THIN && !blas_type_complex(p->type_a))
		multiply_thin(r, p);
	else
		product_compute(r, p);
	r->serial = serial;
}
