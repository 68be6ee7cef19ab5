/*
 * pool.h - the parent's workers, from fork to wait.
 *
 *	OPENING ─▶ SPARE ─▶ GIVEN ─▶ BUSY ─▶ reaped
 *
 * A client is held here until its worker has said that it has taken it: if the worker died before, the
 * client goes to another one and notices nothing.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include "server/daemon/server.h"
#include "server/daemon/stats.h"
#include "server/daemon/worker.h"

/* What epoll calls back: first in everything the parent listens to. */
struct source {
	void (*ready)(struct source *s, void *server);
};

enum worker_state { WORKER_OPENING, WORKER_SPARE, WORKER_GIVEN, WORKER_BUSY, WORKER_REFUSING };

struct worker {
	struct source source;
	struct worker *next;
	enum worker_state state;
	pid_t pid;
	int fd; /* to the worker; -1: nothing is expected from it any more */
	int client;
	pid_t client_pid; /* for the log; 0: unknown */
	unsigned tries;
	struct stats *stats;
};

struct pool {
	const struct server_config *config;
	int epoll;
	struct worker *workers;
	unsigned spares, busy, refusing;
	uint64_t fill_at; /* ms; not before */
	void (*ready)(struct source *s, void *server);
};

/* As many spares as there should be. */
void pool_fill(struct pool *p);

/* A client that has connected: a worker's from now on, or refused; the descriptor is the pool's. */
void pool_take(struct pool *p, int client);

/* A worker has something to say: true, and what it was; TAKEN has been attended to already. */
bool pool_hear(struct pool *p, struct worker *w, enum worker_word *word, char text[WORKER_TEXT]);

/* A child has ended.  True: it was a worker that had not taken a client. */
bool pool_reap(struct pool *p, pid_t pid, int status);

void pool_end_spares(struct pool *p);
void pool_kill(struct pool *p, int signal); /* all of them */
void pool_finish(struct pool *p);           /* those that wait for us end by this */

uint64_t pool_now(void); /* ms */
