/* The kernels, and the contents of their buffers. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"

static bool launch_one(
	unsigned i, struct launch *l, const char *kernel, unsigned gx, unsigned gy, unsigned bx, unsigned by)
{
	*l = (struct launch){.kernel = kernel, .grid = {gx, gy}, .block = {bx, by}};
	return i == 0;
}

#define LINE(name, kernel) \
	static bool name(unsigned n, unsigned i, struct launch *l) \
	{ \
		return launch_one(i, l, kernel, (n + 255) / 256, 1, 256, 1); \
	}
#define TILES(name, kernel) \
	static bool name(unsigned n, unsigned i, struct launch *l) \
	{ \
		return launch_one(i, l, kernel, n / 16, n / 16, 16, 16); \
	}
#define ROW_EACH(name, kernel) \
	static bool name(unsigned n, unsigned i, struct launch *l) \
	{ \
		return launch_one(i, l, kernel, n, 1, 256, 1); \
	}
LINE(launch_vector_add, "vector_add")
LINE(launch_nbody, "nbody")
LINE(launch_black_scholes, "black_scholes")
LINE(launch_gather, "gather")
LINE(launch_collatz, "collatz")
LINE(launch_spmv, "spmv")
TILES(launch_sgemm, "sgemm")
TILES(launch_mandelbrot, "mandelbrot")
TILES(launch_stencil, "stencil")
ROW_EACH(launch_softmax, "softmax")
ROW_EACH(launch_layer_norm, "layer_norm")

static bool launch_half_gemm(unsigned n, unsigned i, struct launch *l)
{
	return launch_one(i, l, "half_gemm", n / 16, n / 16, 32, 1);
}

static bool launch_histogram(unsigned n, unsigned i, struct launch *l)
{
	return launch_one(i, l, "histogram", (n + 8191) / 8192, 1, 256, 1);
}

static bool launch_reduction(unsigned n, unsigned i, struct launch *l)
{
	unsigned blocks = (n + 4095) / 4096;

	launch_one(0, l, i ? "reduce_parts" : "reduce", i ? 1 : blocks, 1, 256, 1);
	l->extra[0] = (int)blocks;
	l->nextra = 1;
	return i < 2;
}

/* Blocks of 1024 elements: scan each, scan their sums in one block, add. */
static bool launch_scan(unsigned n, unsigned i, struct launch *l)
{
	static const char *const kernels[] = {"scan_blocks", "scan_sums", "scan_add"};
	unsigned blocks = (n + 1023) / 1024;

	if (i == 3)
		return false;
	launch_one(0, l, kernels[i], i == 1 ? 1 : blocks, 1, 256, 1);
	l->extra[0] = (int)blocks;
	l->nextra = 1;
	return true;
}

/* Stage i: (size 2, distance 1), (4, 2), (4, 1), (8, 4) ... */
static bool launch_bitonic(unsigned n, unsigned i, struct launch *l)
{
	for (unsigned size = 2; size <= n; size *= 2)
		for (unsigned distance = size / 2; distance; distance /= 2) {
			if (i--)
				continue;
			launch_one(0, l, "bitonic", n / 256, 1, 256, 1);
			l->extra[0] = (int)size;
			l->extra[1] = (int)distance;
			l->nextra = 2;
			return true;
		}
	return false;
}

#define N(fill)        {fill, 1, 1}
#define NN(fill)       {fill, 1, 2}
#define TIMES(k, fill) {fill, k, 1}

const struct bench benches[] = {
	{"vectorAdd in cache", "vector_add", MEMORY, 65536, 1000, 20, {N(UNIT), N(UNIT), N(ZERO)}, 3, 2,
		.launch = launch_vector_add},
	{"vectorAdd in memory", "vector_add", MEMORY, 8 << 20, 5000, 1, {N(UNIT), N(UNIT), N(ZERO)}, 3, 2,
		.launch = launch_vector_add},
	{"tiled sgemm", "sgemm", COMPUTE, 1024, 64, 1, {NN(SIGNED), NN(SIGNED), NN(ZERO)}, 3, 2,
		.launch = launch_sgemm},
	{"reduction, shuffles", "reduce", MEMORY, 4 << 20, 10000, 1, {N(UNIT), N(ZERO), N(ZERO)}, 3, 2,
		.launch = launch_reduction},
	{"scan", "scan", MEMORY, 1 << 20, 8192, 1, {N(INDEX), N(ZERO), N(ZERO)}, 3, 1, .integers = true,
		.launch = launch_scan},
	{"Mandelbrot", "mandelbrot", FIVE, 768, 64, 1, {NN(ZERO)}, 1, 0, .integers = true, .launch = launch_mandelbrot},
	{"n-body", "nbody", FIVE, 4096, 512, 1, {TIMES(4, UNIT), TIMES(4, ZERO)}, 2, 1, .launch = launch_nbody},
	{"Black-Scholes", "black_scholes", FIVE, 512 << 10, 2000, 1, {N(UNIT), N(UNIT), N(UNIT), TIMES(2, ZERO)}, 4, 3,
		.launch = launch_black_scholes},
	{"histogram", "histogram", MEMORY, 4 << 20, 20000, 1, {N(WORD), N(ZERO)}, 2, 1, .integers = true,
		.in_place = true, .launch = launch_histogram},
	{"bitonic sort", "bitonic", COMPUTE, 256 << 10, 1024, 1, {N(WORD)}, 1, 0, .integers = true, .in_place = true,
		.launch = launch_bitonic},
	{"2D stencil", "stencil", MEMORY, 2048, 64, 1, {NN(UNIT), NN(ZERO)}, 2, 1, .launch = launch_stencil},
	{"gather", "gather", MEMORY, 2 << 20, 3000, 1, {N(UNIT), N(INDEX), N(ZERO)}, 3, 2, .launch = launch_gather},
	{"divergent loop", "collatz", SCALAR, 256 << 10, 3000, 1, {N(ZERO)}, 1, 0, .integers = true,
		.launch = launch_collatz},
	{"SpMV", "spmv", MEMORY, 64 << 10, 1000, 1,
		{TIMES(2, ROWS), TIMES(32, COLUMNS), TIMES(32, UNIT), N(UNIT), N(ZERO)}, 5, 4, .launch = launch_spmv},
	{"fp16 mma GEMM", "half_gemm", COMPUTE, 512, 64, 1, {NN(HALF), NN(HALF), NN(ZERO)}, 3, 2,
		.launch = launch_half_gemm},
	{"softmax", "softmax", COMPUTE, 1024, 20, 1, {TIMES(1024, SIGNED), TIMES(1024, ZERO)}, 2, 1,
		.launch = launch_softmax},
	{"layer norm", "layer_norm", COMPUTE, 2048, 20, 1, {TIMES(1024, SIGNED), TIMES(1024, ZERO)}, 2, 1,
		.launch = launch_layer_norm},
};
const unsigned nbenches = sizeof benches / sizeof *benches;

static size_t buffer_elements(const struct buffer *b, unsigned n)
{
	return b->power == 2 ? (size_t)n * n * b->count : (size_t)n * b->count;
}

size_t buffer_size(const struct buffer *b, unsigned n)
{
	return buffer_elements(b, n) * (b->fill == HALF ? 2 : 4);
}

static uint32_t random_word(uint32_t *state)
{
	*state = *state * 1664525u + 1013904223u;
	return *state >> 4 ^ *state << 13;
}

/* Rows of 0 to 31 elements; row i lies at p[i] .. p[i + 1]. */
static void fill_rows(uint32_t *p, size_t n, uint32_t state)
{
	uint32_t at = 0;

	for (size_t i = 0; i < n; i++) {
		p[i] = at;
		if (i < n / 2)
			at += random_word(&state) % 32;
	}
}

void buffer_fill(const struct buffer *b, unsigned n, unsigned seed, void *p)
{
	size_t count = buffer_elements(b, n);
	uint32_t state = seed * 77777 + 5, *w = p;

	if (b->fill == ROWS) {
		fill_rows(p, count, state);
		return;
	}
	for (size_t i = 0; i < count; i++) {
		uint32_t r = random_word(&state);
		float f = (float)(r & 0xffffff) / 0x1000000;

		if (b->fill == HALF) { /* multiples of 1/64 from -1 to 1 */
			((_Float16 *)p)[i] = (_Float16)((float)(r % 129) / 64 - 1);
			continue;
		}
		f = b->fill == SIGNED ? 2 * f - 1 : f;
		if (b->fill == UNIT || b->fill == SIGNED)
			memcpy(&w[i], &f, 4);
		else
			w[i] = b->fill == ZERO ? 0 : b->fill == WORD ? r : r % n;
	}
}
