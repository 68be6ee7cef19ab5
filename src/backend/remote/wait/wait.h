/*
 * wait.h - what a thread of the client can wait for, and the functions that wait.
 *
 * Every wait ends at a word: a counter that the worker or its GPU raises to a value agreed on beforehand.  A thread that
 * waits asks nothing; it polls the word for a while, then sleeps until the worker wakes it.
 *
 *	waits for		word				how its value gets there
 *	-----------------------	-------------------------------	-------------------------------------------------
 *	stream			the stream's own		WIRE_SYNC posted behind the work, with the next value
 *	part of a staged copy	the stream's own		the next value travels in the copy's frame
 *	event			one of the event's own, taken	WIRE_SYNC posted at the first query or wait after a
 *				from the pool			record; the event keeps the word until the next record
 *	context			those of its streams		one stream after another
 *
 *	client thread			worker				GPU
 *	draw the next value (lock held)
 *	post work, WIRE_SYNC ─────────▶	queue "set word = value" ──────▶ stream gets there: word = value
 *	poll the word ◀───────────────────────────────────────────────── (one host; over TCP the link updates it)
 *	post WIRE_WAKE, sleep ────────▶	wait, then wake sleepers
 *
 * A value in memory (cuStreamWaitValue32 and its like) blocks a stream, not a thread: value waits are only tracked here,
 * because the host may have to write the value that the stream waits for.
 *
 * Records of streams are recycled, not freed (session/records.h), so that a pointer to one stays valid without a lock.  The counters
 * `posted` and `completed` never go back, not even when a record is recycled: an old count is always complete.
 */
#pragma once

#include "backend/remote/session/records.h"
#include "backend/remote/session/remote.h"

/* ---- word_pool.c: words of the link that are free ---- */

/* The value is the last one that was drawn.  False: all words are in use. */
bool word_pool_take(struct wire_signal *w);
/* The worker may still raise the word up to w.value: the pool waits for that before it hands out the word again. */
void word_pool_give(struct wire_signal w);

/* ---- wait.c: waiting for a word ---- */

/* A copy of everything a wait needs: the stream or event may be destroyed before the wait is over. */
struct wait_target {
	enum wire_sync_kind kind; /* WIRE_SYNC_STREAM or WIRE_SYNC_EVENT */
	uint64_t handle;
	uint64_t context; /* in which the frame is posted; 0: the current one */
	struct wire_signal signal;
	bool wake_posted; /* WIRE_WAKE has been posted already */
};

/* Posts op, WIRE_SYNC or WIRE_WAKE: the worker sets the word once the stream or event gets there. */
CUresult wait_post(const struct wait_target *t, unsigned op);
/* Returns when the word has reached its value.  While value waits are pending, mirrored memory is pushed meanwhile. */
CUresult wait_reached(const struct wait_target *t);

/*
 * A device that has failed runs nothing that is queued behind the failure, and so it does not write the words.  A thread
 * that waits gets the failure with WIRE_WAKE.  A program that only queries gets it from the driver: its queries ask the
 * server now and then, if their word is not reached for long.
 */
struct query_patience {
	_Atomic(unsigned) misses;    /* queries that did not find the value */
	_Atomic(uint64_t) ask_at_ns; /* 0: not set yet */
	_Atomic(uint64_t) gap_ns;    /* between two questions */
};

void query_patience_reset(struct query_patience *p);
/* Called when the word is not reached.  True: ask the server. */
bool query_patience_over(struct query_patience *p);

/* ---- stream.c ---- */

/* A destroyed stream stays in its context's list until its work is done: synchronizing the context waits for it, too. */
/* When a stream has completed its first `at` commands, `stream` has completed its first `posted`: it waited for them. */
struct implied_completion {
	uint64_t at;
	struct stream *stream;
	uint64_t posted;
};

#define IMPLIED_COMPLETIONS 16 /* of one stream at a time; the oldest is forgotten */

struct stream {
	struct recycled recycled;
	_Atomic(uint64_t) id; /* the server's handle; 0: the context's legacy stream */
	_Atomic(struct context *) ctx;
	struct list link;           /* in ctx->streams */
	struct list destroyed_link; /* in ctx->destroyed */
	_Atomic(unsigned) flags;
	_Atomic(int) priority;
	pthread_mutex_t copy_lock;   /* held from a copy's first part to its last: parts of two copies never mix */
	pthread_mutex_t lock;        /* protects signal and staging */
	struct wire_signal signal;   /* the stream's word (0: none yet), and the last value drawn */
	_Atomic(bool) destroyed;     /* by the application; drained when the word has reached the last value */
	_Atomic(uint64_t) posted;    /* commands; counted once they are in the ring */
	_Atomic(uint64_t) completed; /* commands known to have completed */
	pthread_mutex_t implied_lock;
	_Atomic(unsigned) nimplied;
	struct implied_completion implied[IMPLIED_COMPLETIONS]; /* ascending */
	_Atomic(bool) capturing;
	_Atomic(uint64_t) capture_id;      /* which capture (graph/capture.c); 0: none */
	_Atomic(struct staging *) staging; /* pieces of the up arena that the device may still read */
	struct piece deferred_piece[2];    /* of deferred copies, down and up; size 0: none yet.  Under copy_lock */
	_Atomic(uint64_t) query_posted;    /* cuStreamQuery: when so many commands have completed, */
	_Atomic(uint64_t) query_signal;    /* the word (high half) has the value (low half) */
	struct query_patience query_patience;
};

/* The stream of a handle, CUDA's 0, 1 and 2 included; NULL: *why. */
struct stream *stream_find(CUstream handle, CUresult *why);
struct stream *stream_create_legacy(struct context *c); /* NULL: no memory */
void streams_free_drained(struct context *c);           /* destroyed streams whose work is done */
/* The context has ended, or was reset and keeps its legacy stream: nothing is in flight any more. */
void streams_drop(struct context *c, bool legacy_too);

/* Call it after the command is in the ring: no thread may believe to have waited for a command that was not yet there. */
static inline void stream_note_posted(struct stream *s)
{
	atomic_fetch_add_explicit(&s->posted, 1, memory_order_relaxed);
}

/* The async error of the stream's context, if there is one to report. */
static inline CUresult stream_async_error(struct stream *s)
{
	return async_error_take_in(&s->ctx->errors);
}

/* The stream is captured, or it is the legacy stream and another one is: only the server knows what is allowed. */
static inline bool stream_maybe_captured(const struct stream *s)
{
	return s->capturing || (!s->id && atomic_load_explicit(&client->captures, memory_order_relaxed));
}

/* ---- stream_wait.c ---- */

bool stream_idle(struct stream *s);            /* everything posted has completed, as far as we know */
bool stream_drained(struct stream *s);         /* of a destroyed stream: has its work completed? */
CUresult stream_synchronize(struct stream *s); /* waits for everything posted so far; reports no async error */
void stream_note_completed(struct stream *s, uint64_t posted); /* the first `posted` commands */
/* A wait for the first `posted` commands of `other` has just been posted to s. */
void stream_note_waits(struct stream *s, struct stream *other, uint64_t posted);
/* The commands of s may end without having run. */
void stream_forget_waits(struct stream *s);

/*
 * Takes s->lock and draws the word's next value, for a frame that is posted before the lock is released: values are posted
 * in order.  Without a free word s->signal.word is 0.  A value that is not posted after all is handed back:
 * --s->signal.value.
 */
void stream_word_lock_next(struct stream *s, uint32_t *value);
/*
 * Keeps the word as it is.  A capture begins under this lock, until s->capturing is set: a thread that posts the word's next
 * value under the lock would have the server record it in the captured stream, which invalidates the capture.
 */
void stream_word_lock(struct stream *s);
void stream_word_unlock(struct stream *s);
CUresult stream_word_unlock_wait(struct stream *s, uint32_t value); /* unlocks, then waits for the value */
CUresult stream_word_wait(struct stream *s, uint32_t value);

CUresult stream_post_signal(struct stream *s, unsigned op, uint32_t value); /* WIRE_SYNC or WIRE_WAKE */
/* Posts args, which start with a wire_signal; the stream's word has *value when the command has completed. */
CUresult stream_post_with_signal(struct stream *s, unsigned op, const void *args, size_t size, uint32_t *value);

/*
 * The commands that are complete once the next command is: recorded before that command is posted, applied when it is
 * complete.  The legacy stream runs its commands behind those that its context's blocking streams had.
 */
#define MARK_STREAMS 8
struct stream_mark {
	uint64_t posted;
	unsigned ahead;
	struct {
		struct stream *stream;
		uint64_t posted;
	} of[MARK_STREAMS];
};
void stream_mark_take(struct stream *s, struct stream_mark *m);
void stream_mark_reached(struct stream *s, const struct stream_mark *m);

void streams_forget_thread(void); /* the thread has moved to another client */

/* ---- event.c ---- */

/* A graph or another process records the event: only the server knows its state. */
void event_set_foreign(CUevent handle);

/* ---- context_wait.c ---- */

void context_note_posted(struct context *c); /* a command that concerns all of its streams */
void context_drain(void);  /* waits for the current context's streams, except captured ones; reports no error */
void contexts_drain(void); /* the same for all contexts */

/* ---- wait_value.c: streams that wait for a value in memory ---- */

/* Around the posting of a wait: begin before, end after, which returns r.  NULL: nothing to keep track of. */
struct stream *value_wait_begin(CUstream handle);
CUresult value_wait_end(struct stream *s, CUresult r);
bool value_waits_pending(void); /* a stream may be blocked by one, or will be */
void value_waits_note_graph(const CUstreamBatchMemOpParams *p, unsigned count); /* a graph's launches contain these */
/* While value waits are pending: sends what the host has written to mirrored memory.  False: nothing to do. */
bool value_waits_push(void);
