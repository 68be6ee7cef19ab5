/*
 * message.h - one call as the worker handles it: unpack, make, reply.
 *
 * msg_init() copies the frame before anything in it is checked, because the client could change it meanwhile.  Every
 * function checks its arguments; after the first protocol error all of them return harmless values, so that the code
 * between needs no checks of its own.
 *
 *	msg_args	the struct behind the head
 *	msg_in ...	the arrays behind that, in order
 *	msg_out ...	room in the reply, in order
 *
 * Trust: none in the client.  A malformed frame ends the session; an unknown handle is a CUDA error.
 */
#pragma once

#include <stdbool.h>
#include "server/session/dispatch.h"
#include "server/session/session.h"
#include "transport/transport.h"
#include "wire/wire.h"

/* Copies the frame.  False: the frame is too short for a head, or there is no memory. */
bool msg_init(struct msg *m, struct session *s, const struct frame *f);

void msg_args(struct msg *m, void *args, size_t size);

/* The driver's object behind a handle; NULL and an error in the message if there is none. */
void *msg_handle(struct msg *m, enum handle_kind kind, uint64_t id);

/* If `present` is false: NULL, and the frame is not advanced. */
void *msg_in(struct msg *m, bool present, size_t size);
void *msg_in_text(struct msg *m, bool present, size_t size); /* a text without its NUL is a protocol error */
void *msg_in_handles(struct msg *m, bool present, enum handle_kind kind, size_t count);
void *msg_out(struct msg *m, bool present, size_t size); /* zeroed */
void *msg_inout(struct msg *m, bool present, size_t size);

/* True: the call must not be made, and the result says why.  False: the call can be made. */
bool msg_bad(struct msg *m);
void msg_result(struct msg *m, CUresult r);

/* After a call that succeeded: replaces `count` objects of the driver's at `real`, inside the reply, by handles. */
void msg_give_handles(struct msg *m, enum handle_kind kind, void *real, size_t count);

/* After a call that succeeded: the object is gone, and its handle becomes invalid. */
void msg_drop(struct msg *m, enum handle_kind kind, uint64_t id);

/* Reports a failure that the client does not wait for, as an async error of the call's context. */
void msg_report_async(struct msg *m, CUresult r);

/* Sends the reply; if the client does not wait for one, reports a failure as an async error.  0 or -errno. */
int msg_finish(struct msg *m, bool waits);
