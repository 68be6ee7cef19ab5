/*
 * event.h - events: a point on a timeline, and the time at which the stream passed it.
 */
#pragma once

#include "backend/soft/core/soft.h"

struct event {
	struct driver_object object;
	unsigned flags;
	struct shared_event *shared; /* an interprocess event, see ipc.h: the fields below are unused; or NULL */
	/* Protected by soft.queue_lock. */
	struct stream *stream; /* referenced; NULL: never recorded */
	uint64_t number;
	uint64_t time;           /* ns; valid once the number is complete */
	_Atomic(void *) capture; /* not NULL: recorded in a captured stream */
};

/* Payload of COMMAND_RECORD. */
struct record_payload {
	struct event *event; /* referenced */
};

extern const struct command_ops command_record;

/* Create an event with a reference for the caller.  NULL: no memory; then the caller still owns `shared`. */
struct event *event_create(struct context *ctx, unsigned flags, struct shared_event *shared);

/* Find an event, referenced; fails if its context has a sticky error. */
CUresult event_enter(CUevent handle, struct event **e);

/* Set the event to a point; soft.queue_lock held.  The caller calls object_put on the result after unlocking. */
struct stream *event_set_point(struct event *e, struct stream *s, uint64_t number);

/* The point at which the event was last recorded, stream referenced (NULL: never recorded, counts as complete). */
struct dep event_point(struct event *e);
CUresult event_record(struct event *e, struct stream *s);
CUresult event_wait(struct event *e, struct stream *s); /* make s wait for e */

/* The same if the stream or the event is captured (capture.c).  external: add a node of its own. */
CUresult capture_record(struct event *e, struct stream *s, bool external);
CUresult capture_wait(struct event *e, struct stream *s, bool external);
CUresult capture_reject_event(struct event *e); /* the error for queries of a captured event */
void capture_forget_event(struct event *e);     /* the event is recorded again, or destroyed */
