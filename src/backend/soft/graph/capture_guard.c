/* Calls that are not allowed during a capture, and the end of captures when their context is destroyed. */
#include "backend/soft/graph/capture.h"

CUresult capture_reject_stream(struct stream *s)
{
	struct strand *t;

	pthread_mutex_lock(&graph_lock);
	CUresult r = strand_find(s, &t);
	if (!r && t) {
		capture_invalidate(t);
		r = CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
	}
	pthread_mutex_unlock(&graph_lock);
	return r;
}

CUresult capture_reject_destroy(struct stream *s)
{
	struct strand *t;

	pthread_mutex_lock(&graph_lock);
	CUresult r = strand_find(s, &t);
	if (!r && t && t->capture->origin == s) {
		capture_invalidate(t);
		r = CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
	}
	pthread_mutex_unlock(&graph_lock);
	return r;
}

static __thread CUstreamCaptureMode thread_mode __attribute__((tls_model("initial-exec")));

CUresult soft_cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode *mode)
{
	if (!mode || *mode > CU_STREAM_CAPTURE_MODE_RELAXED)
		return CUDA_ERROR_INVALID_VALUE;
	CUstreamCaptureMode old = thread_mode;
	thread_mode = *mode;
	*mode = old;
	return CUDA_SUCCESS;
}

static bool capture_forbids_unsafe_calls(const struct capture *c)
{
	bool mine = pthread_equal(c->thread, pthread_self());

	if (c->mode == CU_STREAM_CAPTURE_MODE_RELAXED || thread_mode == CU_STREAM_CAPTURE_MODE_RELAXED)
		return false;
	return mine || (c->mode == CU_STREAM_CAPTURE_MODE_GLOBAL && thread_mode == CU_STREAM_CAPTURE_MODE_GLOBAL);
}

CUresult capture_reject_unsafe_call(void)
{
	CUresult r = CUDA_SUCCESS;

	if (!atomic_load(&ncaptures))
		return r;
	pthread_mutex_lock(&graph_lock);
	list_each(it, &captures)
	{
		struct capture *c = container_of(it, struct capture, link);

		if (capture_forbids_unsafe_calls(c)) {
			c->invalid = true;
			r = CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
		}
	}
	pthread_mutex_unlock(&graph_lock);
	return r;
}

CUresult capture_reject_context(struct context *ctx)
{
	CUresult r = CUDA_SUCCESS;

	if (!atomic_load(&ctx->capture))
		return r;
	pthread_mutex_lock(&graph_lock);
	list_each(it, &captures) list_each(st, &container_of(it, struct capture, link)->strands)
	{
		struct strand *t = container_of(st, struct strand, link);

		if (t->stream->object.ctx == ctx) {
			capture_invalidate(t);
			r = CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
		}
	}
	pthread_mutex_unlock(&graph_lock);
	return r;
}

/* Some capture with a stream of ctx, or NULL. */
static struct capture *capture_find_in_context(const struct context *ctx)
{
	list_each(it, &captures)
	{
		struct capture *c = container_of(it, struct capture, link);

		list_each(st, &c->strands)
		{
			if (container_of(st, struct strand, link)->stream->object.ctx == ctx)
				return c;
		}
	}
	return NULL;
}

void capture_end_context(struct context *ctx)
{
	struct user_object_list dead = {NULL};
	struct capture *c;

	if (!atomic_load(&ctx->capture))
		return;
	pthread_mutex_lock(&graph_lock);
	while ((c = capture_find_in_context(ctx))) {
		struct graph *g = c->borrowed ? NULL : c->graph;

		capture_end(c);
		graph_destroy(g, &dead);
	}
	pthread_mutex_unlock(&graph_lock);
	user_objects_finish(&dead);
}
