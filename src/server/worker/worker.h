/*
 * worker.h - the process that serves one client.
 *
 * A worker executes the server's program anew (worker_exec.h), so it has an address layout of its own.  It is started
 * before it is needed: it initialises the driver and makes a context while no client waits, and then receives a
 * client's socket (fd_handoff.h).  All that the client leaves behind goes with the process.  A worker holds no
 * descriptor of its parent's or of other clients: only its end of the socket to the parent and, later, its client's.
 *
 * Trust: a worker is as trustworthy as its client.  The parent reads its messages (fd_handoff.h) and the numbers in its
 * statistics, and trusts neither.  Processes of the same user cannot read its memory: it is not dumpable.
 */
#pragma once

#include "server/daemon/server.h"
#include "server/worker/stats.h"

#define WORKER_DEVICE 32

/* The body of HANDOFF_START.  Parent and worker are the same program, so the layout is the same. */
struct worker_settings {
	struct server_config
		config; /* its pointers mean nothing in the worker, which sets `device` and clears the rest */
	char device[WORKER_DEVICE];
};

void worker_settings_make(struct worker_settings *s, const struct server_config *config);

/* Runs the worker on WORKER_CHANNEL.  Returns only if that is not the socket of a parent. */
void worker_main(void);

/* As --dumpable says: without it neither the core of this process nor its memory is for others of the same user. */
void process_protect(const struct server_config *config);
