/*
 * worker.h - the process that serves one client.
 *
 * A worker is started before it is needed: it initialises the driver and makes a context while no client waits, and
 * then receives a client's socket (fd_handoff.h).  All that the client leaves behind goes with the process.  A worker
 * holds no descriptor of its parent's or of other clients: only its end of the socket to the parent and, later, its
 * client's.
 *
 * Trust: a worker is as trustworthy as its client.  The parent reads one byte and a text from it before the client
 * has connected, and afterwards only the numbers in its statistics.
 */
#pragma once

#include "server/daemon/server.h"
#include "server/daemon/stats.h"

/* In a new child process; `parent` is where the client's socket will come from. */
_Noreturn void worker_main(int parent, const struct server_config *config, struct stats *stats);

/* In a new child process: tells a client that cannot be served why. */
_Noreturn void worker_refuse(int client, const char *why);
