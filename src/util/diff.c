/* Find and apply differences between two buffers. */
#include <stdint.h>
#include <string.h>
#include "util/diff.h"

#define BLOCK 4096u
#define GAP   32u /* number of equal bytes that end a run */

/* Returns the index of the first difference at or behind i, or size if there is none. */
static size_t find_difference(const uint8_t *a, const uint8_t *b, size_t i, size_t size)
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

	start = find_difference(a, b, start, size);
	if (start >= size)
		return false;
	for (end = start + 1; end < size && end - start < most; end = next + 1) {
		size_t limit = end + GAP < size ? end + GAP : size;
		next = find_difference(a, b, end, limit);
		if (next >= limit)
			break;
	}
	*at = start;
	*length = end - start;
	return true;
}

/* Is any byte of x zero? */
static bool has_zero(uint64_t x)
{
	return (x - 0x0101010101010101) & ~x & 0x8080808080808080;
}

static void apply_bytes(uint8_t *to, uint8_t *agreed, const uint8_t *run, size_t size)
{
	for (size_t i = 0; i < size; i++)
		if (run[i] != agreed[i])
			to[i] = agreed[i] = run[i];
}

void diff_apply(void *to, void *agreed, const void *run, size_t size)
{
	uint8_t *t = to, *a = agreed;
	const uint8_t *r = run;
	size_t i = 0;

	for (; i + sizeof(uint64_t) <= size; i += sizeof(uint64_t)) {
		uint64_t was, is;
		memcpy(&was, a + i, sizeof was);
		memcpy(&is, r + i, sizeof is);
		if (was == is)
			continue;
		if (has_zero(was ^ is)) {
			apply_bytes(t + i, a + i, r + i, sizeof is);
			continue;
		}
		memcpy(t + i, &is, sizeof is);
		memcpy(a + i, &is, sizeof is);
	}
	apply_bytes(t + i, a + i, r + i, size - i);
}
