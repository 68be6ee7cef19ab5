/*
 * Events.  A record is posted.  An event whose stream is known to be past the record needs no question; for any other
 * event the worker is asked once to set a word when the device gets there, and every query and wait reads that word.
 */
#include <stdlib.h>
#include "backend/remote/graph/graph.h"
#include "backend/remote/wait/state.h"
#include "backend/remote/hostmem/mirror.h"

/* The lock is held while the event is recorded, so that the fields describe the latest record. */
struct event {
	struct recycled recycled;
	uint64_t id;
	struct context *ctx; /* in which it was created, */
	uint32_t ctx_times;  /* when that had ended so often: the event ends with its context */
	pthread_mutex_t lock;
	bool foreign;             /* recorded by a graph or another process */
	bool completed;           /* known from its watch */
	struct stream *stream;    /* in which it was recorded; NULL: never recorded */
	uint64_t posted_before;   /* the stream's commands ahead of the record */
	uint64_t posted;          /* and with it: the event is complete when so many are */
	uint64_t capture_id;      /* the capture in which it was recorded; 0: none */
	uint64_t records;         /* how often it was recorded */
	struct wire_signal watch; /* reached when the event is complete; word 0: not asked for since the last record */
	struct query_patience query_patience;
};

/* ---- watches ---- */

#define WATCHES_MAX 1024 /* the other words of the link are for streams */

static struct wait_target event_wait_target(const struct event *e)
{
	return (struct wait_target){.kind = WIRE_SYNC_EVENT,
		.handle = e->id,
		.context = e->stream ? e->stream->ctx->id : 0,
		.signal = e->watch};
}

static void event_unwatch_locked(struct event *e)
{
	if (!e->watch.word)
		return;
	word_pool_give(e->watch);
	atomic_fetch_sub(&client->wait->events.watch_count, 1);
	e->watch.word = 0;
}

/* Sets up the watch unless there is one.  e->watch.word stays 0 if no word is left. */
static CUresult event_watch_locked(struct event *e)
{
	struct wait_target t;
	CUresult r;

	if (e->watch.word)
		return CUDA_SUCCESS;
	if (atomic_fetch_add(&client->wait->events.watch_count, 1) >= WATCHES_MAX || !word_pool_take(&e->watch)) {
		atomic_fetch_sub(&client->wait->events.watch_count, 1);
		e->watch.word = 0;
		return CUDA_SUCCESS;
	}
	e->watch.value++;
	query_patience_reset(&e->query_patience);
	t = event_wait_target(e);
	r = wait_post(&t, WIRE_SYNC);
	if (r) { /* the value will never be written */
		e->watch.value--;
		event_unwatch_locked(e);
	}
	return r;
}

static bool event_known_complete(const struct event *e)
{
	return !e->foreign && (!e->stream || e->completed || e->stream->completed >= e->posted);
}

/*
 * The watch of the given record was reached.  A foreign event may be recorded again without our knowledge, so that this
 * holds for one query only; for any other event the stream has also completed everything ahead of the record.
 */
static void event_watch_reached(struct event *e, uint64_t record)
{
	pthread_mutex_lock(&e->lock);
	if (e->records == record) {
		e->completed = true;
		event_unwatch_locked(e);
		if (!e->foreign && e->stream)
			stream_note_completed(e->stream, e->posted_before);
	}
	pthread_mutex_unlock(&e->lock);
}

/* ---- creation and destruction ---- */

/* NULL: not an event, or it ended with its context. */
static struct event *event_find(CUevent handle)
{
	struct event *e = record_find((uintptr_t)handle, HANDLE_CUevent);

	return e && (!e->ctx || e->ctx->times_ended == e->ctx_times) ? e : NULL;
}

static CUresult event_add(CUevent handle, bool foreign)
{
	struct recycle_pool *records = &client->wait->events.records;
	struct event *e = recycle_take(records);

	if (!e && (e = recycle_create(records, sizeof *e)))
		pthread_mutex_init(&e->lock, NULL);
	if (!e)
		return CUDA_ERROR_OUT_OF_MEMORY;
	pthread_mutex_lock(&e->lock);
	e->id = (uintptr_t)handle;
	e->ctx = context_current();
	e->ctx_times = e->ctx ? e->ctx->times_ended : 0;
	e->foreign = foreign;
	e->completed = false;
	e->stream = NULL;
	e->capture_id = 0;
	e->records++;
	pthread_mutex_unlock(&e->lock);
	CUresult r = record_add((uintptr_t)handle, HANDLE_CUevent, e);
	if (r)
		recycle_put(records, &e->recycled);
	return r;
}

/* Without a record the server's event goes, too. */
static CUresult event_add_created(CUevent *event, bool foreign)
{
	CUresult r = event_add(*event, foreign);

	if (r) {
		call_cuEventDestroy_v2(*event);
		*event = NULL;
	}
	return r;
}

CUresult remote_cuEventCreate(CUevent *phEvent, unsigned int flags)
{
	CUresult r = call_cuEventCreate(phEvent, flags);

	return r ? r : event_add_created(phEvent, flags & CU_EVENT_INTERPROCESS);
}

CUresult remote_cuIpcOpenEventHandle(CUevent *phEvent, CUipcEventHandle handle)
{
	CUresult r = call_cuIpcOpenEventHandle(phEvent, handle);

	return r ? r : event_add_created(phEvent, true);
}

CUresult remote_cuEventDestroy_v2(CUevent handle)
{
	struct event *e = event_find(handle);

	if (!e || !record_remove((uintptr_t)handle))
		return CUDA_ERROR_INVALID_HANDLE;
	pthread_mutex_lock(&e->lock);
	event_unwatch_locked(e);
	pthread_mutex_unlock(&e->lock);
	recycle_put(&client->wait->events.records, &e->recycled);
	return call_cuEventDestroy_v2(handle);
}

/* ---- records ---- */

void event_set_foreign(CUevent handle)
{
	struct event *e = event_find(handle);

	if (!e)
		return;
	pthread_mutex_lock(&e->lock);
	e->foreign = true;
	pthread_mutex_unlock(&e->lock);
}

static void event_note_record_locked(struct event *e, struct stream *s, uint64_t posted_before, unsigned flags)
{
	event_unwatch_locked(e);
	e->records++;
	e->completed = false;
	if (s->capturing && flags & CU_EVENT_RECORD_EXTERNAL) {
		e->foreign = true;
		return;
	}
	e->capture_id = s->capturing ? s->capture_id : 0;
	e->stream = s;
	e->posted_before = posted_before;
	e->posted = s->posted;
}

CUresult remote_cuEventRecordWithFlags(CUevent handle, CUstream stream, unsigned int flags)
{
	CUresult r;
	struct event *e = event_find(handle);
	struct stream *s = e ? stream_find(stream, &r) : NULL;
	uint64_t posted_before;

	if (!e)
		return CUDA_ERROR_INVALID_HANDLE;
	if (!s)
		return r;
	if (flags & CU_EVENT_RECORD_EXTERNAL && !s->capturing)
		return CUDA_ERROR_ILLEGAL_STATE;
	pthread_mutex_lock(&e->lock);
	posted_before = s->posted;
	r = flags ? call_cuEventRecordWithFlags(handle, stream, flags) : call_cuEventRecord(handle, stream);
	if (!r)
		event_note_record_locked(e, s, posted_before, flags);
	pthread_mutex_unlock(&e->lock);
	return r;
}

CUresult remote_cuEventRecord(CUevent handle, CUstream stream)
{
	return remote_cuEventRecordWithFlags(handle, stream, 0);
}

/* ---- queries and waits ---- */

CUresult remote_cuEventQuery(CUevent handle)
{
	struct event *e = event_find(handle);
	struct wire_signal watch = {0};
	CUresult r = CUDA_SUCCESS;
	bool ask_server, ready;
	struct stream *s;
	uint64_t record;

	if (!e)
		return CUDA_ERROR_INVALID_HANDLE;
	pthread_mutex_lock(&e->lock);
	ask_server = e->foreign || e->capture_id;
	if (!ask_server && (r = capture_check_unsafe())) {
		pthread_mutex_unlock(&e->lock);
		return r;
	}
	ready = !ask_server && event_known_complete(e);
	if (!ask_server && !ready) {
		r = event_watch_locked(e);
		watch = e->watch;
		ask_server = !watch.word;
	}
	record = e->records;
	s = e->stream;
	pthread_mutex_unlock(&e->lock);
	if (r)
		return r;
	if (!ready)
		value_waits_push();
	if (ask_server)
		return call_cuEventQuery(handle);
	if (!ready && word_reached(client->link, watch.word, watch.value)) {
		event_watch_reached(e, record);
		ready = true;
	}
	if (ready)
		mirror_pull();
	r = s ? stream_async_error(s) : async_error_take();
	if (!r && !ready && query_patience_over(&e->query_patience))
		r = call_cuEventQuery(handle);
	return r || ready ? r : CUDA_ERROR_NOT_READY;
}

/* Waits for the event's watch; or for its stream, if nothing was posted behind the event or no word is left. */
static CUresult event_wait(struct event *e)
{
	struct wait_target t = {0};
	CUresult r = CUDA_SUCCESS;
	struct stream *s;
	uint64_t record;
	bool last_in_stream;

	pthread_mutex_lock(&e->lock);
	s = e->foreign ? NULL : e->stream;
	record = e->records;
	last_in_stream = s && s->posted == e->posted && !s->destroyed;
	if (!last_in_stream) {
		r = event_watch_locked(e);
		t = event_wait_target(e);
	}
	pthread_mutex_unlock(&e->lock);
	if (r)
		return r;
	if (!t.signal.word)
		return s ? stream_synchronize(s) : CUDA_ERROR_OUT_OF_MEMORY;
	r = wait_reached(&t);
	if (!r)
		event_watch_reached(e, record);
	return r;
}

CUresult remote_cuEventSynchronize(CUevent handle)
{
	struct event *e = event_find(handle);
	bool captured, complete;
	struct stream *s;
	CUresult r;

	if (!e)
		return CUDA_ERROR_INVALID_HANDLE;
	pthread_mutex_lock(&e->lock);
	s = e->stream;
	captured = e->capture_id;
	complete = event_known_complete(e);
	pthread_mutex_unlock(&e->lock);
	if (captured)
		return call_cuEventSynchronize(handle);
	r = complete ? CUDA_SUCCESS : event_wait(e);
	mirror_pull();
	return r ? r : s ? stream_async_error(s) : async_error_take();
}

/* A stream that waits for an event of a capture becomes part of the capture. */
CUresult remote_cuStreamWaitEvent(CUstream stream, CUevent handle, unsigned int flags)
{
	CUresult r;
	struct event *e = event_find(handle);
	struct stream *s = e ? stream_find(stream, &r) : NULL;
	uint64_t capture_id;

	if (!e)
		return CUDA_ERROR_INVALID_HANDLE;
	if (!s)
		return r;
	if (flags & CU_EVENT_WAIT_EXTERNAL && !s->capturing)
		return CUDA_ERROR_ILLEGAL_STATE;
	pthread_mutex_lock(&e->lock); /* until the wait is posted: it is for the record that the fields describe */
	capture_id = e->capture_id;
	if (capture_id)
		stream_word_lock(s);
	r = call_cuStreamWaitEvent(stream, handle, flags);
	if (!r && capture_id && !s->capturing)
		capture_join(s, capture_id);
	if (capture_id)
		stream_word_unlock(s);
	if (!r && !capture_id && !s->capturing && !e->foreign && e->stream)
		stream_note_waits(s, e->stream, e->posted);
	pthread_mutex_unlock(&e->lock);
	if (!r && capture_id && !client->captures)
		r = call_flush(); /* the capture has ended, and its event cannot be waited for: report that now */
	return r;
}
