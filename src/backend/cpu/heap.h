/*
 * heap.h - the heap of in-kernel malloc, one per context: pointers outlive the kernel that allocated them, and any
 * kernel of the context may use and free them.
 *
 * Trust: kernels may be malicious.  heap_free ignores an address that heap_alloc did not return, as a GPU does.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct heap;

struct heap *heap_create(size_t size); /* NULL: no memory */
void heap_destroy(struct heap *h);     /* NULL is allowed */

uint64_t heap_alloc(struct heap *h, uint64_t size); /* 0: no memory */
void heap_free(struct heap *h, uint64_t addr);
bool heap_holds(const struct heap *h, uint64_t addr, uint64_t *base, uint64_t *size);
