/*
 * server.h - the parent: listens, and gives each client a worker.
 *
 *	listen ─ accept ─▶ a worker that is ready ─▶ serves one client, exits
 *	                   and the next one is started
 *
 * The parent never touches CUDA, so nothing a GPU or a client does can take it along.
 */
#pragma once

#include <sys/types.h>

struct server_config {
	const char *device;	    /* what the workers open: "nvidia", "cpu", "null" */
	const char *const *listen; /* addresses, up to NULL */
	gid_t group;		    /* may use the unix sockets, too; (gid_t)-1: only the owner */
};

/* Until SIGTERM or SIGINT, then until the last client has ended.  0 or -errno, having said why. */
int server_run(const struct server_config *config);
