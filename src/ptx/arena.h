/*
 * arena.h - memory of one module: taken in small pieces, given back all at once.
 *
 * Not thread-safe.  What arena_alloc returns is zeroed and aligned to 16.
 */
#pragma once

#include <stddef.h>

struct ptx_arena;

struct ptx_arena *arena_create(void);
void arena_destroy(struct ptx_arena *a);                           /* NULL is fine */
void *arena_alloc(struct ptx_arena *a, size_t count, size_t size); /* NULL: no memory, or overflow */
char *arena_strndup(struct ptx_arena *a, const char *s, size_t len);

/*
 * Makes room for one more element in an array of n; grows by doubling, so the
 * capacity is the power of two above n and need not be kept.  Returns the array,
 * or NULL (the old one is still good).
 */
void *arena_push(struct ptx_arena *a, void *array, size_t n, size_t size);
