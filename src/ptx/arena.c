/* Implements arena.h as a list of chunks, from the first of which small allocations are taken. */
#include "ptx/arena.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

struct chunk {
	struct chunk *next;
	size_t used, size;
	_Alignas(16) char data[];
};

struct ptx_arena {
	struct chunk *chunks;
};

enum { CHUNK = 32 * 1024 };

struct ptx_arena *arena_create(void)
{
	return calloc(1, sizeof(struct ptx_arena));
}

void arena_destroy(struct ptx_arena *a)
{
	struct chunk *c, *next;

	if (!a)
		return;
	for (c = a->chunks; c; c = next) {
		next = c->next;
		free(c);
	}
	free(a);
}

static struct chunk *chunk_create(size_t size)
{
	struct chunk *c = calloc(1, sizeof *c + size);

	if (c)
		c->size = size;
	return c;
}

/* A large allocation gets its own chunk, behind the first, so that the rest of the first chunk stays in use. */
static void *alloc_large(struct ptx_arena *a, size_t n)
{
	struct chunk *c = chunk_create(n);

	if (!c)
		return NULL;
	c->used = n;
	if (a->chunks) {
		c->next = a->chunks->next;
		a->chunks->next = c;
	} else {
		a->chunks = c;
	}
	return c->data;
}

void *arena_alloc(struct ptx_arena *a, size_t count, size_t size)
{
	struct chunk *c = a->chunks;
	size_t n;

	if (__builtin_mul_overflow(count, size, &n) || n > SIZE_MAX / 2)
		return NULL;
	n = (n + 15) & ~(size_t)15;
	if (n > CHUNK / 4)
		return alloc_large(a, n);
	if (!c || c->size - c->used < n) {
		c = chunk_create(CHUNK);
		if (!c)
			return NULL;
		c->next = a->chunks;
		a->chunks = c;
	}
	c->used += n;
	return c->data + c->used - n;
}

char *arena_strndup(struct ptx_arena *a, const char *s, size_t len)
{
	char *d = arena_alloc(a, len + 1, 1);

	if (d)
		memcpy(d, s, len);
	return d;
}

void *arena_push(struct ptx_arena *a, void *array, size_t n, size_t size)
{
	void *bigger;

	if (n & (n - 1) || (n && n < 4))
		return array;
	bigger = arena_alloc(a, n ? n * 2 : 4, size);
	if (bigger && n)
		memcpy(bigger, array, n * size);
	return bigger;
}
