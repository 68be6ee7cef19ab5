/* Entry points of stream capture. */
#include "backend/soft/graph/capture.h"

#include <stdlib.h>

/* ---- beginning ---- */

static CUresult capture_begin(struct stream *s, CUgraph into, const CUgraphNode *nodes, const CUgraphEdgeData *data,
	size_t n, CUstreamCaptureMode mode)
{
	struct graph *g = into ? graph_find(into) : NULL;
	struct edge *deps = NULL;
	struct tips tips = {NULL, 0, 0};
	struct capture *c = NULL;
	CUresult r = into && (!g || g->capture) ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;

	if (!r && g)
		r = edges_read(g, nodes, data, n, &deps);
	for (size_t i = 0; i < n && !r; i++)
		r = tips_add(&tips, &(struct tip){deps[i].node->object.handle, deps[i].data});
	if (!r && !(c = capture_create(mode)))
		r = CUDA_ERROR_OUT_OF_MEMORY;
	if (!r) {
		c->origin = s;
		c->borrowed = g;
		c->graph = g ? g : graph_create(true);
		if (c->graph)
			c->graph->capture = c;
		r = c->graph ? strand_begin(c, s, &tips, NULL) : CUDA_ERROR_OUT_OF_MEMORY;
	}
	if (r && c) {
		struct graph *made = c->borrowed ? NULL : c->graph;

		capture_end(c);
		graph_destroy(made, &(struct user_object_list){NULL});
	}
	free(tips.at);
	free(deps);
	return r;
}

static CUresult stream_begin_capture(CUstream stream, CUgraph into, const CUgraphNode *nodes,
	const CUgraphEdgeData *data, size_t n, CUstreamCaptureMode mode)
{
	struct stream *s;

	if ((unsigned)mode > CU_STREAM_CAPTURE_MODE_RELAXED)
		return CUDA_ERROR_INVALID_VALUE;
	CUresult r = stream_enter(stream, &s);
	if (r)
		return r;
	pthread_mutex_lock(&graph_lock);
	if (s->legacy)
		r = CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
	else if (atomic_load(&s->capture))
		r = CUDA_ERROR_ILLEGAL_STATE;
	else
		r = capture_begin(s, into, nodes, data, n, mode);
	pthread_mutex_unlock(&graph_lock);
	object_put(s);
	return r;
}

CUresult soft_cuStreamBeginCapture_v2(CUstream stream, CUstreamCaptureMode mode)
{
	return stream_begin_capture(stream, NULL, NULL, NULL, 0, mode);
}

CUresult soft_cuStreamBeginCapture(CUstream stream)
{
	return stream_begin_capture(stream, NULL, NULL, NULL, 0, CU_STREAM_CAPTURE_MODE_GLOBAL);
}

CUresult soft_cuStreamBeginCaptureToGraph(CUstream stream, CUgraph graph, const CUgraphNode *nodes,
	const CUgraphEdgeData *data, size_t n, CUstreamCaptureMode mode)
{
	return graph ? stream_begin_capture(stream, graph, nodes, data, n, mode) : CUDA_ERROR_INVALID_VALUE;
}

/* ---- ending ---- */

/* All nodes captured in other streams must be ancestors of the origin stream's tips. */
static CUresult check_joined(struct capture *c, const struct strand *origin)
{
	struct node **tips = malloc((origin->tips.n + 1) * sizeof *tips);
	size_t n = 0;

	if (!tips)
		return CUDA_ERROR_OUT_OF_MEMORY;
	for (unsigned i = 0; i < origin->tips.n; i++) {
		struct node *node = node_find((CUgraphNode)(uintptr_t)origin->tips.at[i].node);

		if (node && node->graph == c->graph)
			tips[n++] = node;
	}
	CUresult r = graph_mark_ancestors(c->graph, tips, n);
	free(tips);
	list_each(it, &c->strands)
	{
		const struct tips *other = &container_of(it, struct strand, link)->tips;

		for (unsigned i = 0; i < other->n && !r; i++) {
			struct node *node = node_find((CUgraphNode)(uintptr_t)other->at[i].node);

			if (node && node->graph == c->graph && !node->mark)
				r = CUDA_ERROR_STREAM_CAPTURE_UNJOINED;
		}
	}
	return r;
}

/* Checks whether the capture may end here.  *over: it ends, successfully or not. */
static CUresult capture_check_end(struct stream *s, struct strand *t, bool *over)
{
	struct capture *c = t->capture;

	*over = false;
	if (c->mode != CU_STREAM_CAPTURE_MODE_RELAXED && !pthread_equal(c->thread, pthread_self()))
		return CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD;
	if (c->origin != s) {
		c->invalid = true;
		return CUDA_ERROR_STREAM_CAPTURE_UNMATCHED;
	}
	*over = true;
	return c->invalid ? CUDA_ERROR_STREAM_CAPTURE_INVALIDATED : check_joined(c, t);
}

static CUresult stream_end_capture(struct stream *s, CUgraph *out, struct user_object_list *dead)
{
	struct strand *t = atomic_load(&s->capture);
	bool over;

	if (!t)
		return CUDA_ERROR_ILLEGAL_STATE;
	if (t->legacy)
		return CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
	struct capture *c = t->capture;
	struct graph *g = c->graph;
	bool borrowed = c->borrowed;
	/* After cuStreamBeginCaptureToGraph the application has the graph already. */
	if (!out && !borrowed)
		return CUDA_ERROR_INVALID_VALUE;
	CUresult r = capture_check_end(s, t, &over);
	if (!over)
		return r;
	capture_end(c);
	if (!r && out)
		*out = object_handle(CUgraph, g);
	else if (r && !borrowed)
		graph_destroy(g, dead);
	return r;
}

CUresult soft_cuStreamEndCapture(CUstream stream, CUgraph *out)
{
	struct user_object_list dead = {NULL};
	struct stream *s;

	CUresult r = stream_enter(stream, &s);
	if (r)
		return r;
	if (out)
		*out = NULL;
	pthread_mutex_lock(&graph_lock);
	r = stream_end_capture(s, out, &dead);
	pthread_mutex_unlock(&graph_lock);
	user_objects_finish(&dead);
	object_put(s);
	return r;
}

/* ---- queries ---- */

/* Puts handles and edge data of the tips into arrays, which stay valid until the next query of this stream. */
static CUresult strand_show_tips(struct strand *t)
{
	unsigned n = t->tips.n + 1;
	CUgraphNode *nodes = realloc(t->shown, n * sizeof *nodes);

	if (nodes)
		t->shown = nodes;
	CUgraphEdgeData *data = realloc(t->shown_data, n * sizeof *data);
	if (data)
		t->shown_data = data;
	if (!nodes || !data)
		return CUDA_ERROR_OUT_OF_MEMORY;
	for (unsigned i = 0; i < t->tips.n; i++) {
		nodes[i] = (CUgraphNode)(uintptr_t)t->tips.at[i].node;
		data[i] = t->tips.at[i].data;
	}
	return CUDA_SUCCESS;
}

struct capture_info {
	CUstreamCaptureStatus *status;
	cuuint64_t *id;
	CUgraph *graph;
	const CUgraphNode **nodes;
	const CUgraphEdgeData **data;
	size_t *n;
};

static bool tips_have_data(const struct tips *t)
{
	for (unsigned i = 0; i < t->n; i++)
		if (t->at[i].data.type || t->at[i].data.from_port || t->at[i].data.to_port)
			return true;
	return false;
}

static CUresult strand_info(struct strand *t, const struct capture_info *o)
{
	struct capture *c = t ? t->capture : NULL;

	*o->status = !t           ? CU_STREAM_CAPTURE_STATUS_NONE
		     : c->invalid ? CU_STREAM_CAPTURE_STATUS_INVALIDATED
				  : CU_STREAM_CAPTURE_STATUS_ACTIVE;
	if (*o->status != CU_STREAM_CAPTURE_STATUS_ACTIVE)
		return CUDA_SUCCESS;
	if (o->nodes && !o->data && tips_have_data(&t->tips))
		return CUDA_ERROR_LOSSY_QUERY;
	CUresult r = o->nodes || o->data ? strand_show_tips(t) : CUDA_SUCCESS;
	if (r)
		return r;
	if (o->id)
		*o->id = c->id;
	if (o->graph)
		*o->graph = object_handle(CUgraph, c->graph);
	if (o->nodes)
		*o->nodes = t->shown;
	if (o->data)
		*o->data = t->shown_data;
	if (o->n)
		*o->n = t->tips.n;
	return CUDA_SUCCESS;
}

static CUresult stream_capture_info(CUstream stream, const struct capture_info *o)
{
	struct stream *s;
	struct strand *t;

	if (!o->status)
		return CUDA_ERROR_INVALID_VALUE;
	CUresult r = stream_enter(stream, &s);
	if (r)
		return r;
	pthread_mutex_lock(&graph_lock);
	t = atomic_load(&s->capture);
	r = t && t->legacy ? CUDA_ERROR_STREAM_CAPTURE_IMPLICIT : strand_info(t, o);
	pthread_mutex_unlock(&graph_lock);
	object_put(s);
	return r;
}

CUresult soft_cuStreamIsCapturing(CUstream stream, CUstreamCaptureStatus *status)
{
	return stream_capture_info(stream, &(struct capture_info){.status = status});
}

CUresult soft_cuStreamGetCaptureInfo(CUstream stream, CUstreamCaptureStatus *status, cuuint64_t *id)
{
	return stream_capture_info(stream, &(struct capture_info){.status = status, .id = id});
}

CUresult soft_cuStreamGetCaptureInfo_v2(CUstream stream, CUstreamCaptureStatus *status, cuuint64_t *id, CUgraph *graph,
	const CUgraphNode **nodes, size_t *n)
{
	return stream_capture_info(stream, &(struct capture_info){status, id, graph, nodes, NULL, n});
}

CUresult soft_cuStreamGetCaptureInfo_v3(CUstream stream, CUstreamCaptureStatus *status, cuuint64_t *id, CUgraph *graph,
	const CUgraphNode **nodes, const CUgraphEdgeData **data, size_t *n)
{
	return stream_capture_info(stream, &(struct capture_info){status, id, graph, nodes, data, n});
}

/* ---- dependencies of the next node ---- */

static CUresult strand_update_tips(struct strand *t, const struct edge *deps, size_t n, bool set)
{
	CUresult r = CUDA_SUCCESS;

	if (set)
		t->tips.n = 0;
	for (size_t i = 0; i < n && !r; i++)
		r = tips_add(&t->tips, &(struct tip){deps[i].node->object.handle, deps[i].data});
	return r;
}

CUresult soft_cuStreamUpdateCaptureDependencies_v2(
	CUstream stream, CUgraphNode *nodes, const CUgraphEdgeData *data, size_t n, unsigned int flags)
{
	struct edge *deps = NULL;
	struct stream *s;
	struct strand *t;

	if (flags > CU_STREAM_SET_CAPTURE_DEPENDENCIES)
		return CUDA_ERROR_INVALID_VALUE;
	CUresult r = stream_enter(stream, &s);
	if (r)
		return r;
	pthread_mutex_lock(&graph_lock);
	r = strand_find(s, &t);
	if (!r && !t)
		r = CUDA_ERROR_ILLEGAL_STATE;
	if (!r)
		r = edges_read(t->capture->graph, nodes, data, n, &deps);
	if (!r)
		r = strand_update_tips(t, deps, n, flags == CU_STREAM_SET_CAPTURE_DEPENDENCIES);
	pthread_mutex_unlock(&graph_lock);
	free(deps);
	object_put(s);
	return r;
}

CUresult soft_cuStreamUpdateCaptureDependencies(CUstream stream, CUgraphNode *nodes, size_t n, unsigned int flags)
{
	return soft_cuStreamUpdateCaptureDependencies_v2(stream, nodes, NULL, n, flags);
}
