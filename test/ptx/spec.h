/*
 * spec.h - spec files: PTX test files that state their launch, their inputs and their expected outputs.
 *
 *	// add.rz.f32: truncates
 *	// >>> launch t grid=1 block=4 a=f32:1,2,0x7f800000,nan b=f32:1,1,1,1 out=c:f32:4
 *	// >>> expect c=f32:2,3,inf,0x7fffffff
 *
 * The arguments are the kernel's parameters in order: a buffer with values, an output buffer
 * (out=name:type:count, filled with 0xcc before the launch), a number (n=u32!5), or the handle
 * of a texture or surface with its texels, row by row:
 *
 *	img=tex.2d.linear:u8x4:3x2:VALUES
 *	img=surf.a2d:b32:4x2x3:VALUES	(an array's last size is its layers; expect img=... afterwards)
 *
 * Words after the geometry (1d 2d 3d a1d a2d cube): linear, normalized, float (integers are converted to 0..1),
 * border, wrap (instead of clamp), gather, mip2 (two levels, one after the other), memory (1d only: a buffer instead
 * of an array; a GPU reads only buffers by integer coordinates).
 *
 * Comments that begin with a tab continue the line above.
 *
 *	launch NAME grid=X[,Y,Z] block=X[,Y,Z] [shared=BYTES] ARGUMENTS
 *	expect NAME=TYPE:VALUES		the buffer after the launch, bit for bit
 *	expect~2ulp NAME=...		with a tolerance of 2 units in the last place
 *	expect~0.001 NAME=...		with an absolute tolerance; ~2ulp~0.001: either
 *	error 700			the launch fails with this CUresult
 *	refuse				the module does not load
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
	void *host; /* the bytes of the buffer or image, before and after the launch */
	size_t bytes;
};

struct expectation {
	struct values v;
	double ulp, absolute; /* tolerances, of which either suffices; 0: exact */
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
	char why[200]; /* the error of an invalid file */
};

struct spec *spec_read(const char *path); /* NULL: no memory or no file */
void spec_free(struct spec *s);
/* Shared by spec.c and spec_image.c. The parsers return the end of what they read, or NULL. */
unsigned spec_type_size(const char *type); /* bytes; 0: no type */
const char *spec_list(const char *p, struct values *v);
const char *spec_image(const char *p, struct argument *a);
unsigned image_format(const struct argument *a); /* enum tex_format */
struct extent {
	unsigned width, height, slices; /* at least 1 */
	size_t pitch, offset, bytes;    /* bytes of a row; place and size of the level */
};
struct extent image_level(const struct argument *a, unsigned level);

/* The number of wrong values, after printing each. */
unsigned spec_compare(const struct spec *s, const char *path);

/* Runs the kernel: 0 or a CUresult, with a message. -1: the module did not load. -2: no device here can run it. */
typedef int run_fn(struct spec *s, char *message, size_t size);
run_fn run_interp, run_cuda;
bool cuda_is_too_old(const struct spec *s); /* true if the file needs a newer device than this machine has */
