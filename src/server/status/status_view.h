/*
 * status_view.h - the clients as one viewer of the status may see them.
 *
 * A visible client is its worker.  All others together are one worker without process ids and names, whose counters are
 * their sums.
 */
#pragma once

#include "server/daemon/peer.h"
#include "server/daemon/worker_pool.h"

#define STATUS_OTHERS "(others)" /* the program of the worker that stands for the others */

struct status_view {
	const struct worker_pool *pool;
	const struct worker **workers; /* ended by NULL */
	struct worker others;
};

/* viewer NULL: all clients are visible.  NULL: no memory. */
struct status_view *status_view_create(const struct worker_pool *pool, const struct peer *viewer);
void status_view_destroy(struct status_view *v);

/* The worker serves a client, which has described itself. */
bool worker_serves(const struct worker *w);

unsigned stats_device_count(const struct stats *s);
