#include <stdint.h>
#include <string.h>
#include "util/diff.h"

#define BLOCK 4096u
#define GAP   32u /* equal bytes that end a run */

/* The first byte at or behind i that differs; size: none. */
static size_t differs(const uint8_t *a, const uint8_t *b, size_t i, size_t size)
{
	while (i + BLOCK <= size && !memcmp(a + i, b + i, BLOCK))
		i += BLOCK;
	while (i + sizeof(uint64_t) <= size && !memcmp(a + i, b + i, sizeof(uint64_t)))
		i += sizeof(uint64_t);
	while (i < size && a[i] == b[i])
		i++;
	return i;
}

bool diff_next(const void *left, const void *right, size_t size, size_t *at, size_t *length, size_t most)
{
	const uint8_t *a = left, *b = right;
	size_t start = *at, end, next;

	start = differs(a, b, start, size);
	if (start >= size)
		return false;
	for (end = start + 1; end < size && end - start < most; end = next + 1) {
		size_t limit = end + GAP < size ? end + GAP : size;
		next = differs(a, b, end, limit);
		if (next >= limit)
			break;
	}
	*at = start;
	*length = end - start;
	return true;
}
