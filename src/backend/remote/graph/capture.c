/*
 * Stream captures: which streams take part in which capture, and the calls that a capture forbids.
 *
 * The server captures in relaxed mode, because its one dispatcher serves all threads of the client; the client itself
 * enforces what CUDA forbids the calling thread in the other modes.
 */
#include <stdlib.h>
#include "backend/remote/code/code.h"
#include "backend/remote/graph/state.h"
#include "backend/remote/session/fetch.h"

/* A context with streams in a capture. */
struct captured_context {
	struct captured_context *next;
	struct context *ctx;
};

struct capture {
	struct list link;
	uint64_t id;
	struct stream *origin;
	struct captured_context *contexts; /* other than the origin's */
	CUstreamCaptureMode mode;
	pthread_t thread;
};

/* Lock held. */
static struct capture *capture_find(uint64_t id)
{
	list_each(l, &client->graph->captures.active)
	{
		struct capture *c = container_of(l, struct capture, link);
		if (c->id == id)
			return c;
	}
	return NULL;
}

/* Streams of several contexts may take part in one capture.  Lock held; false: no memory. */
static bool capture_note_context(struct capture *c, struct context *ctx)
{
	struct captured_context *n = c->contexts;

	if (ctx == c->origin->ctx)
		return true;
	while (n && n->ctx != ctx)
		n = n->next;
	if (n)
		return true;
	n = malloc(sizeof *n);
	if (!n)
		return false;
	*n = (struct captured_context){c->contexts, ctx};
	c->contexts = n;
	return true;
}

static void stream_enter_capture(struct stream *s, struct capture *c)
{
	s->capture_id = c->id;
	s->capturing = true;
}

void capture_join(struct stream *s, uint64_t capture_id)
{
	struct capture *c;

	pthread_mutex_lock(&client->graph->captures.lock);
	c = capture_find(capture_id);
	if (c && !s->capturing && capture_note_context(c, s->ctx))
		stream_enter_capture(s, c);
	pthread_mutex_unlock(&client->graph->captures.lock);
}

/* ---- calls that a capture forbids ---- */

static __thread CUstreamCaptureMode thread_mode = CU_STREAM_CAPTURE_MODE_GLOBAL;

CUresult remote_cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode *mode)
{
	CUstreamCaptureMode old = thread_mode;

	if (!mode || (unsigned)*mode > CU_STREAM_CAPTURE_MODE_RELAXED)
		return CUDA_ERROR_INVALID_VALUE;
	thread_mode = *mode;
	*mode = old;
	return CUDA_SUCCESS;
}

/* Waiting for a captured stream invalidates the capture, at the server as here. */
static void capture_invalidate(struct stream *s)
{
	const _Atomic(uint64_t) *mine = call_context;

	call_context = &s->ctx->wire_id;
	call_cuStreamSynchronize((CUstream)(uintptr_t)s->id);
	call_context = mine;
}

/* Does the capture forbid unsafe calls of this thread? */
static bool capture_protected(const struct capture *c)
{
	if (c->mode == CU_STREAM_CAPTURE_MODE_RELAXED || thread_mode == CU_STREAM_CAPTURE_MODE_RELAXED)
		return false;
	return pthread_equal(c->thread, pthread_self()) ||
	       (c->mode == CU_STREAM_CAPTURE_MODE_GLOBAL && thread_mode == CU_STREAM_CAPTURE_MODE_GLOBAL);
}

/* Invalidates the captures in a context (NULL: those that forbid unsafe calls of this thread). */
static CUresult captures_invalidate(const struct context *in)
{
	CUresult r = CUDA_SUCCESS;

	pthread_mutex_lock(&client->graph->captures.lock);
	list_each(l, &client->graph->captures.active)
	{
		struct capture *c = container_of(l, struct capture, link);
		if (in ? c->origin->ctx != in : !capture_protected(c))
			continue;
		capture_invalidate(c->origin);
		r = CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
	}
	pthread_mutex_unlock(&client->graph->captures.lock);
	return r;
}

CUresult capture_invalidate_protected(void)
{
	return captures_invalidate(NULL);
}

CUresult capture_check_synchronize(struct context *c)
{
	return client->captures ? captures_invalidate(c) : CUDA_SUCCESS;
}

/* ---- begin and end ---- */

static CUresult capture_begin(struct stream *s, CUstreamCaptureMode mode)
{
	struct capture *c = calloc(1, sizeof *c);

	if (!c)
		return CUDA_ERROR_OUT_OF_MEMORY;
	pthread_mutex_lock(&client->graph->captures.lock);
	*c = (struct capture){
		.id = ++client->graph->captures.last_id, .origin = s, .mode = mode, .thread = pthread_self()};
	list_append(&client->graph->captures.active, &c->link);
	client->captures++;
	stream_enter_capture(s, c);
	pthread_mutex_unlock(&client->graph->captures.lock);
	return CUDA_SUCCESS;
}

static void capture_release_streams(uint64_t id, struct context *ctx)
{
	pthread_mutex_lock(&ctx->lock);
	list_each(l, &ctx->streams)
	{
		struct stream *s = container_of(l, struct stream, link);
		if (s->capture_id == id) {
			s->capturing = false;
			s->capture_id = 0;
		}
	}
	pthread_mutex_unlock(&ctx->lock);
}

static void capture_destroy(struct capture *c)
{
	if (!c)
		return;
	for (struct captured_context *n = c->contexts, *next; n; n = next) {
		next = n->next;
		free(n);
	}
	free(c);
}

/* Releases all streams that took part. */
static void capture_end(uint64_t id)
{
	struct capture *c;

	pthread_mutex_lock(&client->graph->captures.lock);
	c = capture_find(id);
	if (!c) {
		pthread_mutex_unlock(&client->graph->captures.lock);
		return;
	}
	list_remove(&c->link);
	client->captures--;
	pthread_mutex_unlock(&client->graph->captures.lock);
	capture_release_streams(id, c->origin->ctx);
	for (struct captured_context *n = c->contexts; n; n = n->next)
		capture_release_streams(id, n->ctx);
	capture_destroy(c);
}

void captures_drop(struct context *ctx)
{
	uint64_t id;

	do {
		id = 0;
		pthread_mutex_lock(&client->graph->captures.lock);
		list_each(l, &client->graph->captures.active)
		{
			struct capture *c = container_of(l, struct capture, link);
			if (c->origin->ctx == ctx)
				id = c->id;
		}
		pthread_mutex_unlock(&client->graph->captures.lock);
		if (id)
			capture_end(id);
	} while (id);
}

CUresult remote_cuStreamBeginCapture_v2(CUstream handle, CUstreamCaptureMode mode)
{
	CUresult r;
	struct stream *s = stream_find(handle, &r);
	CUgraph unwanted;

	if (!s)
		return r;
	if ((unsigned)mode > CU_STREAM_CAPTURE_MODE_RELAXED)
		return CUDA_ERROR_INVALID_VALUE;
	stream_word_lock(s);
	r = call_cuStreamBeginCapture_v2(handle, CU_STREAM_CAPTURE_MODE_RELAXED);
	if (!r && (r = capture_begin(s, mode)) && !call_cuStreamEndCapture(handle, &unwanted))
		call_cuGraphDestroy(unwanted);
	stream_word_unlock(s);
	return r;
}

CUresult remote_cuStreamBeginCapture(CUstream handle)
{
	return remote_cuStreamBeginCapture_v2(handle, CU_STREAM_CAPTURE_MODE_GLOBAL);
}

CUresult remote_cuStreamBeginCaptureToGraph(CUstream handle, CUgraph graph, const CUgraphNode *dependencies,
	const CUgraphEdgeData *data, size_t n, CUstreamCaptureMode mode)
{
	CUresult r;
	struct stream *s = stream_find(handle, &r);

	if (!s)
		return r;
	if ((unsigned)mode > CU_STREAM_CAPTURE_MODE_RELAXED)
		return CUDA_ERROR_INVALID_VALUE;
	stream_word_lock(s);
	r = call_cuStreamBeginCaptureToGraph(handle, graph, dependencies, data, n, CU_STREAM_CAPTURE_MODE_RELAXED);
	if (!r)
		r = capture_begin(s, mode);
	stream_word_unlock(s);
	return r;
}

/* Only the thread that began a capture may end it, unless its mode is relaxed. */
static bool capture_of_other_thread(uint64_t id)
{
	struct capture *c;
	bool other;

	pthread_mutex_lock(&client->graph->captures.lock);
	c = capture_find(id);
	other = c && c->mode != CU_STREAM_CAPTURE_MODE_RELAXED && !pthread_equal(c->thread, pthread_self());
	pthread_mutex_unlock(&client->graph->captures.lock);
	return other;
}

CUresult remote_cuStreamEndCapture(CUstream handle, CUgraph *graph)
{
	CUresult r;
	struct stream *s = stream_find(handle, &r);
	CUgraph unwanted; /* graph may be NULL: the capture went into an existing graph */
	uint64_t id;

	if (!s)
		return r;
	if (graph)
		*graph = NULL;
	id = s->capture_id;
	if (id && capture_of_other_thread(id))
		return CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD;
	r = call_cuStreamEndCapture(handle, graph ? graph : &unwanted);
	if (r == CUDA_SUCCESS || r == CUDA_ERROR_STREAM_CAPTURE_INVALIDATED ||
		r == CUDA_ERROR_STREAM_CAPTURE_UNJOINED || r == CUDA_ERROR_OUT_OF_MEMORY ||
		r == CUDA_ERROR_DEVICE_UNAVAILABLE)
		capture_end(id);
	return r;
}

void captures_finish(struct capture_table *t)
{
	list_each_safe(l, &t->active) capture_destroy(container_of(l, struct capture, link));
}

/* ---- capture info ---- */

/* The nodes and edges that the stream's next node depends on are in *rest, which the caller frees. */
static CUresult capture_ask_info(struct stream *s, struct wire_captured *head, uint8_t **rest)
{
	struct wire_capture_info a = {.stream = s->id};
	size_t size;
	CUresult r = call_fetch(WIRE_CAPTURE_INFO, &a, sizeof a, NULL, 0, head, sizeof *head, rest, &size);

	if (r)
		return r;
	if (head->dependencies > WIRE_DEPENDENCIES ||
		size < head->dependencies * (sizeof(CUgraphNode) + (head->edges ? sizeof(CUgraphEdgeData) : 0))) {
		free(*rest);
		return client_reject_reply();
	}
	return CUDA_SUCCESS;
}

CUresult remote_cuStreamGetCaptureInfo_v3(CUstream handle, CUstreamCaptureStatus *status, cuuint64_t *id,
	CUgraph *graph, const CUgraphNode **dependencies, const CUgraphEdgeData **edges, size_t *n)
{
	static __thread uint8_t *returned; /* valid until the thread asks again */
	static const CUgraphEdgeData default_edges[WIRE_DEPENDENCIES];
	struct wire_captured head;
	CUresult r;
	struct stream *s = stream_find(handle, &r);
	uint8_t *rest;

	if (!status)
		return CUDA_ERROR_INVALID_VALUE;
	if (!s)
		return r;
	if (!s->capturing) {
		*status = CU_STREAM_CAPTURE_STATUS_NONE;
		return CUDA_SUCCESS;
	}
	r = capture_ask_info(s, &head, &rest);
	if (r)
		return r;
	free(returned);
	returned = rest;
	*status = head.status;
	if (head.status != CU_STREAM_CAPTURE_STATUS_ACTIVE)
		return CUDA_SUCCESS;
	if (id)
		*id = head.id;
	if (graph)
		*graph = (CUgraph)(uintptr_t)head.graph;
	if (dependencies)
		*dependencies = (const CUgraphNode *)rest;
	if (edges)
		*edges = head.edges ? (const CUgraphEdgeData *)(rest + head.dependencies * sizeof(CUgraphNode))
				    : default_edges;
	if (n)
		*n = head.dependencies;
	return CUDA_SUCCESS;
}

CUresult remote_cuStreamGetCaptureInfo_v2(CUstream handle, CUstreamCaptureStatus *status, cuuint64_t *id,
	CUgraph *graph, const CUgraphNode **dependencies, size_t *n)
{
	return remote_cuStreamGetCaptureInfo_v3(handle, status, id, graph, dependencies, NULL, n);
}

CUresult remote_cuStreamGetCaptureInfo(CUstream handle, CUstreamCaptureStatus *status, cuuint64_t *id)
{
	return remote_cuStreamGetCaptureInfo_v3(handle, status, id, NULL, NULL, NULL, NULL);
}
