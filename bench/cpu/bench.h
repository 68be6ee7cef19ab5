/*
 * bench.h - kernels of the CPU device against plain C, OpenMP and OpenCL on the same processor.
 *
 *	list.c		the kernels: sizes, buffers, launches, targets
 *	kernels.cu	the kernels in CUDA, which nvcc compiles to PTX
 *	kernels.cl	the same in OpenCL
 *	kernels.c	the same work in C, compiled once plainly and once with OpenMP (FORM is the name's prefix)
 *	form_*.c	runs a kernel in one form
 *	main.c		a process for each form, alternating repetitions, the table
 *
 * All forms get the same buffers and must give the same result.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

enum { MAX_BUFFERS = 6 };

/* The initial content of a buffer; count * n^power elements of 4 bytes (HALF: 2). */
enum fill { ZERO, UNIT, WORD, INDEX, HALF, ROWS, COLUMNS, SIGNED };
struct buffer {
	enum fill fill;
	unsigned count, power;
};

struct launch {
	const char *kernel;
	unsigned grid[2], block[2];
	int extra[2]; /* the arguments after n */
	unsigned nextra;
};

/* MEMORY: 0.9 of OpenMP's speed. COMPUTE: OpenMP's speed. FIVE: one thread five times plain C. SCALAR: one thread as C. */
enum target { MEMORY, COMPUTE, FIVE, SCALAR };

struct bench {
	const char *name, *function; /* function: of kernels.c, without the prefix */
	enum target target;
	unsigned n, small; /* sizes: of the bench and of the test */
	unsigned repeat;   /* how often one run does it all */
	struct buffer buffers[MAX_BUFFERS];
	unsigned nbuffers, out; /* out: the buffer that is compared */
	bool integers;          /* compared exactly */
	bool in_place;          /* the output is also the input: fill it before each run */
	/* The launch number i; false: there are no more. */
	bool (*launch)(unsigned n, unsigned i, struct launch *l);
};

extern const struct bench benches[];
extern const unsigned nbenches;

size_t buffer_size(const struct buffer *b, unsigned n); /* bytes */
void buffer_fill(const struct buffer *b, unsigned n, unsigned seed, void *p);

/* A form of the kernels. Functions return false after printing why. */
struct form {
	const char *name;
	bool (*start)(const char *kernels); /* the file of the form's kernels */
	bool (*prepare)(const struct bench *b, unsigned n, void **host);
	bool (*reset)(const struct bench *b, unsigned n, void **host); /* copies the input of in_place again */
	bool (*run)(const struct bench *b, unsigned n);                /* once, and waits */
	bool (*fetch)(const struct bench *b, unsigned n, void *out);
};
extern const struct form form_c, form_omp, form_cuda, form_opencl;
