/*
 * Events: recorded by posting.  One that is known to be done needs no question; for others the server is
 * told once to set a word when they are, and then everybody looks at the word.
 */
#include <errno.h>
#include <stdlib.h>
#include "backend/remote/code.h"
#include "util/handle.h"

/* A word that will say that an event is done. */
struct watch {
	struct watch *next;
	unsigned word;
	uint32_t value;
};

struct event {
	uint64_t id;
	unsigned flags;
	_Atomic(bool) foreign;		 /* recorded by a graph, or by another process */
	_Atomic(struct stream *) stream; /* recorded in; NULL: never */
	_Atomic(uint64_t) work;		 /* done when so much of the stream is */
	_Atomic(uint64_t) capture;	 /* recorded while capturing: by this one */
	pthread_mutex_t lock;
	struct watch *watch; /* NULL: nobody has asked since it was recorded */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
#define WATCHES 256 /* most of the link's words are for streams */

static unsigned watches;
static struct watch *spare, *leaving; /* leaving: nobody looks any more, but the word is still to be set */

static struct watch *reuse(void)
{
	struct watch *w = spare, **p;

	if (w) {
		spare = w->next;
		return w;
	}
	for (p = &leaving; (w = *p); p = &w->next)
		if (word_reached(call_link(), w->word, w->value)) {
			*p = w->next;
			return w;
		}
	return NULL;
}

static struct watch *watch_take(void)
{
	struct watch *w;

	pthread_mutex_lock(&lock);
	w = reuse();
	bool more = !w && watches < WATCHES;
	watches += more;
	pthread_mutex_unlock(&lock);
	if (more) {
		w = calloc(1, sizeof *w);
		if (w && word_alloc(call_link(), &w->word, &w->value)) {
			free(w);
			w = NULL;
		}
	}
	if (w)
		w->value++;
	return w;
}

static void watch_leave(struct watch *w, bool reached)
{
	struct watch **list = reached ? &spare : &leaving;

	pthread_mutex_lock(&lock);
	w->next = *list;
	*list = w;
	pthread_mutex_unlock(&lock);
}

static CUresult post_sync(const struct event *e, const struct watch *w, unsigned op)
{
	struct lane *lane = call_lane();
	struct wire_sync *a = call_reserve(lane, sizeof *a);

	if (!a)
		return call_lost();
	if (e->stream)
		call_in(a, e->stream->ctx->id);
	*a = (struct wire_sync){.kind = WIRE_SYNC_EVENT, .word = w->word, .value = w->value, .what = e->id};
	return call_send(lane, op, sizeof *a, NULL, 0);
}

static struct event *find(CUevent handle)
{
	return handle_kind((uintptr_t)handle) == HANDLE_CUevent ? record_find((uintptr_t)handle) : NULL;
}

static CUresult add(CUevent handle, unsigned flags, bool foreign)
{
	struct event *e = calloc(1, sizeof *e);

	if (!e || !record_put((uintptr_t)handle, e)) {
		free(e);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	e->id = (uintptr_t)handle;
	e->flags = flags;
	e->foreign = foreign;
	pthread_mutex_init(&e->lock, NULL);
	return CUDA_SUCCESS;
}

CUresult remote_cuEventCreate(CUevent *phEvent, unsigned int flags)
{
	CUresult r = call_cuEventCreate(phEvent, flags);

	return r ? r : add(*phEvent, flags, flags & CU_EVENT_INTERPROCESS);
}

CUresult remote_cuIpcOpenEventHandle(CUevent *phEvent, CUipcEventHandle handle)
{
	CUresult r = call_cuIpcOpenEventHandle(phEvent, handle);

	return r ? r : add(*phEvent, CU_EVENT_INTERPROCESS, true);
}

/* What was recorded before does not matter any more. */
static void forget_watch(struct event *e)
{
	struct watch *w;

	pthread_mutex_lock(&e->lock);
	w = e->watch;
	e->watch = NULL;
	pthread_mutex_unlock(&e->lock);
	if (w)
		watch_leave(w, word_reached(call_link(), w->word, w->value));
}

CUresult remote_cuEventDestroy_v2(CUevent handle)
{
	struct event *e = find(handle);

	if (!e || !record_take((uintptr_t)handle))
		return CUDA_ERROR_INVALID_HANDLE;
	forget_watch(e);
	return call_cuEventDestroy_v2(handle); /* the record itself stays: another thread may be reading it */
}

void event_foreign(CUevent handle)
{
	struct event *e = find(handle);

	if (e)
		e->foreign = true;
}

CUresult remote_cuEventRecordWithFlags(CUevent handle, CUstream stream, unsigned int flags)
{
	CUresult r;
	struct event *e = find(handle);
	struct stream *s = e ? stream_find(stream, &r) : NULL;

	if (!e)
		return CUDA_ERROR_INVALID_HANDLE;
	if (!s)
		return r;
	if (flags & CU_EVENT_RECORD_EXTERNAL && !s->capturing)
		return CUDA_ERROR_ILLEGAL_STATE;
	if (__atomic_load_n(&e->watch, __ATOMIC_RELAXED))
		forget_watch(e);
	r = flags ? call_cuEventRecordWithFlags(handle, stream, flags) : call_cuEventRecord(handle, stream);
	if (r)
		return r;
	if (s->capturing && flags & CU_EVENT_RECORD_EXTERNAL) {
		e->foreign = true;
		return r;
	}
	atomic_store_explicit(&e->capture, s->capturing ? s->capture : 0, memory_order_relaxed);
	atomic_store_explicit(&e->work, s->work, memory_order_relaxed);
	atomic_store_explicit(&e->stream, s, memory_order_release);
	return r;
}

CUresult remote_cuEventRecord(CUevent handle, CUstream stream)
{
	return remote_cuEventRecordWithFlags(handle, stream, 0);
}

/* What has failed in the context it was recorded in. */
static CUresult late(const struct event *e)
{
	struct stream *s = e->stream;

	return s ? stream_late(s) : call_late();
}

static bool done(const struct event *e)
{
	struct stream *s = e->stream;

	return !e->foreign && (!s || s->settled >= e->work);
}

/* The stream has come to the event, so to all before it. */
static void settle(struct stream *s, uint64_t work)
{
	uint64_t settled = s ? atomic_load(&s->settled) : 0;

	while (s && settled < work && !atomic_compare_exchange_weak(&s->settled, &settled, work))
		;
}

/* The event's watch, set up if nobody has.  NULL: no words are left. */
static struct watch *watch(struct event *e, CUresult *why)
{
	struct watch *w;

	*why = CUDA_SUCCESS;
	pthread_mutex_lock(&e->lock);
	w = e->watch;
	if (!w && (w = watch_take())) {
		*why = post_sync(e, w, WIRE_SYNC);
		e->watch = w;
	}
	pthread_mutex_unlock(&e->lock);
	return *why ? NULL : w;
}

/* A foreign event may be recorded again behind our back, so a watch on it is good for one look only. */
static void reached(struct event *e, uint64_t work)
{
	if (e->foreign)
		forget_watch(e);
	else
		settle(e->stream, work);
}

CUresult remote_cuEventQuery(CUevent handle)
{
	struct event *e = find(handle);
	uint64_t work;
	struct watch *w;
	CUresult r;

	if (!e)
		return CUDA_ERROR_INVALID_HANDLE;
	if (e->foreign || e->capture)
		return call_cuEventQuery(handle);
	r = capture_unsafe();
	if (r)
		return r;
	if (done(e))
		return late(e);
	work = e->work;
	w = watch(e, &r);
	if (!w)
		return r ? r : call_cuEventQuery(handle);
	if (!word_reached(call_link(), w->word, w->value)) {
		r = late(e);
		return r ? r : CUDA_ERROR_NOT_READY;
	}
	reached(e, work);
	return late(e);
}

struct sleeper {
	struct event *event;
	struct watch *watch;
};

static int ask_wake(void *arg)
{
	struct sleeper *z = arg;

	return post_sync(z->event, z->watch, WIRE_WAKE) ? -EPIPE : 0;
}

CUresult remote_cuEventSynchronize(CUevent handle)
{
	struct event *e = find(handle);
	struct sleeper z = {e, NULL};
	struct stream *s;
	uint64_t work;
	CUresult r;

	if (!e)
		return CUDA_ERROR_INVALID_HANDLE;
	if (e->capture)
		return call_cuEventSynchronize(handle);
	if (done(e))
		return late(e);
	s = e->stream;
	work = e->work;
	if (!e->foreign && s->work == work) { /* nothing behind it: the stream's own word will do */
		r = stream_settle(s);
		return r ? r : late(e);
	}
	z.watch = watch(e, &r);
	if (!z.watch)
		return r ? r : e->foreign ? CUDA_ERROR_OUT_OF_MEMORY : stream_settle(s);
	if (word_wait(call_link(), z.watch->word, z.watch->value, -1, remote.local ? ask_wake : NULL, &z))
		return call_lost();
	reached(e, work);
	return late(e);
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
	capture = atomic_load_explicit(&e->capture, memory_order_relaxed);
	r = call_cuStreamWaitEvent(stream, handle, flags);
	if (!r && capture && !call_careful)
		r = call_flush(); /* that capture has ended, and the event is good for nothing */
	if (!r && capture && !s->capturing)
		capture_join(s, capture);
	return r;
}
