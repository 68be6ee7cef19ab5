/*
 * Events of whole contexts: a point that all its streams have passed, or that none of them passes before.
 */
#include "backend/soft/stream/event.h"
#include "backend/soft/stream/queue.h"

/* What a context's streams have been given so far, as dependencies of c. */
static int depend_on_all(struct command *c, struct context *ctx)
{
	int err = 0;

	list_each(it, &ctx->busy)
	{
		struct stream *s = container_of(it, struct stream, busy);

		if (!err)
			err = command_depend(c, s, atomic_load(&s->submitted));
	}
	return err;
}

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
	if (!depend_on_all(c, ctx))
		r = queue_submit(s, c);
	if (!r)
		old = event_set_point(e, s, atomic_load(&s->submitted));
	pthread_mutex_unlock(&soft.queue_lock);
	object_put(old);
	if (r)
		command_destroy(c);
	return r;
}

/* A stream of its own, gone when it is done, passes the point where all the others have been. */
static CUresult record_all(struct event *e, struct context *ctx)
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

/* The context's gate, made at first use; referenced by the context. */
static struct stream *gate_of(struct context *ctx)
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

static CUresult wait_all(struct event *e, struct context *ctx)
{
	if (!atomic_load(&ctx->active))
		return CUDA_ERROR_CONTEXT_IS_DESTROYED;
	struct stream *gate = gate_of(ctx);
	return gate ? event_wait(e, gate) : CUDA_ERROR_OUT_OF_MEMORY;
}

static CUresult with_both(CUcontext handle, CUevent event, CUresult (*f)(struct event *e, struct context *ctx))
{
	struct context *ctx;
	struct event *e;
	CUresult r = handle ? context_find(handle, &ctx) : CUDA_ERROR_INVALID_CONTEXT; /* not the current one */

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
	return with_both(ctx, event, record_all);
}

CUresult soft_cuCtxWaitEvent(CUcontext ctx, CUevent event)
{
	return with_both(ctx, event, wait_all);
}
