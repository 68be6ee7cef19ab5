/*
 * code.c - the list of kernels and variables that both readers fill: its memory, its order, looking things
 * up.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "image/private.h"

#define CHUNK 65536

struct image_arena {
	struct chunk {
		struct chunk *next;
		max_align_t data[];
	} *chunks;
	size_t budget; /* still to give */
	char *at;
	size_t left;
};

struct image_arena *image_arena_create(size_t budget)
{
	struct image_arena *arena = calloc(1, sizeof *arena);

	if (arena)
		arena->budget = budget;
	return arena;
}

void image_arena_destroy(struct image_arena *arena)
{
	struct chunk *c, *next;

	if (!arena)
		return;
	for (c = arena->chunks; c; c = next) {
		next = c->next;
		free(c);
	}
	free(arena);
}

static bool grow(struct image_arena *arena, size_t size)
{
	struct chunk *c;

	if (size < CHUNK)
		size = CHUNK;
	c = calloc(1, sizeof *c + size);
	if (!c)
		return false;
	c->next = arena->chunks;
	arena->chunks = c;
	arena->at = (char *)c->data;
	arena->left = size;
	return true;
}

void *image_arena_alloc(struct image_arena *arena, size_t n, size_t size)
{
	size_t bytes;
	void *p;

	if (__builtin_mul_overflow(n, size, &bytes) || bytes > arena->budget)
		return NULL;
	bytes = bytes ? (bytes + sizeof(max_align_t) - 1) & -sizeof(max_align_t) : sizeof(max_align_t);
	if (bytes > arena->left && !grow(arena, bytes))
		return NULL;
	arena->budget -= bytes < arena->budget ? bytes : arena->budget;
	p = arena->at;
	arena->at += bytes;
	arena->left -= bytes;
	return p;
}

char *image_arena_text(struct image_arena *arena, const char *text, size_t size)
{
	char *p = size < SIZE_MAX ? image_arena_alloc(arena, size + 1, 1) : NULL;

	if (p)
		memcpy(p, text, size);
	return p;
}

int image_fail(struct image_error *err, int code, unsigned line, const char *format, ...)
{
	va_list args;

	if (!err)
		return code;
	va_start(args, format);
	vsnprintf(err->text, sizeof err->text, format, args);
	va_end(args);
	err->line = line;
	return code;
}

/* Names first; of two with one name, the one that others can see. */
static int by_kernel(const void *a, const void *b)
{
	const struct image_kernel *x = a, *y = b;
	int r = strcmp(x->name, y->name);

	return r ? r : x->local != y->local ? x->local - y->local : (int)x->piece - (int)y->piece;
}

static int by_global(const void *a, const void *b)
{
	const struct image_global *x = a, *y = b;
	int r = strcmp(x->name, y->name);

	if (!r)
		r = x->local + 2 * x->external - y->local - 2 * y->external;
	return r ? r : (int)x->piece - (int)y->piece;
}

void image_code_sort(struct image_code *code)
{
	if (code->nkernels)
		qsort(code->kernels, code->nkernels, sizeof *code->kernels, by_kernel);
	if (code->nglobals)
		qsort(code->globals, code->nglobals, sizeof *code->globals, by_global);
}

int image_code_read(struct image_code **out, const void *data, size_t size, struct image_error *err)
{
	struct image_code *code;
	enum image_kind kind = image_sniff(data, size);
	int r;

	*out = NULL;
	if (err)
		memset(err, 0, sizeof *err);
	if (kind != IMAGE_CUBIN && kind != IMAGE_PTX)
		return image_fail(err, -ENOTSUP, 0, "neither a cubin nor PTX text");
	if (size > IMAGE_MAX)
		return image_fail(err, -E2BIG, 0, "%zu bytes of code are more than we read", size);
	code = calloc(1, sizeof *code);
	if (!code)
		return -ENOMEM;
	code->kind = kind;
	/* What we keep of each thing is larger than its shortest declaration, but not by much. */
	code->arena = image_arena_create(size * 16 + CHUNK);
	if (!code->arena)
		r = -ENOMEM;
	else if (kind == IMAGE_CUBIN)
		r = image_cubin_read(code, data, size, err);
	else
		r = image_ptx_read(code, data, size, err);
	if (r) {
		image_code_destroy(code);
		return r;
	}
	image_code_sort(code);
	*out = code;
	return 0;
}

void image_code_destroy(struct image_code *code)
{
	if (!code)
		return;
	image_arena_destroy(code->arena);
	free(code);
}

static int is_kernel(const void *key, const void *item)
{
	return strcmp(key, ((const struct image_kernel *)item)->name);
}

static int is_global(const void *key, const void *item)
{
	return strcmp(key, ((const struct image_global *)item)->name);
}

const struct image_kernel *image_code_kernel(const struct image_code *code, const char *name)
{
	const struct image_kernel *k = NULL;

	if (code->nkernels)
		k = bsearch(name, code->kernels, code->nkernels, sizeof *k, is_kernel);
	while (k && k > code->kernels && !strcmp(k[-1].name, name))
		k--;
	return k;
}

const struct image_global *image_code_global(const struct image_code *code, const char *name)
{
	const struct image_global *g = NULL;

	if (code->nglobals)
		g = bsearch(name, code->globals, code->nglobals, sizeof *g, is_global);
	while (g && g > code->globals && !strcmp(g[-1].name, name))
		g--;
	return g;
}
