/*
 * worker.h - the process that serves one client.
 *
 *	parent ─ fork ─▶ opens the device ─ READY or FAILED ─▶ waits
 *	       ─ the client's socket ─▶ TAKEN ─▶ serves that client, exits
 *
 * It is started before it is needed: the driver is initialised and a context made while nobody waits.
 * Whatever the client left behind goes with the process.  It holds no descriptor of its parent's or of
 * other clients, only its end of the socket to the parent and, later, its client's.
 *
 * A worker is as trustworthy as its client: the parent reads one byte and a text from it before the
 * client has come, and afterwards only the numbers in its statistics.
 */
#pragma once

#include "server/daemon/server.h"
#include "server/daemon/stats.h"

#define WORKER_TEXT 256

enum worker_word {
	WORKER_READY = 'r',
	WORKER_FAILED = 'f', /* the device could not be opened; the text says why */
	WORKER_TAKEN = 't',  /* the client is the worker's now */
};

/* In a fresh child: never return.  `parent` is where the client's socket will come from. */
_Noreturn void worker_main(int parent, const struct server_config *config, struct stats *stats);
/* For a client that cannot be served: tells it why. */
_Noreturn void worker_refuse(int client, const char *why);

/* The parent's side. 0 or -errno; worker_heard: -EAGAIN when nothing was said, -EPIPE when it is gone. */
int worker_give(int worker, int client);
int worker_heard(int worker, enum worker_word *word, char text[WORKER_TEXT]);
