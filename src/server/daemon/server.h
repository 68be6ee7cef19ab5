/*
 * server.h - the parent: listens, and gives each client a worker.
 *
 *	listen ─ accept ─▶ a worker that is ready ─▶ serves one client, exits
 *	                   and the next one is started
 *
 * Beside each unix socket PATH lies PATH.status, where the server tells what it does: see status.h.
 *
 * The parent never touches CUDA, so nothing a GPU or a client does can take it along.  If it is killed,
 * clients that have a worker keep it; new ones find nobody until a server is started again.
 */
#pragma once

#include <sys/types.h>
#include "server/quota/quota.h"

#define SERVER_CLIENTS 256
#define SERVER_SPARES  1

struct server_config {
	const char *device;        /* what the workers open: "nvidia", "cpu", "null" */
	const char *const *listen; /* addresses, up to NULL */
	gid_t group;               /* may use the unix sockets, too; (gid_t)-1: only the owner */
	unsigned clients;          /* at one time, at most */
	unsigned spares;           /* workers that wait for a client */
	unsigned spin_us;          /* how long a worker spins before it sleeps */
	struct quota_size memory;  /* of each device, for each client */
	const char *metrics;       /* where status.h is told, too; NULL: only beside the unix sockets */
};

/* Until SIGTERM or SIGINT, then until the last client has ended.  0 or -errno, having said why. */
int server_run(const struct server_config *config);
