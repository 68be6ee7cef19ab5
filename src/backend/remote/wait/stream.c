/* Streams: which there are, what has been posted to them, and what is known of them without asking. */
#include <stdlib.h>
#include "backend/remote/copy/staged_copy.h"
#include "cuda/per_thread.h"

/* Each thread's default streams, one a context. */
struct own {
	struct own *next;
	struct stream *stream;
	uint64_t id; /* the stream's: another one if it went with its context */
};

static __thread struct own *owns;
static struct recycle_pool recycled = {PTHREAD_MUTEX_INITIALIZER};

/* ---- beginning and end ---- */

static struct stream *new_record(void)
{
	struct stream *s = recycle_take(&recycled);

	if (!s && (s = calloc(1, sizeof *s))) {
		pthread_mutex_init(&s->whole, NULL);
		pthread_mutex_init(&s->lock, NULL);
	}
	return s;
}

static struct stream *add_stream(struct context *c, uint64_t id, unsigned flags, int priority)
{
	struct stream *s = new_record();

	if (!s)
		return NULL;
	s->id = id;
	s->ctx = c;
	s->flags = flags;
	s->priority = priority;
	s->ended = false;
	if (record_add(id, HANDLE_CUstream, s)) {
		recycle_put(&recycled, &s->recycled);
		return NULL;
	}
	pthread_mutex_lock(&c->lock);
	list_append(&c->streams, &s->link);
	pthread_mutex_unlock(&c->lock);
	return s;
}

/* Nothing of it is on its way any more.  The context's lock held. */
static void bury(struct stream *s)
{
	struct wire_tell word;

	stream_note_completed(s, s->work);
	staging_drop(s);
	deferred_copy_drop(s);
	list_remove(&s->link);
	pthread_mutex_lock(&s->lock);
	word = s->tell;
	s->tell = (struct wire_tell){0};
	s->id = 0;
	s->asked = 0;
	s->capturing = false;
	s->capture = 0;
	pthread_mutex_unlock(&s->lock);
	word_pool_give(word);
	recycle_put(&recycled, &s->recycled);
}

bool stream_drained(struct stream *s)
{
	struct wire_tell t;

	pthread_mutex_lock(&s->lock);
	t = s->tell;
	pthread_mutex_unlock(&s->lock);
	return !t.word || word_reached(call_link(), t.word, t.value) || link_error(call_link(), NULL);
}

void streams_free_drained(struct context *c)
{
	pthread_mutex_lock(&c->lock);
	list_each_safe(l, &c->streams)
	{
		struct stream *s = container_of(l, struct stream, link);
		if (s->ended && stream_drained(s))
			bury(s);
	}
	pthread_mutex_unlock(&c->lock);
}

void streams_drop(struct context *c, bool all)
{
	pthread_mutex_lock(&c->lock);
	list_each_safe(l, &c->streams)
	{
		struct stream *s = container_of(l, struct stream, link);
		if (s == c->legacy && !all) {
			stream_note_completed(s, s->work);
			staging_drop(s); /* what was to say that the device is past it may not come any more */
			deferred_copy_drop(s);
		} else if (!s->id || record_remove(s->id) ||
			   s->ended) { /* else another thread is destroying it right now */
			bury(s);
		}
	}
	pthread_mutex_unlock(&c->lock);
}

struct stream *stream_create_legacy(struct context *c)
{
	struct stream *s = new_record();

	if (!s)
		return NULL;
	s->id = 0;
	s->ctx = c;
	s->flags = 0;
	s->priority = 0;
	s->ended = false;
	list_append(&c->streams, &s->link);
	return s;
}

/*
 * The last value tells when all that was posted is done; what is captured is not waited for.  A thread of the
 * server's sets it and wakes whoever sleeps until then: there will be no stream any more to ask that of.
 */
static void say_last(struct stream *s)
{
	uint32_t value;
	bool idle;

	stream_word_next_locked(s, &value);
	/* Another thread may have asked for the value before, and not yet gone to sleep: it counts on us. */
	idle = s->capturing ||
	       (stream_idle(s) && (!s->tell.word || word_reached(call_link(), s->tell.word, value - 1)));
	if (idle || !s->tell.word || stream_post_signal(s, WIRE_WAKE, value))
		s->tell.value--;
	s->ended = true;
	stream_word_unlock(s);
}

CUresult remote_cuStreamDestroy_v2(CUstream handle)
{
	struct stream *s = record_find((uintptr_t)handle, HANDLE_CUstream);
	bool captured = s && s->capturing;
	struct context *c;
	CUresult r = CUDA_SUCCESS;

	if (captured && (r = call_cuStreamDestroy_v2(handle)))
		return r; /* the one that the capture began in */
	if (!s || !record_remove((uintptr_t)handle))
		return CUDA_ERROR_INVALID_HANDLE;
	c = s->ctx;
	say_last(s);
	if (!captured)
		r = call_cuStreamDestroy_v2(handle);
	streams_free_drained(c);
	return r;
}

/* ---- the thread's own ---- */

static void end_own(void *arg)
{
	struct own *o = arg;

	if (o->stream->id == o->id)
		remote_cuStreamDestroy_v2((CUstream)(uintptr_t)o->id);
	free(o);
}

static struct stream *make_own(struct context *c, CUresult *why)
{
	struct own *o = calloc(1, sizeof *o);
	CUstream handle = NULL;

	*why = o ? call_cuStreamCreate(&handle, CU_STREAM_DEFAULT) : CUDA_ERROR_OUT_OF_MEMORY;
	if (!*why &&
		(!(o->stream = add_stream(c, (uintptr_t)handle, CU_STREAM_DEFAULT, 0)) || !thread_at_end(end_own, o)))
		*why = CUDA_ERROR_OUT_OF_MEMORY;
	if (*why) {
		free(o);
		return NULL;
	}
	o->id = (uintptr_t)handle;
	o->next = owns;
	owns = o;
	return o->stream;
}

/* One dispatcher serves all our threads, so "the thread's own stream" is an ordinary one made for it. */
static struct stream *own_stream(struct context *c, CUresult *why)
{
	for (struct own *o = owns; o; o = o->next)
		if (o->stream->ctx == c && o->stream->id == o->id)
			return o->stream;
	return make_own(c, why);
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
	return h == 2 || (h == 0 && per_thread_default) ? own_stream(c, why) : c->legacy;
}

static __thread struct stream *posting;
static __thread bool posting_nowhere;

/* A handle that is nobody's goes over as it is: the server says so, and is asked. */
uint64_t call_stream(CUstream handle, bool work)
{
	CUresult r;
	struct stream *s = stream_find(handle, &r);

	if (work) {
		posting = s;
		posting_nowhere = !s;
	}
	return s ? s->id : (uintptr_t)handle;
}

bool call_posted(void)
{
	bool nowhere = posting_nowhere;

	if (posting)
		stream_note_posted(posting);
	posting = NULL;
	posting_nowhere = false;
	return !nowhere;
}

/* What a device makes of a priority that it does not have. */
static int possible(int priority)
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
	if (!r && !add_stream(c, (uintptr_t)*phStream, flags, possible(priority)))
		r = CUDA_ERROR_OUT_OF_MEMORY;
	return r;
}

CUresult remote_cuStreamCreate(CUstream *phStream, unsigned int flags)
{
	return remote_cuStreamCreateWithPriority(phStream, flags, 0);
}

/* ---- what is known without asking ---- */

static void learn_priority(CUstream handle)
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
		learn_priority(handle);
	return r;
}

CUresult remote_cuStreamCopyAttributes(CUstream to, CUstream from)
{
	CUresult r = call_cuStreamCopyAttributes(to, from);

	if (!r)
		learn_priority(to);
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
