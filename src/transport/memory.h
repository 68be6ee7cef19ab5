/*
 * memory.h - memory that two processes map: sealed memfds.
 *
 * Memory from the other side is taken only if it can never be smaller than it is now (else touching it could
 * kill us by SIGBUS), has the size that was agreed on, and is plain memory, not a file or huge pages.
 */
#pragma once

#include <stddef.h>

int memory_create(const char *name, size_t size); /* a descriptor, or -errno */
int memory_check(int fd, size_t size);            /* is what came from the other side fit to be mapped? */
int memory_holds(int fd, size_t size);            /* the same if there may be more */

/*
 * Map ranges of fd one after the other, each count times in a row; NULL if that fails.  Children made by fork
 * do not inherit it.
 */
struct memory_range {
	size_t offset, size;
	unsigned count;
};
void *memory_map(int fd, const struct memory_range *ranges, unsigned n, size_t *total);
void memory_unmap(void *base, size_t total);

size_t memory_page(void);
size_t memory_round(size_t size); /* up to whole pages */
