/*
 * callbacks.h - work that the client does for the worker: host functions, stream callbacks, destructors of user
 * objects, and printing the output of kernels.
 *
 * The client's callback thread listens on a lane of its own.  A driver thread that needs the work done before it goes
 * on takes a slot, sends an event to that lane and waits for the slot's word, which the client writes.  The answer
 * does not go through the dispatcher: the dispatcher may itself be blocked in the driver until this very function has
 * run.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "abi/cuda.h"

struct callback_piece;
struct frame;
struct lane;
struct msg;
struct session;

/* For cuLaunchHostFunc and host nodes: runs the client's function number `id`. */
void callback_host_function(void *id);

/*
 * The same with a piece of the down arena that the client receives.  callback_piece_create() makes the argument;
 * NULL: there is no such piece, and the message says so.  It belongs to the stream or graph that calls the function.
 */
struct callback_piece *callback_piece_create(struct msg *m, uint64_t id, uint64_t offset, uint64_t size);
void callback_host_function_piece(void *piece);

void callback_stream(CUstream stream, CUresult status, void *id); /* for cuStreamAddCallback */
void callback_destructor(void *id);                               /* for cuUserObjectCreate */

/* WIRE_LISTEN has been answered: events may go to its lane from now on. */
void callbacks_start(struct session *s);

/* Is this the lane of the client's callback thread?  Driver threads write to it, so the lane carries no other replies. */
bool callbacks_use_lane(struct session *s, const struct lane *lane);

/* WIRE_CALLED has arrived: the thread that waits for this callback goes on. */
void callback_returned(struct session *s, const struct frame *f);

/* Does any thread wait for a callback? */
bool callbacks_awaited(struct session *s);

/* Text for the client's stdout or stderr.  The client has shown it when this returns. */
void callback_print(struct session *s, bool errors, const void *text, size_t size);
