/*
 * msg.h - one call as the server sees it: taken apart, made, answered.
 *
 * The frame is copied before anything in it is looked at, because the client could change it
 * meanwhile.  Every function checks; the first thing that makes no sense makes the message bad, and
 * from then on all of them return harmless values, so that the code between needs no checks of its own.
 *
 *	msg_args	the struct behind the head
 *	msg_in ...	the arrays behind that, in order
 *	msg_out ...	room in the answer, in order
 *
 * Trust: nothing in a message is believed.  A bad frame ends the session; an unknown handle is a CUDA error.
 */
#pragma once

#include <stdbool.h>
#include "server/session/session.h"
#include "transport/transport.h"
#include "wire/wire.h"

/* Takes a copy of the frame.  False: it is too short to have a head. */
bool msg_init(struct msg *m, struct session *s, const struct frame *f);

void msg_args(struct msg *m, void *args, size_t size);
void *msg_handle(struct msg *m, enum handle_kind kind, uint64_t id);

/* `present` false: NULL, and nothing is taken. */
void *msg_in(struct msg *m, bool present, size_t size);
void *msg_in_text(struct msg *m, bool present, size_t size); /* ends with a NUL, or the message is bad */
void *msg_in_handles(struct msg *m, bool present, enum handle_kind kind, size_t count);
void *msg_out(struct msg *m, bool present, size_t size); /* zeroed */
void *msg_inout(struct msg *m, bool present, size_t size);

/* The call can be made. False: it must not be, and the answer is set. */
bool msg_bad(struct msg *m);
void msg_result(struct msg *m, CUresult r);

/* After a call that succeeded: put numbers in place of `count` objects at `real`, which lies in the answer. */
void msg_give_handles(struct msg *m, enum handle_kind kind, void *real, size_t count);
void msg_drop(struct msg *m, enum handle_kind kind, uint64_t id);

/* The client did not wait for this, and must be told another way. */
void msg_late(struct msg *m, CUresult r);

/* Sends the answer, or keeps the result for later if the client does not wait for one. */
int msg_finish(struct msg *m, bool waits);
