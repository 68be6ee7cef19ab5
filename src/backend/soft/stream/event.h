/*
 * event.h - events: a place on a timeline, and when it was passed.
 */
#pragma once

#include "backend/soft/core/soft.h"

struct event {
	struct driver_object object;
	unsigned flags;
	struct shared_event *shared; /* with another process: see ipc.h; then the rest is not used */
	/* soft.queue_lock */
	struct stream *stream; /* referenced; NULL: never recorded */
	uint64_t number;
	uint64_t time;           /* ns; valid once the number is complete */
	_Atomic(void *) capture; /* for graphs: recorded in a captured stream */
};

/* Payload of COMMAND_RECORD. */
struct record_payload {
	struct event *event; /* referenced */
};

extern const struct command_ops command_record;

/* With a reference for the caller; NULL: no memory, and `shared` is the caller's still. */
struct event *event_create(struct context *ctx, unsigned flags, struct shared_event *shared);

/* The event, referenced, its context without a sticky error. */
CUresult event_enter(CUevent handle, struct event **e);

/* Set what the event stands for; soft.queue_lock held.  object_put what it returns, unlocked. */
struct stream *event_set_point(struct event *e, struct stream *s, uint64_t number);

/* The pair an event stands for now, the stream referenced (NULL: never recorded, counts as complete). */
struct dep event_point(struct event *e);
CUresult event_record(struct event *e, struct stream *s);
CUresult event_wait(struct event *e, struct stream *s); /* make s wait for e */

/* The same where the stream, or the event, is being captured (capture.c); external: as a node of its own. */
CUresult capture_record(struct event *e, struct stream *s, bool external);
CUresult capture_wait(struct event *e, struct stream *s, bool external);
CUresult capture_event(struct event *e); /* for calls that ask about an event: an error if it was captured */
void capture_drop(struct event *e);      /* it is recorded elsewhere, or ends */
