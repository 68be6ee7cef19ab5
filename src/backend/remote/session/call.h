/*
 * call.h - sends a call: packs its arguments, posts it or waits for the reply, and unpacks that.
 *
 * Each thread has a lane of its own, so that a call which blocks blocks only its thread.  A posted call returns as soon
 * as its frame is in the ring; its failure is an async error (async_errors.h).
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include "backend/remote/client.h"
#include "transport/transport.h"
#include "wire/wire.h"

/* Makes the link the client's: the first two of its words, which the wire reserves, are taken. */
void call_attach(struct client *c, struct link *link);
/* Destroys the link, after this thread's lane on it.  A client without a link is fine. */
void call_detach(struct client *c);
/* This thread's lane belongs to a former client. */
void call_forget_lane(void);

/*
 * The id of the thread's current context, which goes with every call: points to where the context keeps it, because it
 * changes when the context ends.  NULL: no context is current.
 */
extern __thread const _Atomic(uint64_t) *call_context __attribute__((tls_model("initial-exec")));

static inline uint64_t call_context_id(void)
{
	return call_context ? atomic_load_explicit(call_context, memory_order_relaxed) : 0;
}

/* The thread's lane; NULL: the link is broken. */
struct lane *call_lane(void);

/*
 * For the generated calls (wait/stream.c): the server's number of the stream that a handle means, 0, 1 and 2 included.
 * `work`: the call posts work to the stream, which call_posted counts.
 */
uint64_t call_stream(CUstream stream, bool work);
/*
 * The frame of the call is in the ring.  Work is counted after that, so that no thread takes the stream for idle while
 * the frame is still on its way.  False: the handle is not a stream, and the server has to say so at once.
 */
bool call_posted(void);

/* Generated calls: args is struct wire_cuX. */
CUresult call_sync(unsigned op, const void *args, size_t size, const struct wire_piece *in, unsigned nin,
	const struct wire_piece *out, unsigned nout);
CUresult call_post(unsigned op, const void *args, size_t size, const struct wire_piece *in, unsigned nin);

/*
 * Calls written by hand.  call_reserve: space for `size` bytes behind the head of a frame, which the caller fills and
 * sends with the pieces of an arena that belong to the frame.  NULL: too large, or the link is broken.
 */
void *call_reserve(struct lane *lane, size_t size);
/* The reserved call is to be made in this context, not in the current one. */
void call_set_context(void *reserved, uint64_t context);
/* Posts the frame.  While a stream is being captured, waits for the result: CUDA reports its errors at once. */
CUresult call_send(struct lane *lane, unsigned op, size_t size, const struct piece *pieces, unsigned npieces);
/* Sends the frame and waits: the result of the call.  *reply is valid until call_release_reply. */
CUresult call_ask(
	struct lane *lane, unsigned op, size_t size, const struct piece *pieces, unsigned npieces, struct frame *reply);
void call_release_reply(struct lane *lane);

/* Waits until the server has made all calls that this thread has posted; returns an async error among them. */
CUresult call_flush(void);

/* The result of every call on a broken link; writes the reason to the trace once. */
CUresult client_lost(void);

/* CUDA's code for a lack of resources in this process: CUDA_ERROR_NO_DEVICE if `err` (-errno) is something else. */
CUresult errno_result(int err);

/* A function of the transport failed: the error above with a line in the trace, or client_lost(). */
CUresult client_failed(int err);

/* A reply of the server is a protocol error: breaks the link.  Returns what client_lost does. */
CUresult client_reject_reply(void);
/* Whether the link is broken: one load, for calls that send nothing. */
bool client_broken(void);

/* Names of the generated calls, by number. */
extern const char *const call_names[];
extern const unsigned call_names_count;
