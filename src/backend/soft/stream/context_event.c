/*
 * Events of a whole context: recording an event after all its streams, and making all its streams wait for one.
 */
#include "backend/soft/stream/event.h"
#include "backend/soft/stream/queue.h"

static CUresult submit_record(struct event *e, struct context *ctx, struct stream *s)
{
	struct command *c = command_create(&command_record, sizeof(struct record_payload));
	struct stream *old = NULL;
	CUresult r = CUDA_ERROR_OUT_OF_MEMORY;

	if (!c)
		return r;
	object_ref(e);
	((struct record_payload *)c->data)->event = e;
	pthread_mutex_lock(&soft.queue_lock);
	if (!command_depend_on_context(c, ctx))
		r = queue_submit(s, c);
	if (!r)
		old = event_set_point(e, s, atomic_load(&s->submitted));
	pthread_mutex_unlock(&soft.queue_lock);
	object_put(old);
	if (r)
		command_destroy(c);
	return r;
}

/* Record e in a new stream, whose one command depends on all other streams; the stream is closed at once. */
static CUresult context_record(struct event *e, struct context *ctx)
{
	struct stream *s;

	if (!atomic_load(&ctx->active))
		return CUDA_ERROR_CONTEXT_IS_DESTROYED;
	s = stream_create_held(ctx, CU_STREAM_NON_BLOCKING, 0);
	if (!s)
		return CUDA_ERROR_OUT_OF_MEMORY;
	CUresult r = submit_record(e, ctx, s);
	object_close(s);
	object_put(s);
	return r;
}

/* The context's gate, created on first use: the stream that all its other streams wait for. */
static struct stream *context_gate(struct context *ctx)
{
	struct stream *fresh = stream_create_held(ctx, CU_STREAM_NON_BLOCKING, 0), *gate;

	if (!fresh)
		return NULL;
	pthread_mutex_lock(&soft.queue_lock);
	gate = ctx->gate;
	if (!gate)
		gate = ctx->gate = fresh;
	pthread_mutex_unlock(&soft.queue_lock);
	if (gate != fresh) {
		object_close(fresh);
		object_put(fresh);
	}
	return gate;
}

static CUresult context_wait_event(struct event *e, struct context *ctx)
{
	if (!atomic_load(&ctx->active))
		return CUDA_ERROR_CONTEXT_IS_DESTROYED;
	struct stream *gate = context_gate(ctx);
	return gate ? event_wait(e, gate) : CUDA_ERROR_OUT_OF_MEMORY;
}

static CUresult with_context_and_event(
	CUcontext handle, CUevent event, CUresult (*f)(struct event *e, struct context *ctx))
{
	struct context *ctx;
	struct event *e;
	CUresult r = handle ? context_find(handle, &ctx)
			    : CUDA_ERROR_INVALID_CONTEXT; /* NULL does not mean the current one */

	if (r)
		return r;
	r = event_enter(event, &e);
	if (!r) {
		r = f(e, ctx);
		object_put(e);
	}
	object_put(ctx);
	return r;
}

CUresult soft_cuCtxRecordEvent(CUcontext ctx, CUevent event)
{
	return with_context_and_event(ctx, event, context_record);
}

CUresult soft_cuCtxWaitEvent(CUcontext ctx, CUevent event)
{
	return with_context_and_event(ctx, event, context_wait_event);
}
