/*
 * guard.h - which client a thread uses, and whether the thread is inside a call.
 *
 * After a worker's death a process may get a new client (renew.c), while other threads are still inside calls of the old
 * one.  A thread therefore has its own pointer, `client`, which changes only when the thread enters a call.  The old
 * client is destroyed when no thread is inside it any more.
 *
 * Marking a thread costs a store on entry and on exit.  Whoever looks for threads inside orders those stores with
 * membarrier(2), so that they need no fence.
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include "backend/remote/client.h"

struct client_thread {
	_Atomic(unsigned) inside;       /* depth of calls: a callback of the runtime's may call again */
	_Atomic(struct client *) using; /* as `client` of this thread */
	bool listed;
	unsigned endings; /* runs of its destructor */
	struct client_thread *next, **link;
};

extern __thread struct client_thread client_thread __attribute__((tls_model("initial-exec")));

/* The client of threads that enter from now on; NULL: none. */
extern _Atomic(struct client *) client_now;

/* The thread's client is not client_now: takes client_now, and drops everything that belongs to the former one. */
void client_thread_move(void);

/* Marks the thread as inside its client, whichever that is. */
static inline void client_hold(void)
{
	unsigned depth = atomic_load_explicit(&client_thread.inside, memory_order_relaxed);

	atomic_store_explicit(&client_thread.inside, depth + 1, memory_order_relaxed);
	atomic_signal_fence(memory_order_seq_cst); /* see above: the other side has a full barrier */
}

static inline void client_enter(void)
{
	client_hold();
	if (__builtin_expect(client != atomic_load_explicit(&client_now, memory_order_acquire), 0) &&
		atomic_load_explicit(&client_thread.inside, memory_order_relaxed) == 1)
		client_thread_move();
}

static inline void client_leave(void)
{
	unsigned depth = atomic_load_explicit(&client_thread.inside, memory_order_relaxed);

	atomic_store_explicit(&client_thread.inside, depth - 1, memory_order_release);
}

/* table.c: the client's ops table, in which every function enters and leaves. */
struct cuda_ops;
void guard_table(struct cuda_ops *table);

/* For a thread that Gangway starts: it belongs to one client, and never moves to another. */
void client_thread_join(struct client *c);

/* Whether a thread of the application is inside a call of this client, which is not client_now; true also if unknown. */
bool client_in_use(struct client *c);

/* In a forked child: only this thread exists. */
void client_threads_forked(void);
