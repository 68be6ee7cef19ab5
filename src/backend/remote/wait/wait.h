/* wait.h - streams, events, words and values. */
#pragma once

#include "backend/remote/session/records.h"
#include "backend/remote/session/remote.h"

/* ---- words.c: the link's words, for streams and events ---- */

/* The value is the last one that was asked for. */
bool word_pool_take(struct wire_tell *w); /* false: all are in use */
void word_pool_give(struct wire_tell w);  /* it may still be set, up to its value */

/* ---- streams ---- */

/*
 * One that is destroyed stays in its context's list until what was posted to it is done: a context's
 * synchronizing waits for that, too.  Then its record is used again.  work and settled go on counting, so that
 * an event which was recorded in it before stays what it is: done.
 */
struct stream {
	struct recycled recycled;
	_Atomic(uint64_t) id; /* as the server knows it: 0 is the context's legacy stream */
	_Atomic(struct context *) ctx;
	struct list link; /* in ctx->streams */
	_Atomic(unsigned) flags;
	_Atomic(int) priority;
	pthread_mutex_t whole;     /* held from a copy's first piece to its last: other copies are not in between */
	pthread_mutex_t lock;      /* the word's next value is asked for in order */
	struct wire_tell tell;     /* the stream's word, and the last value asked for */
	_Atomic(bool) ended;       /* destroyed: done when the word has it */
	_Atomic(uint64_t) work;    /* commands posted; counted when they are in the ring */
	_Atomic(uint64_t) settled; /* commands known to be done */
	_Atomic(bool) capturing;
	_Atomic(struct staging *) stage; /* bulk memory that the device may still read */
	struct piece later[2]; /* of copies that are made later, down and up; size 0: none yet.  By who has `whole` */
	_Atomic(uint64_t) capture;    /* which: capture.c */
	_Atomic(uint64_t) asked;      /* when so much is done, */
	_Atomic(uint64_t) asked_tell; /* the word (above) has the value (below) */
};

struct stream *stream_create_legacy(struct context *c); /* a new context's; NULL: no memory */
void streams_free_drained(struct context *c);           /* those that have ended, if they are through */
void streams_drop(struct context *c, bool all); /* the context has ended, or been emptied: not its legacy stream then */

/* The stream a handle means, 0, 1 and 2 included; NULL: none. */
struct stream *stream_find(CUstream handle, CUresult *why);

static inline void stream_note_posted(struct stream *s)
{
	atomic_fetch_add_explicit(&s->work, 1, memory_order_relaxed);
}

/* What has failed in its context. */
static inline CUresult stream_async_error(struct stream *s)
{
	return call_late_in(&s->ctx->late);
}

CUresult stream_synchronize(struct stream *s); /* waits until all posted so far is done; late errors too */
bool stream_idle(struct stream *s);
bool stream_drained(struct stream *s); /* of one that has ended: is it through? */

/* The word and the value it will have when what is posted next, with them, is done.  Lock held from begin to end. */
void stream_word_next_locked(struct stream *s, uint32_t *value);
void stream_word_unlock(struct stream *s);
CUresult stream_word_wait(struct stream *s, uint32_t value);
/* The same, which ends with letting the lock go: the stream may be destroyed meanwhile. */
CUresult stream_word_unlock_wait(struct stream *s, uint32_t value);

CUresult stream_post_signal(struct stream *s, unsigned op, uint32_t value); /* WIRE_SYNC, or WIRE_WAKE */
/* Post args, which start with a wire_tell, and learn what the stream's word has when they are done. */
CUresult stream_post_with_signal(struct stream *s, unsigned op, const void *args, size_t size, uint32_t *value);
void stream_note_completed(struct stream *s, uint64_t work); /* so much of it is known to be done */

/*
 * What is done when the next thing posted is: taken before it is posted, told when it is done.  What the legacy
 * stream does comes after all that its context's blocking streams had.
 */
#define MARK_STREAMS 8
struct stream_mark {
	uint64_t work;
	unsigned ahead;
	struct {
		struct stream *stream;
		uint64_t work;
	} of[MARK_STREAMS];
};
void stream_mark_take(struct stream *s, struct stream_mark *p);
void stream_mark_reached(struct stream *s, const struct stream_mark *p);

/* The legacy stream would wait for streams that are being captured: only the server knows. */
static inline bool stream_maybe_captured(const struct stream *s)
{
	return s->capturing || (!s->id && atomic_load_explicit(&call_careful, memory_order_relaxed));
}

/* ---- value.c: waits for values in memory ---- */

/* Around the posting of one; NULL: nothing to keep of it.  The end gives r on. */
struct stream *value_wait_begin(CUstream handle);
CUresult value_wait_end(struct stream *s, CUresult r);
bool value_waits_pending(void); /* a stream may have yet to come past one */
void value_waits_note_graph(const CUstreamBatchMemOpParams *p, unsigned count); /* these come with a graph's launches */
bool value_waits_push(
	void); /* is there one, and something that the host may have written for it?  The server has it then. */
/* As word_wait for as long as it takes, with value_waits_push meanwhile. */
int value_waits_word_wait(uint32_t word, uint32_t value, int (*on_sleep)(void *arg), void *arg);

/* ---- contexts ---- */

void context_note_posted(struct context *c); /* something was posted that all its streams may have to do with */
void context_drain(void);                    /* waits until nothing of the current one is on its way */

/* ---- event.c ---- */

/* It is recorded by a graph, or by another process: only the server knows its state. */
void event_set_foreign(CUevent handle);
