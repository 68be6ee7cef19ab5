/*
 * spec.h - what a test file says: its launch, its buffers, what must come out.
 *
 *	// add.rz.f32: truncates
 *	// >>> launch t grid=1 block=4 a=f32:1,2,0x7f800000,nan b=f32:1,1,1,1 out=c:f32:4
 *	// >>> expect c=f32:2,3,inf,0x7fffffff
 *
 * The arguments are the kernel's parameters in order: a buffer with values, a
 * buffer to write (out=name:type:count, all bytes 0xcc before the launch), a
 * number (n=u32!5), or the handle of a texture or surface with its texels, row by row:
 *
 *	img=tex.2d.linear:u8x4:3x2:VALUES
 *	img=surf.a2d:b32:4x2x3:VALUES	(an array's last size is its layers; expect img=... afterwards)
 *
 * Words after the geometry (1d 2d 3d a1d a2d cube): linear, normalized, float (integers are read as
 * 0 to 1), border, wrap (instead of clamp), gather, mip2 (two levels, one after the other), memory (1d: no
 * array but a buffer, which alone a GPU can read by integer coordinates).
 *
 * Comments that begin with a tab continue the line above.
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

struct image {
	unsigned dims;             /* 0: not an image */
	unsigned width, height;    /* height 0: 1d */
	unsigned depth, layers;    /* 0: none */
	unsigned levels, channels; /* at least 1 */
	unsigned address;          /* enum tex_address */
	bool surface, cube, linear, normalized, as_float, gather, memory;
};

struct argument {
	struct values v;
	struct image image;
	bool scalar;
	void *host; /* the buffer's or image's bytes, before and after */
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
/* For spec.c: one after the other, behind the last of them or NULL. */
unsigned spec_type_size(const char *type); /* bytes; 0: no type */
const char *spec_list(const char *p, struct values *v);
const char *spec_image(const char *p, struct argument *a); /* NULL: makes no sense */
unsigned image_format(const struct argument *a);           /* enum tex_format */
struct extent {
	unsigned width, height, slices; /* at least 1 */
	size_t pitch, offset, bytes;    /* of a row; of the level among all bytes */
};
struct extent image_level(const struct argument *a, unsigned level);

/* How many values differ; each is printed. */
unsigned spec_compare(const struct spec *s, const char *path);

/* Runs the kernel: 0 or a CUresult; message says more. -1: the module was refused. -2: cannot run here. */
typedef int run_fn(struct spec *s, char *message, size_t size);
run_fn run_interp, run_cuda;
bool cuda_is_too_old(const struct spec *s); /* Does the file ask for a newer device than this machine has? */
