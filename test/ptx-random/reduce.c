/* Compares two engines, and removes from a kernel what their difference does not need. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "random.h"

static void describe_difference(const struct kernel *k, const uint8_t *a, const uint8_t *b, char *why, size_t size)
{
	struct memory m = memory_of(k);
	size_t i = 0;
	const char *where;

	while (i + 4 < m.size && !memcmp(a + i, b + i, 4))
		i += 4;
	where = i >= m.results        ? "results"
		: i >= m.accumulators ? "accumulators"
		: i >= m.cells        ? "cells"
		: i >= m.own          ? "own"
				      : "input";
	if (i >= m.results)
		snprintf(why, size, "results: row %zu thread %zu: %02x%02x%02x%02x against %02x%02x%02x%02x",
			(i - m.results) / 16 / k->threads, (i - m.results) / 16 % k->threads, a[i + 3], a[i + 2],
			a[i + 1], a[i], b[i + 3], b[i + 2], b[i + 1], b[i]);
	else
		snprintf(why, size, "%s: byte %zu: %02x%02x%02x%02x against %02x%02x%02x%02x", where,
			i - (i >= m.accumulators   ? m.accumulators
				    : i >= m.cells ? m.cells
				    : i >= m.own   ? m.own
						   : 0),
			a[i + 3], a[i + 2], a[i + 1], a[i], b[i + 3], b[i + 2], b[i + 1], b[i]);
}

/* 0: the same; 1: different; -1: the reference itself fails, so that there is nothing to compare. */
static int compare(struct engine *a, struct engine *b, const struct kernel *k, const char *text, char *why, size_t size)
{
	int ra = engine_run(a, k, text), rb;

	if (ra) {
		snprintf(why, size, "%s: result %d %s", engine_name(a), ra, engine_message(a));
		return -1;
	}
	rb = engine_run(b, k, text);
	if (rb) {
		snprintf(why, size, "%s: result %d %s", engine_name(b), rb, engine_message(b));
		return 1;
	}
	if (!memcmp(engine_memory(a), engine_memory(b), memory_of(k).size))
		return 0;
	describe_difference(k, engine_memory(a), engine_memory(b), why, size);
	return 1;
}

bool engines_agree(struct engine *a, struct engine *b, const struct kernel *k, char *why, size_t size)
{
	char *text = kernel_text(k);
	bool same = compare(a, b, k, text, why, size) == 0;

	free(text);
	return same;
}

static bool still_differs(struct kernel *k, struct engine *a, struct engine *b)
{
	char *text = kernel_text(k), why[700];
	bool differs = compare(a, b, k, text, why, sizeof why) == 1;

	free(text);
	return differs;
}

/* Tries to remove the groups from..from+n; true if the difference remains without them. */
static bool remove_range(struct kernel *k, unsigned from, unsigned n, struct engine *a, struct engine *b)
{
	bool *before = calloc(k->ngroups, 1), any = false, removed = false;

	if (!before)
		abort();
	for (unsigned i = from; i < from + n && i < k->ngroups; i++) {
		before[i] = k->groups[i].removed;
		if (!k->groups[i].pinned && !before[i])
			k->groups[i].removed = any = true;
	}
	if (any && still_differs(k, a, b))
		removed = true;
	else
		for (unsigned i = from; i < from + n && i < k->ngroups; i++)
			k->groups[i].removed = before[i];
	free(before);
	return removed;
}

static void reduce_geometry(struct kernel *k, struct engine *a, struct engine *b)
{
	static const unsigned blocks[][3] = {{32, 1, 1}, {33, 1, 1}, {64, 1, 1}};
	struct kernel before = *k;

	memcpy(k->grid, (unsigned[3]){1, 1, 1}, sizeof k->grid);
	if (!still_differs(k, a, b))
		memcpy(k->grid, before.grid, sizeof k->grid);
	for (unsigned i = 0; i < 3; i++) {
		memcpy(k->block, blocks[i], sizeof k->block);
		if (blocks[i][0] < before.block[0] * before.block[1] * before.block[2] && still_differs(k, a, b))
			return;
	}
	memcpy(k->block, before.block, sizeof k->block);
}

void kernel_reduce(struct kernel *k, struct engine *a, struct engine *b)
{
	bool any = true;

	reduce_geometry(k, a, b);
	for (unsigned n = k->ngroups / 2; n || any; n /= 2) {
		if (!n)
			n = 1;
		any = false;
		for (unsigned from = k->ngroups - 1;; from -= n) {
			unsigned start = from + 1 > n ? from + 1 - n : 0;

			any |= remove_range(k, start, n, a, b);
			if (!start)
				break;
		}
		if (n == 1 && any)
			n = 2;
		else if (n == 1)
			break;
	}
}
