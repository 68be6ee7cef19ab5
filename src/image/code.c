/* The memory, order and lookup of struct image_code, the list of kernels and variables. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "image/private.h"

#define CHUNK 65536

/* Memory of one struct image_code: allocated in chunks, freed at once. */
struct image_arena {
	struct arena_chunk {
		struct arena_chunk *next;
		max_align_t data[];
	} *chunks;
	size_t budget; /* bytes that may still be allocated */
	char *at;      /* free part of the newest chunk */
	size_t left;
};

struct image_code *image_code_create(enum image_kind kind, size_t budget)
{
	struct image_code *code = calloc(1, sizeof *code);

	if (!code)
		return NULL;
	code->kind = kind;
	code->arena = calloc(1, sizeof *code->arena);
	if (!code->arena) {
		free(code);
		return NULL;
	}
	code->arena->budget = budget < SIZE_MAX - CHUNK ? budget + CHUNK : SIZE_MAX;
	return code;
}

void image_code_destroy(struct image_code *code)
{
	struct arena_chunk *c, *next;

	if (!code)
		return;
	for (c = code->arena->chunks; c; c = next) {
		next = c->next;
		free(c);
	}
	free(code->arena);
	free(code);
}

static bool arena_grow(struct image_arena *arena, size_t size)
{
	struct arena_chunk *c;

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

void *image_code_alloc(struct image_code *code, size_t n, size_t size)
{
	struct image_arena *arena = code->arena;
	size_t bytes;
	void *p;

	if (__builtin_mul_overflow(n, size, &bytes) || bytes > arena->budget)
		return NULL;
	bytes = bytes ? (bytes + sizeof(max_align_t) - 1) & -sizeof(max_align_t) : sizeof(max_align_t);
	if (bytes > arena->left && !arena_grow(arena, bytes))
		return NULL;
	arena->budget -= bytes < arena->budget ? bytes : arena->budget;
	p = arena->at;
	arena->at += bytes;
	arena->left -= bytes;
	return p;
}

char *image_code_text(struct image_code *code, const char *text, size_t size)
{
	char *p = size < SIZE_MAX ? image_code_alloc(code, size + 1, 1) : NULL;

	if (p)
		memcpy(p, text, size);
	return p;
}

int image_fail(struct image_error *err, int code, const char *format, ...)
{
	va_list args;

	if (!err)
		return code;
	va_start(args, format);
	vsnprintf(err->text, sizeof err->text, format, args);
	va_end(args);
	return code;
}

/* By name; of equal names, the visible kernel first. */
static int compare_kernels(const void *a, const void *b)
{
	const struct image_kernel *x = a, *y = b;
	int r = strcmp(x->name, y->name);

	return r ? r : x->local != y->local ? x->local - y->local : (int)x->piece - (int)y->piece;
}

/* By name; of equal names, definitions before declarations, and visible variables before static ones. */
static int compare_globals(const void *a, const void *b)
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
		qsort(code->kernels, code->nkernels, sizeof *code->kernels, compare_kernels);
	if (code->nglobals)
		qsort(code->globals, code->nglobals, sizeof *code->globals, compare_globals);
}

static int compare_kernel_name(const void *key, const void *item)
{
	return strcmp(key, ((const struct image_kernel *)item)->name);
}

static int compare_global_name(const void *key, const void *item)
{
	return strcmp(key, ((const struct image_global *)item)->name);
}

const struct image_kernel *image_code_kernel(const struct image_code *code, const char *name)
{
	const struct image_kernel *k = NULL;

	if (code->nkernels)
		k = bsearch(name, code->kernels, code->nkernels, sizeof *k, compare_kernel_name);
	while (k && k > code->kernels && !strcmp(k[-1].name, name))
		k--;
	return k;
}

const struct image_global *image_code_global(const struct image_code *code, const char *name)
{
	const struct image_global *g = NULL;

	if (code->nglobals)
		g = bsearch(name, code->globals, code->nglobals, sizeof *g, compare_global_name);
	while (g && g > code->globals && !strcmp(g[-1].name, name))
		g--;
	return g;
}
