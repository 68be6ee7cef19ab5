/* Streams: their records from creation to reuse, the calling thread's default stream, and attributes kept here. */
#include <stdlib.h>
#include "backend/remote/copy/staged_copy.h"
#include "backend/remote/wait/state.h"
#include "cuda/per_thread.h"

/* A default stream of the calling thread (cudaStreamPerThread); a thread has one in each context. */
struct thread_stream {
	struct thread_stream *next;
	struct stream *stream;
	uint64_t id; /* the record has another id once the stream has ended with its context */
};

static __thread struct thread_stream *thread_streams;

/* ---- creation ---- */

static struct stream *stream_record_take(struct context *c, uint64_t id, unsigned flags, int priority)
{
	struct stream *s = recycle_take(&client->wait->streams);

	if (!s && (s = recycle_create(&client->wait->streams, sizeof *s))) {
		pthread_mutex_init(&s->copy_lock, NULL);
		pthread_mutex_init(&s->lock, NULL);
		pthread_mutex_init(&s->implied_lock, NULL);
	}
	if (!s)
		return NULL;
	s->id = id;
	s->ctx = c;
	s->flags = flags;
	s->priority = priority;
	s->destroyed = false;
	list_init(&s->destroyed_link);
	return s;
}

static struct stream *stream_add(struct context *c, uint64_t id, unsigned flags, int priority)
{
	struct stream *s = stream_record_take(c, id, flags, priority);

	if (!s)
		return NULL;
	if (record_add(id, HANDLE_CUstream, s)) {
		recycle_put(&client->wait->streams, &s->recycled);
		return NULL;
	}
	pthread_mutex_lock(&c->lock);
	list_append(&c->streams, &s->link);
	pthread_mutex_unlock(&c->lock);
	return s;
}

struct stream *stream_create_legacy(struct context *c)
{
	struct stream *s = stream_record_take(c, 0, 0, 0);

	if (s)
		list_append(&c->streams, &s->link);
	return s;
}

/* The device clamps a priority that it does not have. */
static int priority_clamp(int priority)
{
	int least, greatest;

	if (!priority || remote_cuCtxGetStreamPriorityRange(&least, &greatest))
		return priority;
	return priority < greatest ? greatest : priority > least ? least : priority;
}

CUresult remote_cuStreamCreateWithPriority(CUstream *phStream, unsigned int flags, int priority)
{
	struct context *c = context_current();
	CUresult r;

	if (!c)
		return context_none();
	r = call_cuStreamCreateWithPriority(phStream, flags, priority);
	if (r || stream_add(c, (uintptr_t)*phStream, flags, priority_clamp(priority)))
		return r;
	call_cuStreamDestroy_v2(*phStream);
	*phStream = NULL;
	return CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult remote_cuStreamCreate(CUstream *phStream, unsigned int flags)
{
	return remote_cuStreamCreateWithPriority(phStream, flags, 0);
}

/* ---- destruction ---- */

/* Gives back everything a stream holds whose commands are no longer in flight.  The context's lock is held. */
static void stream_record_retire(struct stream *s)
{
	struct wire_signal word;

	stream_forget_waits(s);
	stream_note_completed(s, s->posted);
	staging_drop(s);
	deferred_copy_drop(s);
	list_remove(&s->link);
	list_remove(&s->destroyed_link);
	pthread_mutex_lock(&s->lock);
	word = s->signal;
	s->signal = (struct wire_signal){0};
	s->id = 0;
	s->query_posted = 0;
	s->capturing = false;
	s->capture_id = 0;
	pthread_mutex_unlock(&s->lock);
	word_pool_give(word);
	recycle_put(&client->wait->streams, &s->recycled);
}

#define DRAINED_PER_CALL 16 /* more than a call adds, so the list stays short; few, so a call stays short */

/* Looks at the streams in turn: one that is not drained goes to the end of the list. */
void streams_free_drained(struct context *c)
{
	pthread_mutex_lock(&c->lock);
	for (int i = 0; i < DRAINED_PER_CALL && !list_empty(&c->destroyed); i++) {
		struct stream *s = container_of(c->destroyed.next, struct stream, destroyed_link);
		list_remove(&s->destroyed_link);
		list_append(&c->destroyed, &s->destroyed_link);
		if (stream_drained(s))
			stream_record_retire(s);
	}
	pthread_mutex_unlock(&c->lock);
}

/* The context may have ended meanwhile, and the record may have been recycled. */
static void stream_enter_destroyed(struct context *c, struct stream *s, uint64_t id)
{
	pthread_mutex_lock(&c->lock);
	if (s->id == id && s->ctx == c)
		list_append(&c->destroyed, &s->destroyed_link);
	pthread_mutex_unlock(&c->lock);
}

void streams_drop(struct context *c, bool legacy_too)
{
	pthread_mutex_lock(&c->lock);
	list_each_safe(l, &c->streams)
	{
		struct stream *s = container_of(l, struct stream, link);
		if (s == c->legacy && !legacy_too) {
			stream_forget_waits(s);
			stream_note_completed(s, s->posted);
			staging_drop(s); /* the values that would release its pieces may never be written */
			deferred_copy_drop(s);
		} else if (!s->id || record_remove(s->id) || s->destroyed) {
			stream_record_retire(s);
		} /* else another thread is destroying the stream right now */
	}
	pthread_mutex_unlock(&c->lock);
}

/*
 * Posts the word's last value, which says that the destroyed stream's work is done; captured commands are not waited
 * for.  WIRE_WAKE, not WIRE_SYNC: a thread of the worker sets the value and wakes all sleepers, because they cannot ask
 * for that any more once the stream is destroyed.
 */
static void stream_post_last_signal(struct stream *s)
{
	uint32_t value;
	bool idle;

	stream_word_lock_next(s, &value);
	/* A thread may have drawn the value before and not yet gone to sleep: it relies on this wake-up. */
	idle = s->capturing ||
	       (stream_idle(s) && (!s->signal.word || word_reached(client->link, s->signal.word, value - 1)));
	if (idle || !s->signal.word || stream_post_signal(s, WIRE_WAKE, value))
		s->signal.value--;
	s->destroyed = true;
	stream_word_unlock(s);
}

CUresult remote_cuStreamDestroy_v2(CUstream handle)
{
	struct stream *s = record_find((uintptr_t)handle, HANDLE_CUstream);
	bool captured = s && s->capturing;
	struct context *c;
	CUresult r = CUDA_SUCCESS;

	if (captured && (r = call_cuStreamDestroy_v2(handle)))
		return r; /* the origin of a capture cannot be destroyed */
	if (!s || !record_remove((uintptr_t)handle))
		return CUDA_ERROR_INVALID_HANDLE;
	c = s->ctx;
	stream_post_last_signal(s);
	if (!captured)
		r = call_cuStreamDestroy_v2(handle);
	stream_enter_destroyed(c, s, (uintptr_t)handle);
	streams_free_drained(c);
	return r;
}

/* ---- the calling thread's default stream ---- */

static void thread_stream_destroy(void *arg)
{
	struct thread_stream *t = arg;

	if (!t)
		return;
	if (t->stream->id == t->id)
		remote_cuStreamDestroy_v2((CUstream)(uintptr_t)t->id);
	free(t);
}

static struct stream *thread_stream_create(struct context *c, CUresult *why)
{
	struct thread_stream *t = calloc(1, sizeof *t);
	CUstream handle = NULL;

	*why = t ? call_cuStreamCreate(&handle, CU_STREAM_DEFAULT) : CUDA_ERROR_OUT_OF_MEMORY;
	if (!*why && (!(t->stream = stream_add(c, (uintptr_t)handle, CU_STREAM_DEFAULT, 0)) ||
			     !thread_at_end(thread_stream_destroy, t)))
		*why = CUDA_ERROR_OUT_OF_MEMORY;
	if (*why) {
		free(t);
		return NULL;
	}
	t->id = (uintptr_t)handle;
	t->next = thread_streams;
	thread_streams = t;
	return t->stream;
}

/* The worker has one dispatcher for all threads, so a per-thread default stream is an ordinary stream made for it. */
static struct stream *thread_stream_find(struct context *c, CUresult *why)
{
	for (struct thread_stream *t = thread_streams; t; t = t->next)
		if (t->stream->ctx == c && t->stream->id == t->id)
			return t->stream;
	return thread_stream_create(c, why);
}

void streams_forget_thread(void)
{
	struct thread_stream *t;

	while ((t = thread_streams)) {
		thread_streams = t->next;
		free(t);
	}
}

struct stream *stream_find(CUstream handle, CUresult *why)
{
	uintptr_t h = (uintptr_t)handle;
	struct context *c;
	struct stream *s;

	if (h > 2) {
		s = record_find(h, HANDLE_CUstream);
		*why = s ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
		return s;
	}
	c = context_current();
	if (!c) {
		*why = context_none();
		return NULL;
	}
	return h == 2 || (h == 0 && per_thread_default) ? thread_stream_find(c, why) : c->legacy;
}

/* ---- the stream of a generated call: session/call.h ---- */

static __thread struct stream *posting_stream;
static __thread bool posting_invalid; /* the handle of the call in progress is no stream */

/* An invalid handle goes over as it is, and the server reports it. */
uint64_t call_stream(CUstream handle, bool work)
{
	CUresult r;
	struct stream *s = stream_find(handle, &r);

	if (work) {
		posting_stream = s;
		posting_invalid = !s;
	}
	return s ? s->id : (uintptr_t)handle;
}

bool call_posted(void)
{
	bool invalid = posting_invalid;

	if (posting_stream)
		stream_note_posted(posting_stream);
	posting_stream = NULL;
	posting_invalid = false;
	return !invalid;
}

/* ---- attributes that are answered here ---- */

static void priority_refresh(CUstream handle)
{
	CUresult r;
	struct stream *s = stream_find(handle, &r);
	int priority;

	if (s && !call_cuStreamGetPriority(handle, &priority))
		s->priority = priority;
}

CUresult remote_cuStreamSetAttribute(CUstream handle, CUstreamAttrID attribute, const CUstreamAttrValue *value)
{
	CUresult r = call_cuStreamSetAttribute(handle, attribute, value);

	if (!r && attribute == CU_STREAM_ATTRIBUTE_PRIORITY)
		priority_refresh(handle);
	return r;
}

CUresult remote_cuStreamCopyAttributes(CUstream to, CUstream from)
{
	CUresult r = call_cuStreamCopyAttributes(to, from);

	if (!r)
		priority_refresh(to);
	return r;
}

CUresult remote_cuStreamGetFlags(CUstream handle, unsigned int *flags)
{
	CUresult r;
	struct stream *s = stream_find(handle, &r);

	if (!flags)
		return CUDA_ERROR_INVALID_VALUE;
	if (s)
		*flags = s->flags;
	return s ? CUDA_SUCCESS : r;
}

CUresult remote_cuStreamGetPriority(CUstream handle, int *priority)
{
	CUresult r;
	struct stream *s = stream_find(handle, &r);

	if (!priority)
		return CUDA_ERROR_INVALID_VALUE;
	if (s)
		*priority = s->priority;
	return s ? CUDA_SUCCESS : r;
}

CUresult remote_cuStreamGetCtx(CUstream handle, CUcontext *pctx)
{
	CUresult r;
	struct stream *s = stream_find(handle, &r);

	if (!pctx)
		return CUDA_ERROR_INVALID_VALUE;
	if (s)
		*pctx = (CUcontext)(uintptr_t)s->ctx->id;
	return s ? CUDA_SUCCESS : r;
}

CUresult remote_cuStreamGetId(CUstream handle, unsigned long long *id)
{
	CUresult r;
	struct stream *s = stream_find(handle, &r);

	if (!id)
		return CUDA_ERROR_INVALID_VALUE;
	if (s)
		*id = (uintptr_t)s;
	return s ? CUDA_SUCCESS : r;
}

CUresult remote_cuStreamGetDevice(CUstream handle, CUdevice *device)
{
	CUresult r;
	struct stream *s = stream_find(handle, &r);

	if (!device)
		return CUDA_ERROR_INVALID_VALUE;
	if (s)
		*device = s->ctx->device;
	return s ? CUDA_SUCCESS : r;
}

CUresult remote_cuStreamIsCapturing(CUstream handle, CUstreamCaptureStatus *status)
{
	CUresult r;
	struct stream *s = stream_find(handle, &r);

	if (!status)
		return CUDA_ERROR_INVALID_VALUE;
	if (!s)
		return r;
	if (stream_maybe_captured(s))
		return call_cuStreamIsCapturing(handle, status);
	*status = CU_STREAM_CAPTURE_STATUS_NONE;
	return CUDA_SUCCESS;
}
