/*
 * heap.h - the heap of in-kernel malloc, one of a context: pointers outlive the kernel that made them, and
 * any kernel of the context may use and free them.
 *
 * Kernels mean no good: an address to be freed is one that was given out, or is left alone, as on a GPU.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct heap;

struct heap *heap_create(size_t size); /* NULL: no memory */
void heap_destroy(struct heap *h);     /* NULL is fine */

uint64_t heap_alloc(struct heap *h, uint64_t size); /* 0: there is no room */
void heap_free(struct heap *h, uint64_t addr);
bool heap_holds(const struct heap *h, uint64_t addr, uint64_t *base, uint64_t *size);
