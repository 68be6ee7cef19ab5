/*
 * memory.h - memory that two processes map: sealed memfds.
 *
 * Memory from the peer is accepted only if it is sealed against shrinking (otherwise an access could raise SIGBUS), has
 * the agreed size, and is plain memory: neither a file nor huge pages.
 */
#pragma once

#include <stddef.h>

int memory_create(const char *name, size_t size); /* a descriptor, or -errno */
int memory_check(int fd, size_t size);            /* 0 if the peer's descriptor may be mapped and has this size */
int memory_holds(int fd, size_t size);            /* the same, but it may be larger */

/*
 * Maps ranges of fd one after another, each `count` times in a row; NULL on failure. Forked children do not inherit the
 * mapping.
 */
struct memory_range {
	size_t offset, size;
	unsigned count;
};
void *memory_map(int fd, const struct memory_range *ranges, unsigned n, size_t *total);
void memory_unmap(void *base, size_t total);

size_t memory_page(void);
size_t memory_round(size_t size); /* up to a multiple of the page size */
