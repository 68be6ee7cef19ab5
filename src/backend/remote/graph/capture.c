/*
 * Captures.  Which streams are part of one is known here, because what is posted to them is no work and
 * nothing in them can be waited for.
 *
 * The server captures in relaxed mode: its one dispatcher serves all our threads, and what CUDA forbids a
 * thread in the other modes is that thread's business.
 */
#include <stdlib.h>
#include "backend/remote/code/code.h"
#include "backend/remote/graph/graph.h"
#include "backend/remote/session/fetch.h"

struct capture {
	struct list link;
	uint64_t id;
	struct stream *origin;
	CUstreamCaptureMode mode;
	pthread_t thread;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct list captures = {&captures, &captures};
static uint64_t last;

static struct capture *find(uint64_t id)
{
	list_each(l, &captures)
	{
		struct capture *c = container_of(l, struct capture, link);
		if (c->id == id)
			return c;
	}
	return NULL;
}

static void enter(struct stream *s, struct capture *c)
{
	s->capture_id = c->id;
	s->capturing = true;
}

void capture_join(struct stream *s, uint64_t capture)
{
	struct capture *c;

	pthread_mutex_lock(&lock);
	c = find(capture);
	if (c && !s->capturing)
		enter(s, c);
	pthread_mutex_unlock(&lock);
}

/* ---- what must not be done meanwhile ---- */

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

/* Waiting for a captured stream makes the capture invalid, at the server as here. */
static void spoil(struct stream *s)
{
	const _Atomic(uint64_t) *mine = call_context;

	call_context = &s->ctx->wire;
	call_cuStreamSynchronize((CUstream)(uintptr_t)s->id);
	call_context = mine;
}

static bool protects(const struct capture *c)
{
	if (c->mode == CU_STREAM_CAPTURE_MODE_RELAXED || thread_mode == CU_STREAM_CAPTURE_MODE_RELAXED)
		return false;
	return pthread_equal(c->thread, pthread_self()) ||
	       (c->mode == CU_STREAM_CAPTURE_MODE_GLOBAL && thread_mode == CU_STREAM_CAPTURE_MODE_GLOBAL);
}

/* Of those that `in` says (NULL: that protect themselves from what this thread does). */
static CUresult spoil_all(const struct context *in)
{
	CUresult r = CUDA_SUCCESS;

	pthread_mutex_lock(&lock);
	list_each(l, &captures)
	{
		struct capture *c = container_of(l, struct capture, link);
		if (in ? c->origin->ctx != in : !protects(c))
			continue;
		spoil(c->origin);
		r = CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
	}
	pthread_mutex_unlock(&lock);
	return r;
}

CUresult capture_invalidate_protected(void)
{
	return spoil_all(NULL);
}

CUresult capture_check_synchronize(struct context *c)
{
	return call_careful ? spoil_all(c) : CUDA_SUCCESS;
}

/* ---- from begin to end ---- */

static CUresult began(struct stream *s, CUstreamCaptureMode mode)
{
	struct capture *c = calloc(1, sizeof *c);

	if (!c)
		return CUDA_ERROR_OUT_OF_MEMORY;
	pthread_mutex_lock(&lock);
	*c = (struct capture){.id = ++last, .origin = s, .mode = mode, .thread = pthread_self()};
	list_append(&captures, &c->link);
	call_careful++;
	enter(s, c);
	pthread_mutex_unlock(&lock);
	return CUDA_SUCCESS;
}

/* All that took part are free again. */
static void ended(uint64_t id)
{
	struct capture *c;

	pthread_mutex_lock(&lock);
	c = find(id);
	if (!c) {
		pthread_mutex_unlock(&lock);
		return;
	}
	list_remove(&c->link);
	call_careful--;
	pthread_mutex_unlock(&lock);
	pthread_mutex_lock(&c->origin->ctx->lock);
	list_each(l, &c->origin->ctx->streams)
	{
		struct stream *s = container_of(l, struct stream, link);
		if (s->capture_id == id) {
			s->capturing = false;
			s->capture_id = 0;
		}
	}
	pthread_mutex_unlock(&c->origin->ctx->lock);
	free(c);
}

void captures_drop(struct context *ctx)
{
	uint64_t id;

	do {
		id = 0;
		pthread_mutex_lock(&lock);
		list_each(l, &captures)
		{
			struct capture *c = container_of(l, struct capture, link);
			if (c->origin->ctx == ctx)
				id = c->id;
		}
		pthread_mutex_unlock(&lock);
		if (id)
			ended(id);
	} while (id);
}

CUresult remote_cuStreamBeginCapture_v2(CUstream handle, CUstreamCaptureMode mode)
{
	CUresult r;
	struct stream *s = stream_find(handle, &r);

	if (!s)
		return r;
	if ((unsigned)mode > CU_STREAM_CAPTURE_MODE_RELAXED)
		return CUDA_ERROR_INVALID_VALUE;
	r = call_cuStreamBeginCapture_v2(handle, CU_STREAM_CAPTURE_MODE_RELAXED);
	return r ? r : began(s, mode);
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
	r = call_cuStreamBeginCaptureToGraph(handle, graph, dependencies, data, n, CU_STREAM_CAPTURE_MODE_RELAXED);
	return r ? r : began(s, mode);
}

static bool wrong_thread(uint64_t id)
{
	struct capture *c;
	bool wrong;

	pthread_mutex_lock(&lock);
	c = find(id);
	wrong = c && c->mode != CU_STREAM_CAPTURE_MODE_RELAXED && !pthread_equal(c->thread, pthread_self());
	pthread_mutex_unlock(&lock);
	return wrong;
}

CUresult remote_cuStreamEndCapture(CUstream handle, CUgraph *graph)
{
	CUresult r;
	struct stream *s = stream_find(handle, &r);
	CUgraph unwanted; /* by those who captured into a graph that they have */
	uint64_t id;

	if (!s)
		return r;
	if (graph)
		*graph = NULL;
	id = s->capture_id;
	if (id && wrong_thread(id))
		return CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD;
	r = call_cuStreamEndCapture(handle, graph ? graph : &unwanted);
	if (r == CUDA_SUCCESS || r == CUDA_ERROR_STREAM_CAPTURE_INVALIDATED || r == CUDA_ERROR_STREAM_CAPTURE_UNJOINED)
		ended(id);
	return r;
}

/* ---- what a capture has so far ---- */

static CUresult ask(struct stream *s, struct wire_captured *head, uint8_t **rest)
{
	struct wire_capture_info a = {.stream = s->id};
	size_t size;
	CUresult r = call_fetch(WIRE_CAPTURE_INFO, &a, sizeof a, NULL, 0, head, sizeof *head, rest, &size);

	if (r)
		return r;
	if (head->dependencies > WIRE_DEPENDENCIES ||
		size < head->dependencies * (sizeof(CUgraphNode) + (head->edges ? sizeof(CUgraphEdgeData) : 0))) {
		free(*rest);
		return call_nonsense();
	}
	return CUDA_SUCCESS;
}

CUresult remote_cuStreamGetCaptureInfo_v3(CUstream handle, CUstreamCaptureStatus *status, cuuint64_t *id,
	CUgraph *graph, const CUgraphNode **dependencies, const CUgraphEdgeData **edges, size_t *n)
{
	static __thread uint8_t *shown; /* valid until the thread asks again */
	static const CUgraphEdgeData none[WIRE_DEPENDENCIES];
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
	r = ask(s, &head, &rest);
	if (r)
		return r;
	free(shown);
	shown = rest;
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
		*edges = head.edges ? (const CUgraphEdgeData *)(rest + head.dependencies * sizeof(CUgraphNode)) : none;
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
