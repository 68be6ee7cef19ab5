/*
 * status.h - what the parent tells about itself and its clients.
 *
 *	GET /metrics	Prometheus' text, for collectors
 *	GET /status	JSON, for scripts
 *	GET /status.txt	the same for `gangway top`: a record a line, a field behind each tab, name=value
 *	POST /clients/PID/end	ends the worker PID and with it its client's session: the server's user and root only
 */
#pragma once

#include "server/daemon/http.h"
#include "server/daemon/worker_pool.h"

struct status {
	const struct pool *pool;
	uint64_t connections; /* since the start */
	bool draining;
};

void status_metrics(const struct status *s, FILE *out);
void status_json(const struct status *s, FILE *out);
void status_text(const struct status *s, FILE *out);

/* The worker that serves a client, by its own number or NULL. */
const struct worker *status_worker(const struct status *s, int pid);
