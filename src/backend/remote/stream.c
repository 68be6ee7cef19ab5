/* Streams: what has been posted, what is known to be done, and waiting for the difference. */
#include <errno.h>
#include <stdlib.h>
#include "backend/remote/remote.h"
#include "util/per_thread.h"

/* Each thread's default streams, one a context. */
struct own {
	struct own *next;
	struct stream *stream;
	uint64_t id; /* the stream's: another one if it went with its context */
};

static __thread struct own *owns;
static struct shelf shelf = {PTHREAD_MUTEX_INITIALIZER};

/* ---- beginning and end ---- */

static struct stream *new_record(void)
{
	struct stream *s = shelf_take(&shelf);

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
	if (!record_put(id, s)) {
		shelf_put(&shelf, &s->shelved);
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

	stream_came(s, s->work);
	stage_drop(s);
	list_remove(&s->link);
	pthread_mutex_lock(&s->lock);
	word = s->tell;
	s->tell = (struct wire_tell){0};
	s->id = 0;
	s->asked = 0;
	s->capturing = false;
	s->capture = 0;
	pthread_mutex_unlock(&s->lock);
	words_leave(word);
	shelf_put(&shelf, &s->shelved);
}

/* Of one that has ended: is it through? */
static bool passed(struct stream *s)
{
	struct wire_tell t;

	pthread_mutex_lock(&s->lock);
	t = s->tell;
	pthread_mutex_unlock(&s->lock);
	return !t.word || word_reached(call_link(), t.word, t.value) || link_error(call_link(), NULL);
}

void streams_reap(struct context *c)
{
	pthread_mutex_lock(&c->lock);
	list_each_safe(l, &c->streams) {
		struct stream *s = container_of(l, struct stream, link);
		if (s->ended && passed(s))
			bury(s);
	}
	pthread_mutex_unlock(&c->lock);
}

void streams_gone(struct context *c, bool all)
{
	pthread_mutex_lock(&c->lock);
	list_each_safe(l, &c->streams) {
		struct stream *s = container_of(l, struct stream, link);
		if (s == c->legacy && !all)
			stream_came(s, s->work);
		else if (!s->id || record_take(s->id) || s->ended) /* else another thread is destroying it right now */
			bury(s);
	}
	pthread_mutex_unlock(&c->lock);
}

struct stream *stream_legacy(struct context *c)
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

	stream_word_begin(s, &value);
	/* Another thread may have asked for the value before, and not yet gone to sleep: it counts on us. */
	idle = s->capturing ||
	       (stream_settled(s) && (!s->tell.word || word_reached(call_link(), s->tell.word, value - 1)));
	if (idle || !s->tell.word || stream_post_sync(s, WIRE_WAKE, value))
		s->tell.value--;
	s->ended = true;
	stream_word_end(s);
}

CUresult remote_cuStreamDestroy_v2(CUstream handle)
{
	struct stream *s = record_find((uintptr_t)handle, HANDLE_CUstream);
	bool captured = s && s->capturing;
	struct context *c;
	CUresult r = CUDA_SUCCESS;

	if (captured && (r = call_cuStreamDestroy_v2(handle)))
		return r; /* the one that the capture began in */
	if (!s || !record_take((uintptr_t)handle))
		return CUDA_ERROR_INVALID_HANDLE;
	c = s->ctx;
	say_last(s);
	if (!captured)
		r = call_cuStreamDestroy_v2(handle);
	streams_reap(c);
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
	if (!*why && (!(o->stream = add_stream(c, (uintptr_t)handle, CU_STREAM_DEFAULT, 0)) || !thread_at_end(end_own, o)))
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
		stream_posted(posting);
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

/* ---- waiting ---- */

void stream_word_begin(struct stream *s, uint32_t *value)
{
	pthread_mutex_lock(&s->lock);
	if (!s->tell.word && !words_take(&s->tell))
		s->tell.word = 0;
	*value = ++s->tell.value;
}

void stream_word_end(struct stream *s)
{
	pthread_mutex_unlock(&s->lock);
}

/* What a wait is for: a copy, since the stream may be destroyed, and its record used again, before the wait is over. */
struct sleeper {
	uint64_t id, context;
	uint32_t word, value;
};

static struct sleeper sleeper_of(const struct stream *s, uint32_t value)
{
	return (struct sleeper){s->id, s->ctx->id, s->tell.word, value};
}

static CUresult post_sync(const struct sleeper *z, unsigned op)
{
	struct lane *lane = call_lane();
	struct wire_sync *a = call_reserve(lane, sizeof *a);

	if (!a)
		return call_lost();
	call_in(a, z->context);
	*a = (struct wire_sync){.kind = WIRE_SYNC_STREAM, .word = z->word, .value = z->value, .what = z->id};
	return call_send(lane, op, sizeof *a, NULL, 0);
}

CUresult stream_post_sync(struct stream *s, unsigned op, uint32_t value)
{
	struct sleeper z = sleeper_of(s, value);

	return post_sync(&z, op);
}

CUresult stream_ask(struct stream *s, unsigned op, const void *args, size_t size, uint32_t *value)
{
	struct lane *lane = call_lane();
	CUresult r = CUDA_ERROR_OUT_OF_MEMORY;
	void *room = NULL;

	stream_word_begin(s, value);
	if (s->tell.word) {
		room = call_reserve(lane, size);
		r = call_lost();
	}
	if (room) {
		call_in(room, s->ctx->id);
		memcpy(room, args, size);
		*(struct wire_tell *)room = (struct wire_tell){s->tell.word, *value};
		r = call_send(lane, op, size, NULL, 0);
	}
	if (r)
		--s->tell.value; /* nobody will set it */
	stream_word_end(s);
	return r;
}

static int ask_wake(void *arg)
{
	return post_sync(arg, WIRE_WAKE) ? -EPIPE : 0;
}

static CUresult sleep_until(struct sleeper *z)
{
	return word_wait(call_link(), z->word, z->value, -1, remote.local ? ask_wake : NULL, z) ? call_lost() : CUDA_SUCCESS;
}

CUresult stream_word_wait(struct stream *s, uint32_t value)
{
	struct sleeper z = sleeper_of(s, value);

	return sleep_until(&z);
}

/* One that is destroyed and not yet through.  It may be gone and forgotten by now. */
static CUresult wait_ended(struct stream *s)
{
	struct wire_tell t;

	pthread_mutex_lock(&s->lock);
	t = s->tell;
	pthread_mutex_unlock(&s->lock);
	return t.word && word_wait(call_link(), t.word, t.value, -1, NULL, NULL) ? call_lost() : CUDA_SUCCESS;
}

bool stream_settled(struct stream *s)
{
	return atomic_load_explicit(&s->settled, memory_order_acquire) == atomic_load_explicit(&s->work, memory_order_relaxed);
}

/* The legacy stream waits for the blocking streams of its context too. */
static bool nothing_ahead(struct stream *s)
{
	bool idle = stream_settled(s);

	if (s->id || !idle)
		return idle;
	pthread_mutex_lock(&s->ctx->lock);
	list_each(l, &s->ctx->streams) {
		struct stream *o = container_of(l, struct stream, link);
		idle &= (o->flags & CU_STREAM_NON_BLOCKING) || stream_settled(o) || (o->ended && passed(o));
	}
	pthread_mutex_unlock(&s->ctx->lock);
	return idle;
}

void stream_point(struct stream *s, struct stream_point *p)
{
	p->work = atomic_load(&s->work);
	p->ahead = 0;
	if (s->id)
		return;
	pthread_mutex_lock(&s->ctx->lock);
	list_each(l, &s->ctx->streams) {
		struct stream *o = container_of(l, struct stream, link);

		if (o != s && !(o->flags & CU_STREAM_NON_BLOCKING) && !stream_settled(o) && p->ahead < POINT_STREAMS) {
			p->of[p->ahead].stream = o;
			p->of[p->ahead++].work = atomic_load(&o->work);
		}
	}
	pthread_mutex_unlock(&s->ctx->lock);
}

/* Records are used again, and their counts go on: an old count changes nothing. */
void stream_reached(struct stream *s, const struct stream_point *p)
{
	stream_came(s, p->work);
	for (unsigned i = 0; i < p->ahead; i++)
		stream_came(p->of[i].stream, p->of[i].work);
}

CUresult stream_settle(struct stream *s)
{
	struct stream_point point;
	struct sleeper z;
	uint32_t value;
	CUresult r;

	if (s->capturing) /* a word's writing would be captured, too */
		return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
	stream_point(s, &point);
	stream_word_begin(s, &value);
	if (s->ended) {
		s->tell.value--;
		stream_word_end(s);
		r = wait_ended(s);
		mirror_pull();
		return r;
	}
	z = sleeper_of(s, value);
	r = z.word ? post_sync(&z, WIRE_SYNC) : CUDA_ERROR_OUT_OF_MEMORY;
	stream_word_end(s);
	if (!r)
		r = sleep_until(&z);
	if (r)
		return r;
	stream_reached(s, &point);
	stage_reclaim(s);
	mirror_pull();
	return CUDA_SUCCESS;
}

void stream_came(struct stream *s, uint64_t work)
{
	uint64_t settled = atomic_load(&s->settled);

	while (settled < work && !atomic_compare_exchange_weak(&s->settled, &settled, work))
		;
}

/* It would wait for streams that are being captured; asking for it makes those captures invalid. */
static bool legacy_forbidden(CUstream handle)
{
	CUstreamCaptureStatus status;

	return call_cuStreamIsCapturing(handle, &status) == CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
}

CUresult remote_cuStreamSynchronize(CUstream handle)
{
	CUresult r;
	struct stream *s = stream_find(handle, &r);

	if (!s)
		return r;
	if (s->capturing) /* the capture becomes invalid */
		return call_cuStreamSynchronize(handle);
	if (stream_in_the_way(s) && legacy_forbidden(handle))
		return call_cuStreamSynchronize(handle);
	if (!nothing_ahead(s)) {
		r = stream_settle(s);
		if (r)
			return r;
	}
	mirror_pull();
	return stream_late(s);
}

/* A word will say when all that is posted now is done; asked for once per new work. */
static bool look(struct stream *s, CUresult *why)
{
	uint64_t work = atomic_load(&s->work);
	uint32_t value;

	*why = CUDA_SUCCESS;
	if (s->asked != work) {
		stream_word_begin(s, &value);
		*why = s->tell.word ? stream_post_sync(s, WIRE_SYNC, value) : CUDA_ERROR_OUT_OF_MEMORY;
		if (!*why) {
			s->asked_value = value;
			s->asked = work;
		}
		stream_word_end(s);
	}
	if (*why || !word_reached(call_link(), s->tell.word, s->asked_value))
		return false;
	stream_came(s, work);
	mirror_pull();
	return true;
}

CUresult remote_cuStreamQuery(CUstream handle)
{
	CUresult r;
	struct stream *s = stream_find(handle, &r);

	if (!s)
		return r;
	if (stream_in_the_way(s))
		return call_cuStreamQuery(handle);
	if (nothing_ahead(s))
		return stream_late(s);
	if (!s->id) /* the legacy stream waits for others, too */
		return call_cuStreamQuery(handle);
	bool ready = look(s, &r);
	if (r)
		return r;
	r = stream_late(s);
	return r ? r : ready ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY;
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
	if (stream_in_the_way(s))
		return call_cuStreamIsCapturing(handle, status);
	*status = CU_STREAM_CAPTURE_STATUS_NONE;
	return CUDA_SUCCESS;
}
