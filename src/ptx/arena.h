/*
 * arena.h - an allocator for the memory of one module: many small allocations, freed all at once.
 *
 * Not thread-safe.  Allocations are zeroed and aligned to 16 bytes.
 */
#pragma once

#include <stddef.h>

struct ptx_arena;

struct ptx_arena *arena_create(void);
void arena_destroy(struct ptx_arena *a);                           /* NULL is fine */
void *arena_alloc(struct ptx_arena *a, size_t count, size_t size); /* NULL: no memory, or overflow */
char *arena_strndup(struct ptx_arena *a, const char *s, size_t len);

/*
 * Makes room for one more element in an array of n elements.  The capacity follows from n (the next power of two, at
 * least 4), so the caller keeps only n.  Returns the array, perhaps moved, or NULL; the old array then stays valid.
 */
void *arena_push(struct ptx_arena *a, void *array, size_t n, size_t size);
