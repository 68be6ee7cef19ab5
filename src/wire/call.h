/*
 * call.h - the client's side of a call: pack, send, wait, unpack.
 *
 * Each thread has a lane of its own, so a call that blocks blocks its thread only.  Posted calls
 * return as soon as they are in the ring; if one fails, its result is kept for call_late, which launches
 * and calls that wait ask.  Others do not: an allocation that succeeded must not be reported as failed.
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include "transport/transport.h"
#include "wire/wire.h"

/* The one link of this process; set once, before any call. */
void call_open(struct link *link);
struct link *call_link(void);

/* In a forked child, before it does anything else: lets go of the link, which stays its parent's. */
void call_forget(void);

/* The thread's current context (NULL: none), as the server knows it now: goes with every call. */
extern __thread const _Atomic(uint64_t) *call_context __attribute__((tls_model("initial-exec")));

static inline uint64_t call_context_id(void)
{
	return call_context ? atomic_load_explicit(call_context, memory_order_relaxed) : 0;
}

/* The thread's lane; NULL: the link is gone. */
struct lane *call_lane(void);

/*
 * The number of the stream a handle means here, 0, 1 and 2 included; `work`: something is about to be
 * posted to it.  The client's own (backend/remote/wait/stream.c): only it knows its threads' streams.
 */
uint64_t call_stream(CUstream stream, bool work);
/* It is in the ring now: counted after that, so that nobody believes to have waited for what was not yet there. */
bool call_posted(void); /* false: in a stream that is none, which is told at once */

/* Called before work is posted, a kernel or anything else, if somebody wants to know; it may post itself (backend/remote/memory/mirror.c). */
extern void (*_Atomic call_before_work)(bool kernel);

static inline void call_work(bool kernel)
{
	void (*before)(bool) = atomic_load_explicit(&call_before_work, memory_order_relaxed);

	if (__builtin_expect(before != NULL, 0))
		before(kernel);
}

/* Generated calls: args is struct wire_cuX. */
CUresult call_sync(unsigned op, const void *args, size_t size, const struct wire_piece *in, unsigned nin,
	const struct wire_piece *out, unsigned nout);
CUresult call_post(unsigned op, const void *args, size_t size, const struct wire_piece *in, unsigned nin);

/*
 * By hand: room for a frame with `size` bytes behind its head, filled by the caller; then posted with
 * the pieces of bulk memory that belong to it.  NULL: too large, or the link is gone (call_lost).
 */
void *call_reserve(struct lane *lane, size_t size);
/* For what may not wait for anybody else, and has no order: the same, whatever is held back. */
void *call_reserve_now(struct lane *lane, size_t size);
/* It is made in another context than the current one. */
void call_in(void *room, uint64_t context);
CUresult call_send(struct lane *lane, unsigned op, size_t size, const struct piece *pieces, unsigned npieces);

/*
 * A call is held back, for it may turn out not to be needed: whoever sends the next one sends this before it, by this
 * function (backend/remote/memory/stream_alloc.c).  It clears call_held when it has.
 */
extern _Atomic(bool) call_held;
extern void (*_Atomic call_release)(struct lane *lane);

/* As call_send, and waits: the answer's result; *reply is valid until call_done. */
CUresult call_ask(
	struct lane *lane, unsigned op, size_t size, const struct piece *pieces, unsigned npieces, struct frame *reply);
void call_done(struct lane *lane);

/* Waits until the server has taken what this thread has posted: what of it has failed, as call_late has it. */
CUresult call_flush(void);

/* While this is not 0 (streams are being captured), posting does so each time: mistakes are told where they are made. */
extern _Atomic(unsigned) call_careful;

/* The link is broken: what every call answers from now on. */
CUresult call_lost(void);
/* What the server said cannot be: it is not asked again, the link is broken from now on.  What call_lost answers. */
CUresult call_nonsense(void);
/* Is it?  One load, for calls that send nothing. */
bool call_broken(void);

/*
 * Posted calls that have failed in a context: the word in which the server counts them, up to where they have been
 * told, and the error that the context is left with (CUDA_SUCCESS: none).
 */
struct late {
	_Atomic(const uint32_t *) word; /* NULL: it has none */
	_Atomic(uint32_t) seen;
	_Atomic(CUresult) sticks;
};

extern __thread struct late *call_here __attribute__((tls_model("initial-exec"))); /* of the current context, or NULL */

/* One has failed since somebody last asked: its result, once, or ever after if it sticks.  CUDA_SUCCESS otherwise. */
CUresult call_late(void); /* in the current context, or without one */
CUresult call_late_in(struct late *l);
CUresult call_sticks(void); /* what the current context answers to everything; nothing is told by this */

/* ---- counting: GANGWAY_STATS (stats.c) ---- */

extern _Atomic(uint64_t) (*call_counts)[2];
void call_counted(unsigned op, bool trip);

/* Counts from now on, and prints to stderr when the process ends. */
void call_stats(void);

/* Names of the generated calls, by number. */
extern const char *const call_names[];
extern const unsigned call_names_count;
