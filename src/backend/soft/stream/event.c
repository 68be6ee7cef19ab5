/* Events: recording, waiting, querying, timing. */
#include "backend/soft/stream/event.h"
#include "backend/soft/memory/ipc.h"
#include "backend/soft/memory/mempool.h"
#include "backend/soft/stream/queue.h"

#include <stdlib.h>

static void event_release(void *object)
{
	struct event *e = object;

	if (atomic_load(&e->capture))
		capture_forget_event(e);
	object_put(e->stream);
	shared_event_destroy(e->shared);
	free(e);
}

struct dep event_point(struct event *e)
{
	pthread_mutex_lock(&soft.queue_lock);
	struct dep d = {e->stream, e->number};
	if (d.stream)
		object_ref(d.stream);
	pthread_mutex_unlock(&soft.queue_lock);
	return d;
}

struct stream *event_set_point(struct event *e, struct stream *s, uint64_t number)
{
	struct stream *old = e->stream;

	object_ref(s);
	e->stream = s;
	e->number = number;
	return old;
}

static CUresult run_record(struct command *c)
{
	struct record_payload *r = c->data;
	uint64_t now = soft_now();

	pthread_mutex_lock(&soft.queue_lock);
	if (r->event->stream == c->stream && r->event->number == c->number)
		r->event->time = now;
	pthread_mutex_unlock(&soft.queue_lock);
	return CUDA_SUCCESS;
}

static void release_record(struct command *c)
{
	struct record_payload *r = c->data;

	object_put(r->event);
}

const struct command_ops command_record = {COMMAND_RECORD, run_record, release_record, true};

/* Record e in an idle stream, where it is complete at once; false: s is not idle. */
static bool event_record_idle(struct event *e, struct stream *s)
{
	struct stream *old = NULL;

	pthread_mutex_lock(&soft.queue_lock);
	bool idle = queue_idle(s);
	if (idle) {
		old = event_set_point(e, s, atomic_load(&s->submitted));
		e->time = soft_now();
	}
	pthread_mutex_unlock(&soft.queue_lock);
	object_put(old);
	return idle;
}

CUresult event_record(struct event *e, struct stream *s)
{
	struct command *c;
	struct stream *old;

	if (e->shared)
		return shared_event_record(e, s);
	if (atomic_load(&s->capture))
		return capture_record(e, s, false);
	if (atomic_load(&e->capture))
		capture_forget_event(e);
	if (event_record_idle(e, s))
		return CUDA_SUCCESS;
	c = command_create(&command_record, sizeof(struct record_payload));
	if (!c)
		return CUDA_ERROR_OUT_OF_MEMORY;
	object_ref(e);
	((struct record_payload *)c->data)->event = e;
	pthread_mutex_lock(&soft.queue_lock);
	CUresult r = queue_submit(s, c);
	old = r ? NULL : event_set_point(e, s, atomic_load(&s->submitted));
	pthread_mutex_unlock(&soft.queue_lock);
	object_put(old);
	if (r)
		command_destroy(c);
	return r;
}

CUresult event_wait(struct event *e, struct stream *s)
{
	if (e->shared)
		return shared_event_wait(e, s);
	if (atomic_load(&s->capture) || atomic_load(&e->capture))
		return capture_wait(e, s, false);
	struct dep d = event_point(e);
	return d.stream ? stream_wait_point(s, d) : CUDA_SUCCESS;
}

struct event *event_create(struct context *ctx, unsigned flags, struct shared_event *shared)
{
	struct event *e = calloc(1, sizeof *e);

	if (!e)
		return NULL;
	e->flags = flags;
	e->shared = shared;
	if (object_init_held(&e->object, KIND_EVENT, ctx, event_release)) {
		free(e);
		return NULL;
	}
	return e;
}

/* ---- entry points ---- */

CUresult soft_cuEventCreate(CUevent *out, unsigned int flags)
{
	struct context *ctx;
	CUresult r = context_enter(&ctx);

	if (r)
		return r;
	if (!out || flags & ~(CU_EVENT_BLOCKING_SYNC | CU_EVENT_DISABLE_TIMING | CU_EVENT_INTERPROCESS))
		return CUDA_ERROR_INVALID_VALUE;
	struct shared_event *shared = NULL;
	if (flags & CU_EVENT_INTERPROCESS) {
		if (!(flags & CU_EVENT_DISABLE_TIMING))
			return CUDA_ERROR_INVALID_VALUE;
		if (!(shared = shared_event_create()))
			return CUDA_ERROR_OUT_OF_MEMORY;
	}
	struct event *e = event_create(ctx, flags, shared);
	if (!e) {
		shared_event_destroy(shared);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	*out = object_handle(CUevent, e);
	object_put(e);
	return CUDA_SUCCESS;
}

CUresult event_enter(CUevent handle, struct event **e)
{
	if (!atomic_load(&soft.ready))
		return CUDA_ERROR_NOT_INITIALIZED;
	*e = object_find(handle, KIND_EVENT);
	if (!*e)
		return CUDA_ERROR_INVALID_HANDLE;
	CUresult r = atomic_load(&(*e)->object.ctx->error);
	if (r)
		object_put(*e);
	return r;
}

CUresult soft_cuEventDestroy_v2(CUevent handle)
{
	struct event *e;
	CUresult r = event_enter(handle, &e);

	if (r)
		return r;
	if (!object_close(e))
		r = CUDA_ERROR_INVALID_HANDLE;
	object_put(e);
	return r;
}

static CUresult event_and_stream_enter(CUevent event, CUstream stream, struct event **e, struct stream **s)
{
	CUresult r = stream_enter(stream, s);

	if (r)
		return r;
	r = event_enter(event, e);
	if (r)
		object_put(*s);
	return r;
}

CUresult soft_cuEventRecordWithFlags(CUevent event, CUstream stream, unsigned int flags)
{
	struct event *e;
	struct stream *s;

	if (flags & ~CU_EVENT_RECORD_EXTERNAL)
		return CUDA_ERROR_INVALID_VALUE;
	CUresult r = event_and_stream_enter(event, stream, &e, &s);
	if (r)
		return r;
	if (e->object.ctx != s->object.ctx)
		r = CUDA_ERROR_INVALID_HANDLE;
	else if (flags & CU_EVENT_RECORD_EXTERNAL)
		r = atomic_load(&s->capture) ? capture_record(e, s, true) : CUDA_ERROR_ILLEGAL_STATE;
	else
		r = event_record(e, s);
	object_put(s);
	object_put(e);
	return r;
}

CUresult soft_cuEventRecord(CUevent event, CUstream stream)
{
	return soft_cuEventRecordWithFlags(event, stream, 0);
}

CUresult soft_cuStreamWaitEvent(CUstream stream, CUevent event, unsigned int flags)
{
	struct event *e;
	struct stream *s;

	if (flags & ~CU_EVENT_WAIT_EXTERNAL)
		return CUDA_ERROR_INVALID_VALUE;
	CUresult r = event_and_stream_enter(event, stream, &e, &s);
	if (r)
		return r;
	if (flags & CU_EVENT_WAIT_EXTERNAL)
		r = atomic_load(&s->capture) ? capture_wait(e, s, true) : CUDA_ERROR_ILLEGAL_STATE;
	else
		r = event_wait(e, s);
	object_put(s);
	object_put(e);
	return r;
}

CUresult soft_cuEventQuery(CUevent handle)
{
	struct event *e;
	CUresult r = event_enter(handle, &e);

	if (r)
		return r;
	r = capture_reject_event(e);
	if (!r)
		r = capture_reject_unsafe_call();
	if (r) {
		object_put(e);
		return r;
	}
	struct dep d = event_point(e);
	if (e->shared ? !shared_event_done(e->shared) : d.stream && !stream_done(d.stream, d.number))
		r = CUDA_ERROR_NOT_READY;
	object_put(d.stream);
	object_put(e);
	return r;
}

CUresult soft_cuEventSynchronize(CUevent handle)
{
	struct event *e;
	CUresult r = event_enter(handle, &e);

	if (r)
		return r;
	r = capture_reject_event(e);
	if (r) {
		object_put(e);
		return r;
	}
	struct dep d = event_point(e);
	if (e->shared)
		shared_event_sync(e->shared);
	else if (d.stream)
		stream_wait(d.stream, d.number, !(e->flags & CU_EVENT_BLOCKING_SYNC));
	context_synchronized(e->object.ctx);
	r = atomic_load(&e->object.ctx->error);
	object_put(d.stream);
	object_put(e);
	return r;
}

/* The time at which the stream passed e.  Errors: 400 (never recorded, or timing is disabled), 600 (not passed yet). */
static CUresult event_time(struct event *e, uint64_t *time)
{
	CUresult r = capture_reject_event(e);

	if (r)
		return r;
	pthread_mutex_lock(&soft.queue_lock);
	if (!e->stream || e->flags & CU_EVENT_DISABLE_TIMING)
		r = CUDA_ERROR_INVALID_HANDLE;
	else if (!stream_done(e->stream, e->number))
		r = CUDA_ERROR_NOT_READY;
	*time = e->time;
	pthread_mutex_unlock(&soft.queue_lock);
	return r;
}

CUresult soft_cuEventElapsedTime_v2(float *ms, CUevent start, CUevent end)
{
	struct event *a, *b;
	uint64_t from = 0, to = 0;

	if (!ms)
		return CUDA_ERROR_INVALID_VALUE;
	CUresult r = event_enter(start, &a);
	if (r)
		return r;
	r = event_enter(end, &b);
	if (r) {
		object_put(a);
		return r;
	}
	r = event_time(a, &from);
	CUresult r2 = event_time(b, &to);
	if (r == CUDA_SUCCESS || r2 == CUDA_ERROR_INVALID_HANDLE || r2 == CUDA_ERROR_CAPTURED_EVENT)
		r = r2;
	if (!r)
		*ms = (float)((double)(int64_t)(to - from) / 1e6);
	object_put(b);
	object_put(a);
	return r;
}

CUresult soft_cuEventElapsedTime(float *ms, CUevent start, CUevent end)
{
	return soft_cuEventElapsedTime_v2(ms, start, end);
}
