/* The C forms: plain and OpenMP. */
#include <stdio.h>
#include <string.h>

#include "bench.h"

typedef void kernel_fn(void **b, int n);
/* clang-format off */
#define ALL(X, form) \
	X(form, vector_add) X(form, sgemm) X(form, reduce) X(form, scan) \
	X(form, mandelbrot) X(form, nbody) X(form, black_scholes) X(form, histogram) \
	X(form, bitonic) X(form, stencil) X(form, gather) X(form, collatz) \
	X(form, spmv) X(form, half_gemm) X(form, softmax) X(form, layer_norm)
/* clang-format on */
#define DECLARE(form, name) kernel_fn form##_##name;
#define ROW(form, name)     {#name, form##_##name},
ALL(DECLARE, c)
ALL(DECLARE, omp)

struct row {
	const char *name;
	kernel_fn *fn;
};
static const struct row plain[] = {ALL(ROW, c)}, parallel[] = {ALL(ROW, omp)};
static void **buffers;

static bool c_start(const char *kernels)
{
	(void)kernels;
	return true;
}

static bool c_prepare(const struct bench *b, unsigned n, void **host)
{
	(void)b, (void)n;
	buffers = host;
	return true;
}

/* The kernels work in the host's buffers, which the caller has filled. */
static bool c_reset(const struct bench *b, unsigned n, void **host)
{
	return c_prepare(b, n, host);
}

static bool table_run(const struct row *rows, const struct bench *b, unsigned n)
{
	while (strcmp(rows->name, b->function))
		rows++;
	rows->fn(buffers, (int)n);
	return true;
}

static bool c_run(const struct bench *b, unsigned n)
{
	return table_run(plain, b, n);
}

static bool omp_run(const struct bench *b, unsigned n)
{
	return table_run(parallel, b, n);
}

static bool c_fetch(const struct bench *b, unsigned n, void *out)
{
	memcpy(out, buffers[b->out], buffer_size(&b->buffers[b->out], n));
	return true;
}

const struct form form_c = {"C", c_start, c_prepare, c_reset, c_run, c_fetch};
const struct form form_omp = {"OpenMP", c_start, c_prepare, c_reset, omp_run, c_fetch};
