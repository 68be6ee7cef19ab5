/*
 * Events: recorded by posting.  One that is known to be done needs no question; for others the server is
 * told once to set a word when they are, and then everybody looks at the word.
 */
#include <errno.h>
#include <stdlib.h>
#include "backend/remote/code/code.h"
#include "backend/remote/graph/graph.h"

/* Its lock is held while it is recorded, so that what is known here is what was recorded last. */
struct event {
	struct recycled recycled;
	uint64_t id;
	struct context *ctx; /* made in, when that had ended so often */
	uint32_t ended;
	pthread_mutex_t lock;
	bool foreign;           /* recorded by a graph, or by another process */
	bool over;              /* it is done */
	struct stream *stream;  /* recorded in; NULL: never */
	uint64_t before;        /* commands of the stream that came before it */
	uint64_t work;          /* done when so many are */
	uint64_t capture;       /* recorded while capturing: by this one */
	uint64_t times;         /* how often it was recorded */
	struct wire_tell watch; /* a word that will say that it is done; 0: nobody has asked since it was recorded */
};

static struct recycle_pool recycled = {PTHREAD_MUTEX_INITIALIZER};

/* ---- watching ---- */

#define WATCHES 1024 /* most of the link's words are for streams */

static atomic_uint watches;

/* `s`: recorded in; NULL: not known. */
static CUresult post_sync(uint64_t event, struct stream *s, struct wire_tell w, unsigned op)
{
	struct lane *lane = call_lane();
	struct wire_sync *a = call_reserve(lane, sizeof *a);

	if (!a)
		return call_lost();
	if (s)
		call_in(a, s->ctx->id);
	*a = (struct wire_sync){.kind = WIRE_SYNC_EVENT, .word = w.word, .value = w.value, .what = event};
	return call_send(lane, op, sizeof *a, NULL, 0);
}

static void unwatch(struct event *e)
{
	if (!e->watch.word)
		return;
	word_pool_give(e->watch);
	atomic_fetch_sub(&watches, 1);
	e->watch.word = 0;
}

/* Sets one up if nobody has.  Lock held.  word 0: none are left. */
static struct wire_tell watch(struct event *e, CUresult *why)
{
	*why = CUDA_SUCCESS;
	if (e->watch.word)
		return e->watch;
	if (atomic_fetch_add(&watches, 1) >= WATCHES || !word_pool_take(&e->watch)) {
		atomic_fetch_sub(&watches, 1);
		return (struct wire_tell){0};
	}
	e->watch.value++;
	*why = post_sync(e->id, e->stream, e->watch, WIRE_SYNC);
	if (*why) { /* nobody will set it */
		e->watch.value--;
		unwatch(e);
	}
	return e->watch;
}

static bool done(const struct event *e)
{
	return !e->foreign && (!e->stream || e->over || e->stream->settled >= e->work);
}

/*
 * The watch has told.  A foreign event may be recorded again behind our back, so that is good for one look
 * only; else the stream has come to the event, so to all before it.
 */
static void reached(struct event *e, uint64_t times)
{
	pthread_mutex_lock(&e->lock);
	if (e->times == times) {
		e->over = true;
		unwatch(e);
		if (!e->foreign && e->stream)
			stream_note_completed(e->stream, e->before);
	}
	pthread_mutex_unlock(&e->lock);
}

/* ---- beginning and end ---- */

/* One that went with its context is none. */
static struct event *find(CUevent handle)
{
	struct event *e = record_find((uintptr_t)handle, HANDLE_CUevent);

	return e && (!e->ctx || e->ctx->times == e->ended) ? e : NULL;
}

static CUresult add(CUevent handle, bool foreign)
{
	struct event *e = recycle_take(&recycled);

	if (!e && (e = calloc(1, sizeof *e)))
		pthread_mutex_init(&e->lock, NULL);
	if (!e)
		return CUDA_ERROR_OUT_OF_MEMORY;
	pthread_mutex_lock(&e->lock);
	e->id = (uintptr_t)handle;
	e->ctx = context_current();
	e->ended = e->ctx ? e->ctx->times : 0;
	e->foreign = foreign;
	e->over = false;
	e->stream = NULL;
	e->capture = 0;
	e->times++;
	pthread_mutex_unlock(&e->lock);
	CUresult r = record_add((uintptr_t)handle, HANDLE_CUevent, e);
	if (r)
		recycle_put(&recycled, &e->recycled);
	return r;
}

CUresult remote_cuEventCreate(CUevent *phEvent, unsigned int flags)
{
	CUresult r = call_cuEventCreate(phEvent, flags);

	return r ? r : add(*phEvent, flags & CU_EVENT_INTERPROCESS);
}

CUresult remote_cuIpcOpenEventHandle(CUevent *phEvent, CUipcEventHandle handle)
{
	CUresult r = call_cuIpcOpenEventHandle(phEvent, handle);

	return r ? r : add(*phEvent, true);
}

CUresult remote_cuEventDestroy_v2(CUevent handle)
{
	struct event *e = find(handle);

	if (!e || !record_remove((uintptr_t)handle))
		return CUDA_ERROR_INVALID_HANDLE;
	pthread_mutex_lock(&e->lock);
	unwatch(e);
	pthread_mutex_unlock(&e->lock);
	recycle_put(&recycled, &e->recycled);
	return call_cuEventDestroy_v2(handle);
}

/* ---- recording ---- */

void event_set_foreign(CUevent handle)
{
	struct event *e = find(handle);

	if (!e)
		return;
	pthread_mutex_lock(&e->lock);
	e->foreign = true;
	pthread_mutex_unlock(&e->lock);
}

/* Lock held.  What was recorded before does not matter any more. */
static void recorded(struct event *e, struct stream *s, uint64_t before, unsigned flags)
{
	unwatch(e);
	e->times++;
	e->over = false;
	if (s->capturing && flags & CU_EVENT_RECORD_EXTERNAL) {
		e->foreign = true;
		return;
	}
	e->capture = s->capturing ? s->capture : 0;
	e->stream = s;
	e->before = before;
	e->work = s->work;
}

CUresult remote_cuEventRecordWithFlags(CUevent handle, CUstream stream, unsigned int flags)
{
	CUresult r;
	struct event *e = find(handle);
	struct stream *s = e ? stream_find(stream, &r) : NULL;
	uint64_t before;

	if (!e)
		return CUDA_ERROR_INVALID_HANDLE;
	if (!s)
		return r;
	if (flags & CU_EVENT_RECORD_EXTERNAL && !s->capturing)
		return CUDA_ERROR_ILLEGAL_STATE;
	pthread_mutex_lock(&e->lock);
	before = s->work;
	r = flags ? call_cuEventRecordWithFlags(handle, stream, flags) : call_cuEventRecord(handle, stream);
	if (!r)
		recorded(e, s, before, flags);
	pthread_mutex_unlock(&e->lock);
	return r;
}

CUresult remote_cuEventRecord(CUevent handle, CUstream stream)
{
	return remote_cuEventRecordWithFlags(handle, stream, 0);
}

/* ---- asking ---- */

CUresult remote_cuEventQuery(CUevent handle)
{
	struct event *e = find(handle);
	struct wire_tell w = {0};
	CUresult r = CUDA_SUCCESS;
	struct stream *s;
	bool ask, ready;
	uint64_t times;

	if (!e)
		return CUDA_ERROR_INVALID_HANDLE;
	pthread_mutex_lock(&e->lock);
	ask = e->foreign || e->capture;
	if (!ask && (r = capture_check_unsafe())) {
		pthread_mutex_unlock(&e->lock);
		return r;
	}
	ready = !ask && done(e);
	if (!ask && !ready) {
		w = watch(e, &r);
		ask = !w.word;
	}
	times = e->times;
	s = e->stream;
	pthread_mutex_unlock(&e->lock);
	if (r)
		return r;
	if (!ready)
		value_waits_push();
	if (ask)
		return call_cuEventQuery(handle);
	if (!ready && word_reached(call_link(), w.word, w.value)) {
		reached(e, times);
		ready = true;
	}
	if (ready)
		mirror_pull();
	r = s ? stream_async_error(s) : call_late();
	return r || ready ? r : CUDA_ERROR_NOT_READY;
}

struct sleeper {
	uint64_t event;
	struct stream *stream;
	struct wire_tell watch;
};

static int ask_wake(void *arg)
{
	struct sleeper *z = arg;

	return post_sync(z->event, z->stream, z->watch, WIRE_WAKE) ? -EPIPE : 0;
}

/* Waits with a watch, or with the stream where there is nothing behind the event or no word is left. */
static CUresult wait_event(struct event *e)
{
	struct sleeper z = {.event = e->id};
	CUresult r = CUDA_SUCCESS;
	struct stream *s;
	uint64_t times;
	bool whole;

	pthread_mutex_lock(&e->lock);
	z.stream = e->stream;
	s = e->foreign ? NULL : e->stream;
	times = e->times;
	whole = s && s->work == e->work && !s->ended;
	if (!whole)
		z.watch = watch(e, &r);
	pthread_mutex_unlock(&e->lock);
	if (r)
		return r;
	if (!z.watch.word)
		return s ? stream_synchronize(s) : CUDA_ERROR_OUT_OF_MEMORY;
	if (value_waits_word_wait(z.watch.word, z.watch.value, remote.local ? ask_wake : NULL, &z))
		return call_lost();
	reached(e, times);
	return CUDA_SUCCESS;
}

CUresult remote_cuEventSynchronize(CUevent handle)
{
	struct event *e = find(handle);
	bool captured, ready;
	struct stream *s;
	CUresult r;

	if (!e)
		return CUDA_ERROR_INVALID_HANDLE;
	pthread_mutex_lock(&e->lock);
	s = e->stream;
	captured = e->capture;
	ready = done(e);
	pthread_mutex_unlock(&e->lock);
	if (captured)
		return call_cuEventSynchronize(handle);
	r = ready ? CUDA_SUCCESS : wait_event(e);
	mirror_pull();
	return r ? r : s ? stream_async_error(s) : call_late();
}

/* A stream that waits for an event of a capture becomes part of it. */
CUresult remote_cuStreamWaitEvent(CUstream stream, CUevent handle, unsigned int flags)
{
	CUresult r;
	struct event *e = find(handle);
	struct stream *s = e ? stream_find(stream, &r) : NULL;
	uint64_t capture;

	if (!e)
		return CUDA_ERROR_INVALID_HANDLE;
	if (!s)
		return r;
	if (flags & CU_EVENT_WAIT_EXTERNAL && !s->capturing)
		return CUDA_ERROR_ILLEGAL_STATE;
	pthread_mutex_lock(&e->lock);
	capture = e->capture;
	pthread_mutex_unlock(&e->lock);
	r = call_cuStreamWaitEvent(stream, handle, flags);
	if (!r && capture && !call_careful)
		r = call_flush(); /* that capture has ended, and the event is good for nothing */
	if (!r && capture && !s->capturing)
		capture_join(s, capture);
	return r;
}
