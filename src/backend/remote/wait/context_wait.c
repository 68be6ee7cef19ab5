/* Waiting for all streams of a context, and its events. */
#include "backend/remote/graph/graph.h"

#define BUSY_STREAMS 64

/* Up to BUSY_STREAMS streams that are not idle.  Stream records are never freed, so the lock need not be held after. */
static int context_busy_streams(struct context *c, struct stream **busy, bool captured)
{
	int n = 0;

	streams_free_drained(c);
	pthread_mutex_lock(&c->lock);
	list_each(l, &c->streams)
	{
		struct stream *s = container_of(l, struct stream, link);
		if (n < BUSY_STREAMS && !stream_idle(s) && (captured || !s->capturing))
			busy[n++] = s;
	}
	pthread_mutex_unlock(&c->lock);
	return n;
}

/* `captured`: a captured stream counts too, and is an error, because it cannot be waited for. */
static CUresult context_wait_streams(struct context *c, bool captured)
{
	struct stream *busy[BUSY_STREAMS];
	CUresult r = CUDA_SUCCESS;
	int n;

	do {
		n = context_busy_streams(c, busy, captured);
		for (int i = 0; i < n && !r; i++) {
			r = stream_synchronize(busy[i]);
			if (r == CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED && !captured)
				r = CUDA_SUCCESS; /* its capture has begun meanwhile */
		}
	} while (n == BUSY_STREAMS && !r);
	return r;
}

static CUresult context_synchronize(struct context *c)
{
	CUresult r;

	if (!c)
		return context_none();
	r = context_ended(c) ? CUDA_ERROR_CONTEXT_IS_DESTROYED : capture_check_synchronize(c);
	if (!r)
		r = context_wait_streams(c, true);
	return r ? r : async_error_take_in(&c->errors);
}

void context_drain(void)
{
	struct context *c = context_current();

	if (c && !context_ended(c))
		context_wait_streams(c, false);
}

void contexts_drain(void)
{
	for (struct context *c = context_newest(); c; c = c->next)
		if (!context_ended(c))
			context_wait_streams(c, false);
}

CUresult remote_cuCtxSynchronize(void)
{
	return context_synchronize(context_current());
}

CUresult remote_cuCtxSynchronize_v2(CUcontext ctx)
{
	return context_synchronize(context_find(ctx));
}

void context_note_posted(struct context *c)
{
	pthread_mutex_lock(&c->lock);
	list_each(l, &c->streams) stream_note_posted(container_of(l, struct stream, link));
	pthread_mutex_unlock(&c->lock);
}

/* ---- events of a whole context ---- */

CUresult remote_cuCtxRecordEvent(CUcontext ctx, CUevent event)
{
	/* NULL does not mean the current context here */
	CUresult r = ctx ? call_cuCtxRecordEvent(ctx, event) : CUDA_ERROR_INVALID_CONTEXT;

	if (!r)
		event_set_foreign(event);
	return r;
}

CUresult remote_cuCtxWaitEvent(CUcontext ctx, CUevent event)
{
	struct context *c = context_find(ctx);
	CUresult r = ctx ? call_cuCtxWaitEvent(ctx, event) : CUDA_ERROR_INVALID_CONTEXT;

	if (!r && c)
		context_note_posted(c);
	return r;
}
