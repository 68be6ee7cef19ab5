/*
 * status.h - what the parent reports about itself and its clients.
 *
 *	GET /metrics	Prometheus text format
 *	GET /status	JSON
 *	GET /status.txt	the same for `gangway top`: one record a line, fields after tabs as name=value
 *	POST /clients/PID/end	ends worker PID and its client's session; for owners only (peer.h)
 */
#pragma once

#include "server/status/http.h"
#include "server/daemon/worker_pool.h"

struct status {
	const struct worker_pool *pool;
	uint64_t connections; /* since the start */
	bool draining;
};

/* Clients that the viewer may not see (peer.h) appear as one, without names; viewer NULL: all are visible. */
void status_metrics(const struct status *s, const struct peer *viewer, FILE *out);
void status_json(const struct status *s, const struct peer *viewer, FILE *out);
void status_text(const struct status *s, const struct peer *viewer, FILE *out);

/* The worker with this process id, if it serves a client; else NULL. */
const struct worker *status_worker(const struct status *s, int pid);
