/* context.h - the client's record of a context. */
#pragma once

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include "backend/remote/session/async_errors.h"
#include "util/list.h"
#include "wire/wire.h"

struct stream;

#define CONTEXT_LIMITS 16

/* Never freed while the client lives: another thread may have it current after its end. */
struct context {
	struct context *next; /* of all contexts of the client, also ended ones */
	struct context *next_ended;
	uint64_t id;
	_Atomic(uint32_t) times_ended; /* destroyed or reset: what was created before is gone */
	_Atomic(uint64_t) wire_id;     /* the id, or WIRE_CONTEXT_ENDED: destroyed, or a primary context not retained */
	CUdevice device;
	bool primary;
	unsigned flags;
	unsigned long long number; /* cuCtxGetId */
	struct stream *legacy;
	struct async_errors errors; /* of calls posted in it */
	struct wire_signal error_word;
	pthread_mutex_t lock; /* of streams */
	struct list streams;
	struct list destroyed; /* streams among them that the application has destroyed */
	/* Values asked for once: context_cache.c. */
	_Atomic(uint32_t) limits_known; /* bit i: limits[i] */
	_Atomic(uint64_t) limits[CONTEXT_LIMITS];
	_Atomic(bool) priorities_known;
	_Atomic(int) least_priority, greatest_priority;
};

/* The context that was created last; context->next leads to the others.  A context stays in the list when it has ended. */
struct context *context_newest(void);

/* The thread's current context, or NULL: the call then answers context_none(). */
struct context *context_current(void);
CUresult context_none(void);

static inline bool context_ended(const struct context *c)
{
	return atomic_load_explicit(&c->wire_id, memory_order_relaxed) == WIRE_CONTEXT_ENDED;
}

/*
 * Contexts after a worker's death (renew.c).  contexts_end_all: those of the lost client have ended.  contexts_carry: the
 * client takes over the handles of primary contexts.  contexts_follow: so does this thread's stack; a context that the
 * application created has become a destroyed one.  contexts_hide: calls of this thread are made without a context.
 */
struct client;
void contexts_end_all(void);
void contexts_carry(struct client *former);
void contexts_follow(void);
void contexts_hide(bool hide);

/* The context of a handle, or the current one for NULL; NULL: there is none. */
struct context *context_find(CUcontext ctx);
