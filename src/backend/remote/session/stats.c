/*
 * GANGWAY_STATS: at the end, how many calls of each kind went over, and how many of them were waited for.
 *
 * What is answered in the process does not show: this is what a link costs.
 */
#include <stdio.h>
#include <stdlib.h>
#include "backend/remote/session/call.h"
#include "backend/remote/session/stats.h"

#define PLAIN 1024
#define ALL   (PLAIN + WIRE_OPS_END - WIRE_DEVICES)

static const char *const own_names[WIRE_OPS] = {
#define OP(number, op, serve, reply) [op - WIRE_OPS_FIRST] = #op,
#include "wire/ops.def"
#undef OP
};

static const char *name_of(unsigned op)
{
	const char *name = op >= WIRE_DEVICES      ? own_names[op - WIRE_DEVICES]
			   : op < call_names_count ? call_names[op]
						   : NULL;

	return name ? name : "?";
}

static unsigned slot(unsigned op)
{
	return op < PLAIN ? op : op >= WIRE_DEVICES && op < WIRE_OPS_END ? PLAIN + op - WIRE_DEVICES : 0;
}

_Atomic(uint64_t) (*stats_counts)[2];

void stats_add(unsigned op, bool trip)
{
	atomic_fetch_add_explicit(&stats_counts[slot(op)][trip], 1, memory_order_relaxed);
}

static int by_trips(const void *a, const void *b)
{
	unsigned x = *(const unsigned *)a, y = *(const unsigned *)b;
	uint64_t tx = stats_counts[x][1], ty = stats_counts[y][1];

	if (tx != ty)
		return tx < ty ? 1 : -1;
	tx = stats_counts[x][0], ty = stats_counts[y][0];
	return tx < ty ? 1 : tx > ty ? -1 : (x > y) - (x < y);
}

/* When the library goes: later than any atexit of the program's, where NVIDIA's runtime still makes calls. */
__attribute__((destructor)) static void print(void)
{
	unsigned order[ALL], n = 0;
	uint64_t posted = 0, trips = 0;

	if (!stats_counts)
		return;
	for (unsigned i = 0; i < ALL; i++)
		if (stats_counts[i][0] || stats_counts[i][1])
			order[n++] = i;
	qsort(order, n, sizeof *order, by_trips);
	fprintf(stderr, "%12s %12s  call\n", "posted", "round trips");
	for (unsigned k = 0; k < n; k++) {
		unsigned i = order[k], op = i < PLAIN ? i : i - PLAIN + WIRE_DEVICES;
		uint64_t p = stats_counts[i][0], t = stats_counts[i][1];
		posted += p;
		trips += t;
		fprintf(stderr, "%12llu %12llu  %s\n", (unsigned long long)p, (unsigned long long)t, name_of(op));
	}
	fprintf(stderr, "%12llu %12llu  in all\n", (unsigned long long)posted, (unsigned long long)trips);
}

void stats_start(void)
{
	if (stats_counts)
		return;
	stats_counts = calloc(ALL, sizeof *stats_counts);
}
