/*
 * spec.h - what a test file says: its launch, its buffers, what must come out.
 *
 *	// add.rz.f32: truncates
 *	// >>> launch t grid=1 block=4 a=f32:1,2,0x7f800000,nan b=f32:1,1,1,1 out=c:f32:4
 *	// >>> expect c=f32:2,3,inf,0x7fffffff
 *
 * The arguments are the kernel's parameters in order: a buffer with values, a
 * buffer to write (out=name:type:count, all bytes 0xcc before the launch), or a
 * number (n=u32!5).  Comments that begin with a tab continue the line above.
 *
 *	launch NAME grid=X[,Y,Z] block=X[,Y,Z] [shared=BYTES] ARGUMENTS
 *	expect NAME=TYPE:VALUES		a buffer afterwards, bit for bit
 *	expect~2ulp NAME=...		at most so many units in the last place away
 *	expect~0.001 NAME=...		at most so far away; ~2ulp~0.001: either
 *	error 700			the launch fails with this CUresult
 *	refuse				the module is refused
 *
 * Values: decimal, 0x... (the bits), inf, nan (in expect: any NaN), * (in
 * expect: anything).  Types: u8 ... s64, b8 ... b64, f16, bf16, f32, f64.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { MAX_ARGS = 12, MAX_VALUES = 4096 };

struct values {
	char name[16];
	char type[8];
	unsigned size; /* bytes of one */
	unsigned n;
	uint64_t *bits;
	char *any; /* expect: 0 exact, 1 any NaN, 2 anything */
};

struct argument {
	struct values v;
	bool scalar;
	void *host; /* the buffer's bytes, before and after */
	size_t bytes;
};

struct expectation {
	struct values v;
	double ulp, absolute; /* tolerances: either is enough; 0: exact */
};

struct spec {
	char kernel[64];
	unsigned grid[3], block[3], shared;
	struct argument args[MAX_ARGS];
	unsigned nargs;
	struct expectation expect[MAX_ARGS];
	unsigned nexpect;
	int error;
	bool refuse;
	char *text;
	size_t len;
	char why[200]; /* of a file that makes no sense */
};

struct spec *spec_read(const char *path); /* NULL: no memory or no file */
void spec_free(struct spec *s);
/* How many values differ; each is printed. */
unsigned spec_compare(const struct spec *s, const char *path);

/* Runs the kernel: 0 or a CUresult; message says more. -1: the module was refused. -2: cannot run here. */
typedef int run_fn(struct spec *s, char *message, size_t size);
run_fn run_interp, run_cuda;
