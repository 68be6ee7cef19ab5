/*
 * GANGWAY_STATS: at the end of the process, prints how many frames of each operation were posted, and how many were asked
 * with a round trip.  Calls that the client answers by itself are not counted.
 */
#include <stdio.h>
#include <stdlib.h>
#include "backend/remote/session/call.h"
#include "backend/remote/session/stats.h"

#define ENTRY_POINTS 1024
#define STATS_SLOTS  (ENTRY_POINTS + WIRE_OPS_END - WIRE_DEVICES)

static const char *const op_names[WIRE_OPS] = {
#define OP(number, op, serve, reply) [op - WIRE_OPS_FIRST] = #op,
#include "wire/ops.def"
#undef OP
};

static const char *op_name(unsigned op)
{
	const char *name = op >= WIRE_DEVICES      ? op_names[op - WIRE_DEVICES]
			   : op < call_names_count ? call_names[op]
						   : NULL;

	return name ? name : "?";
}

static unsigned stats_slot(unsigned op)
{
	return op < ENTRY_POINTS ? op : op >= WIRE_DEVICES && op < WIRE_OPS_END ? ENTRY_POINTS + op - WIRE_DEVICES : 0;
}

_Atomic(uint64_t) (*stats_counts)[2];

void stats_add(unsigned op, bool trip)
{
	atomic_fetch_add_explicit(&stats_counts[stats_slot(op)][trip], 1, memory_order_relaxed);
}

static int stats_compare(const void *a, const void *b)
{
	unsigned x = *(const unsigned *)a, y = *(const unsigned *)b;
	uint64_t tx = stats_counts[x][1], ty = stats_counts[y][1];

	if (tx != ty)
		return tx < ty ? 1 : -1;
	tx = stats_counts[x][0], ty = stats_counts[y][0];
	return tx < ty ? 1 : tx > ty ? -1 : (x > y) - (x < y);
}

/* Runs when the library is unloaded: after all atexit functions, in which NVIDIA's runtime still makes calls. */
__attribute__((destructor)) static void stats_print(void)
{
	unsigned order[STATS_SLOTS], n = 0;
	uint64_t posted = 0, trips = 0;

	if (!stats_counts)
		return;
	for (unsigned i = 0; i < STATS_SLOTS; i++)
		if (stats_counts[i][0] || stats_counts[i][1])
			order[n++] = i;
	qsort(order, n, sizeof *order, stats_compare);
	fprintf(stderr, "%12s %12s  call\n", "posted", "round trips");
	for (unsigned k = 0; k < n; k++) {
		unsigned i = order[k], op = i < ENTRY_POINTS ? i : i - ENTRY_POINTS + WIRE_DEVICES;
		uint64_t p = stats_counts[i][0], t = stats_counts[i][1];
		posted += p;
		trips += t;
		fprintf(stderr, "%12llu %12llu  %s\n", (unsigned long long)p, (unsigned long long)t, op_name(op));
	}
	fprintf(stderr, "%12llu %12llu  in all\n", (unsigned long long)posted, (unsigned long long)trips);
}

void stats_start(void)
{
	if (stats_counts)
		return;
	stats_counts = calloc(STATS_SLOTS, sizeof *stats_counts);
}
