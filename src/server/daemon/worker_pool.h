/*
 * worker_pool.h - the parent's workers, from start to wait.
 *
 *	OPENING ─▶ SPARE ─▶ GIVEN ─▶ BUSY ─▶ reaped
 *
 * The parent keeps a client's socket until the worker has confirmed that it has taken the client: if the worker dies
 * before, the client goes to another worker and notices nothing.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include "server/worker/fd_handoff.h"
#include "server/daemon/identity.h"
#include "server/daemon/ipc_registry.h"
#include "server/daemon/server.h"
#include "server/daemon/source.h"
#include "server/worker/stats.h"
#include "server/worker/worker.h"
#include "server/worker/worker_exec.h"

enum worker_state { WORKER_OPENING, WORKER_SPARE, WORKER_GIVEN, WORKER_BUSY };

struct worker {
	struct source source;
	struct worker *next;
	enum worker_state state;
	bool ended; /* reaped: the process id may belong to another process */
	pid_t pid;
	int fd;               /* to the worker; -1: the worker has closed it */
	int client;           /* the socket of the client, until the worker has taken it; or -1 */
	pid_t client_pid;     /* for the log; 0: unknown */
	struct identity *who; /* of the client; NULL: no client yet */
	unsigned tries;       /* workers that died with this client */
	const struct stats *stats;
	struct ipc_worker ipc;
};

struct worker_pool {
	const struct server_config *config;
	struct worker_program program;
	int epoll;
	struct worker *workers;
	struct identities *identities;
	struct ipc_registry ipc;
	unsigned spares, busy;
	uint64_t fill_at; /* monotonic_ms(); no spare is started before */
	void (*ready)(struct source *s, void *server);
};

/* Starts spares until there are as many as configured. */
void worker_pool_fill(struct worker_pool *p);

/* Hands a new client, whose hello has arrived, to a worker, or refuses it.  The pool owns the descriptor. */
void worker_pool_accept(struct worker_pool *p, int client, struct identity *who);

/*
 * Reads a message of a worker, which the caller discards; the state of the worker has changed accordingly.  False: there
 * was none, or the worker has violated the protocol and is being killed.
 */
bool worker_pool_receive(struct worker_pool *p, struct worker *w, struct handoff_message *m);

/* Kills a worker that violates the protocol. */
void worker_pool_expel(struct worker_pool *p, struct worker *w, const char *why);

/* A child has ended.  True: it was a worker that had not taken a client. */
bool worker_pool_reap(struct worker_pool *p, pid_t pid, int status);

void worker_pool_end_spares(struct worker_pool *p);
void worker_pool_kill(struct worker_pool *p, int signal); /* all workers */
void worker_pool_finish(struct worker_pool *p);           /* spares end when their socket closes */
