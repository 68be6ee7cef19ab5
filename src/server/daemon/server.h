/*
 * server.h - the parent: listens, and gives each client a worker.
 *
 *	listen ─ accept ─▶ hello (pending.h) ─▶ a spare worker ─▶ serves one client, exits
 *	                                        and the parent starts the next spare
 *
 * Beside each unix socket PATH is PATH.status, where the parent reports what it does: see status.h.
 *
 * The parent never calls CUDA, so neither a GPU nor a client can crash it.  If it is killed, its workers end with it:
 * without the parent nobody would count their clients, limit them, or see them in the status.
 */
#pragma once

#include <sys/types.h>
#include "server/quota/quota.h"

#define SERVER_CLIENTS 256
#define SERVER_SPARES  1
#define SERVER_HOST    50 /* percent of the machine's memory */
#define SERVER_OBJECTS 1000000
#define SERVER_IMAGES  (8ull << 30)

struct server_config {
	const char *device;        /* the device that workers open: "nvidia", "cpu", "null" */
	const char *const *listen; /* addresses, ended by NULL */
	gid_t group;               /* its members may use the unix sockets, too; (gid_t)-1: only the owner */
	unsigned clients;          /* the largest number at one time */
	unsigned clients_per_user; /* the same for each user of the unix sockets and each address; 0: the default */
	unsigned spares;           /* workers that wait for a client */
	unsigned spin_us;          /* how long a worker spins before it sleeps */
	bool dumpable;             /* workers may leave cores, and processes of the same user may debug them */
	struct quota_size memory;  /* quota of each client on each device */
	unsigned sandbox;          /* layers of sandbox.h that workers enter */
	uid_t isolate_first, isolate_last; /* users of workers, one for each identity; 0: the server's own */
	struct quota_size host_memory;     /* limit of each client's host memory in its worker */
	unsigned objects;                  /* limit of each client's objects */
	uint64_t image_cache;              /* bytes of the image store on disk; 0: no images are stored */
	bool clear;                        /* workers clear device memory before their client gets it */
	const char *metrics;               /* a further address for status.h; NULL: only beside the unix sockets */
};

/* Runs until SIGTERM or SIGINT, then until the last client has ended.  0, or -errno after logging why. */
int server_run(const struct server_config *config);
