/* Stream capture: strands, the nodes and events captured in them, and the collecting_strand of single commands. */
#include "backend/soft/graph/capture.h"

#include <stdlib.h>
#include <string.h>

struct list captures = {&captures, &captures};
static struct strand legacy_strand = {.legacy = true};
_Atomic unsigned ncaptures;

/* ---- collecting_strand, on a stream private to the thread, which needs no lock ---- */

static __thread struct strand *collecting_strand __attribute__((tls_model("initial-exec")));

struct strand *strand_collect(struct stream *s)
{
	struct strand *t = calloc(1, sizeof *t);

	if (!t)
		return NULL;
	t->stream = s;
	collecting_strand = t;
	atomic_store(&s->capture, t);
	return t;
}

struct command *strand_collected(struct stream *s, struct strand *t)
{
	struct command *c = t->collected;

	atomic_store(&s->capture, NULL);
	collecting_strand = NULL;
	free(t);
	return c;
}

/* A node has one command; calls that create more cannot become a node. */
static CUresult strand_collect_command(struct strand *t, struct command *c)
{
	if (t->collected) {
		command_destroy(c);
		return CUDA_ERROR_NOT_SUPPORTED;
	}
	t->collected = c;
	return CUDA_SUCCESS;
}

/* ---- tips ---- */

CUresult tips_add(struct tips *t, const struct tip *tip)
{
	for (unsigned i = 0; i < t->n; i++)
		if (t->at[i].node == tip->node)
			return CUDA_SUCCESS;
	if (t->n == t->max) {
		unsigned max = t->max ? 2 * t->max : 4;
		struct tip *at = realloc(t->at, max * sizeof *at);

		if (!at)
			return CUDA_ERROR_OUT_OF_MEMORY;
		t->at = at;
		t->max = max;
	}
	t->at[t->n++] = *tip;
	return CUDA_SUCCESS;
}

static CUresult tips_merge(struct tips *to, const struct tips *from)
{
	CUresult r = CUDA_SUCCESS;

	for (unsigned i = 0; i < from->n && !r; i++)
		r = tips_add(to, &from->at[i]);
	return r;
}

CUresult strand_tips_set(struct strand *t, const struct tips *tips)
{
	t->tips.n = 0;
	return tips_merge(&t->tips, tips);
}

/* ---- captures ---- */

struct capture *capture_create(CUstreamCaptureMode mode)
{
	struct capture *c = calloc(1, sizeof *c);

	if (!c)
		return NULL;
	c->refs = 1;
	c->mode = mode;
	c->thread = pthread_self();
	c->id = soft_next_id();
	list_init(&c->strands);
	list_append(&captures, &c->link);
	atomic_fetch_add(&ncaptures, 1);
	return c;
}

void capture_put(struct capture *c)
{
	if (--c->refs == 0)
		free(c);
}

/* Whether a stream of ctx is being captured; with `blocking`, one that synchronises with the legacy stream. */
static bool context_has_captures(const struct context *ctx, bool blocking)
{
	list_each(it, &captures) list_each(st, &container_of(it, struct capture, link)->strands)
	{
		struct stream *s = container_of(st, struct strand, link)->stream;

		if (s->object.ctx == ctx && (!blocking || stream_blocking(s)))
			return true;
	}
	return false;
}

static void context_update_captures(struct context *ctx)
{
	atomic_store(&ctx->capture, context_has_captures(ctx, false) ? &legacy_strand : NULL);
	pthread_mutex_lock(&soft.queue_lock);
	if (ctx->legacy)
		atomic_store(&ctx->legacy->capture, context_has_captures(ctx, true) ? &legacy_strand : NULL);
	pthread_mutex_unlock(&soft.queue_lock);
}

CUresult strand_begin(struct capture *c, struct stream *s, const struct tips *tips, struct strand **out)
{
	struct strand *t = calloc(1, sizeof *t);

	if (!t)
		return CUDA_ERROR_OUT_OF_MEMORY;
	if (tips_merge(&t->tips, tips)) {
		free(t);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	object_ref(s);
	t->stream = s;
	t->capture = c;
	list_append(&c->strands, &t->link);
	atomic_store(&s->capture, t);
	context_update_captures(s->object.ctx);
	if (out)
		*out = t;
	return CUDA_SUCCESS;
}

static void strand_end(struct strand *t)
{
	struct stream *s = t->stream;

	list_remove(&t->link);
	atomic_store(&s->capture, NULL);
	context_update_captures(s->object.ctx);
	object_put(s);
	free(t->tips.at);
	free(t->shown);
	free(t->shown_data);
	free(t);
}

void capture_end(struct capture *c)
{
	while (!list_empty(&c->strands))
		strand_end(container_of(c->strands.next, struct strand, link));
	list_remove(&c->link);
	atomic_fetch_sub(&ncaptures, 1);
	c->ended = true;
	if (c->graph)
		c->graph->capture = NULL;
	c->graph = NULL;
	capture_put(c);
}

void capture_invalidate(struct strand *t)
{
	if (!t->legacy)
		t->capture->invalid = true;
}

/* The legacy stream would wait for captured work: invalidates all captures that it would wait for. */
static CUresult invalidate_blocking_captures(struct context *ctx)
{
	list_each(it, &captures) list_each(st, &container_of(it, struct capture, link)->strands)
	{
		struct strand *t = container_of(st, struct strand, link);

		if (t->stream->object.ctx == ctx && stream_blocking(t->stream))
			capture_invalidate(t);
	}
	return CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
}

CUresult strand_find(struct stream *s, struct strand **out)
{
	struct strand *t = atomic_load(&s->capture);

	*out = t;
	if (!t)
		return CUDA_SUCCESS;
	if (t->legacy)
		return invalidate_blocking_captures(s->object.ctx);
	return t->capture->invalid ? CUDA_ERROR_STREAM_CAPTURE_INVALIDATED : CUDA_SUCCESS;
}

/* ---- nodes ---- */

CUresult strand_append(struct strand *t, struct node_content *content)
{
	struct edge *deps = malloc((t->tips.n + 1) * sizeof *deps);
	struct node *n;
	size_t ndeps = 0;

	if (!deps)
		return CUDA_ERROR_OUT_OF_MEMORY;
	for (unsigned i = 0; i < t->tips.n; i++) {
		struct node *dep = node_find((CUgraphNode)(uintptr_t)t->tips.at[i].node);

		if (dep && dep->graph == t->capture->graph)
			deps[ndeps++] = (struct edge){dep, t->tips.at[i].data};
	}
	CUresult r = graph_add(t->capture->graph, content, deps, ndeps, true, &n);
	free(deps);
	if (r)
		return r;
	t->tips.n = 0;
	return tips_add(&t->tips, &(struct tip){.node = n->object.handle});
}

static CUresult strand_append_command(struct strand *t, struct command *c)
{
	struct node_content content;
	CUresult r = content_capture(&content, c);

	if (r)
		return r;
	r = strand_append(t, &content);
	if (r)
		content_finish(&content, &(struct user_object_list){NULL});
	return r;
}

CUresult capture_command(struct stream *s, struct command *c)
{
	struct strand *t = atomic_load(&s->capture);

	c->stream = s;
	c->ctx = s->object.ctx;
	if (t && t == collecting_strand)
		return strand_collect_command(t, c);
	pthread_mutex_lock(&graph_lock);
	CUresult r = strand_find(s, &t);
	if (t && r) {
		command_destroy(c);
	} else if (t) {
		r = strand_append_command(t, c);
		if (r)
			capture_invalidate(t);
	}
	pthread_mutex_unlock(&graph_lock);
	return t ? r : stream_submit(s, c, NULL); /* the capture ended meanwhile */
}

/* Appends a node that has no command. */
static CUresult stream_append_node(struct stream *s, CUgraphNodeParams *p)
{
	struct user_object_list dead = {NULL};
	struct node_content content;
	struct strand *t;
	CUresult r = content_make(&content, p, NULL);

	if (r)
		return r;
	pthread_mutex_lock(&graph_lock);
	r = strand_find(s, &t);
	if (!r)
		r = t ? strand_append(t, &content) : CUDA_ERROR_ILLEGAL_STATE;
	pthread_mutex_unlock(&graph_lock);
	if (r)
		content_finish(&content, &dead);
	user_objects_finish(&dead);
	return r;
}

CUresult capture_alloc(struct stream *s, struct device *d, size_t size, CUdeviceptr *out)
{
	CUgraphNodeParams p = {.type = CU_GRAPH_NODE_TYPE_MEM_ALLOC};

	p.alloc.poolProps.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
	p.alloc.poolProps.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
	p.alloc.poolProps.location.id = d->ordinal;
	p.alloc.bytesize = size;
	CUresult r = stream_append_node(s, &p);
	if (!r)
		*out = p.alloc.dptr;
	return r;
}

CUresult capture_free(struct stream *s, CUdeviceptr ptr)
{
	CUgraphNodeParams p = {.type = CU_GRAPH_NODE_TYPE_MEM_FREE};

	p.free.dptr = ptr;
	return stream_append_node(s, &p);
}

CUresult capture_graph(struct stream *s, struct exec *x)
{
	struct node_content content = {.params.type = CU_GRAPH_NODE_TYPE_GRAPH};
	struct user_object_list dead = {NULL};
	struct strand *t;

	content.graphs = calloc(1, sizeof *content.graphs);
	if (!content.graphs)
		return CUDA_ERROR_OUT_OF_MEMORY;
	pthread_mutex_lock(&graph_lock);
	CUresult r = strand_find(s, &t);
	if (!r && t && x->graph->memory_nodes)
		r = CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
	if (!r && t)
		r = graph_copy(&content.graphs[0], x->graph, true);
	if (!r && t) {
		content.ngraphs = 1;
		content.params.graph.graph = object_handle(CUgraph, content.graphs[0]);
		r = strand_append(t, &content);
	}
	if (r || !t)
		content_finish(&content, &dead);
	pthread_mutex_unlock(&graph_lock);
	user_objects_finish(&dead);
	return r || t ? r : exec_launch(x, s);
}

/* ---- events ---- */

struct event_mark {
	struct capture *capture;
	struct tips tips;
};

static void event_mark_drop(struct event *e)
{
	struct event_mark *m = atomic_exchange(&e->capture, NULL);

	if (!m)
		return;
	capture_put(m->capture);
	free(m->tips.at);
	free(m);
}

void capture_forget_event(struct event *e)
{
	pthread_mutex_lock(&graph_lock);
	event_mark_drop(e);
	pthread_mutex_unlock(&graph_lock);
}

static CUresult event_mark_set(struct event *e, struct strand *t)
{
	struct event_mark *m = calloc(1, sizeof *m);

	if (!m)
		return CUDA_ERROR_OUT_OF_MEMORY;
	if (tips_merge(&m->tips, &t->tips)) {
		free(m->tips.at);
		free(m);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	m->capture = t->capture;
	t->capture->refs++;
	event_mark_drop(e);
	atomic_store(&e->capture, m);
	return CUDA_SUCCESS;
}

CUresult capture_record(struct event *e, struct stream *s, bool external)
{
	CUgraphNodeParams p = {.type = CU_GRAPH_NODE_TYPE_EVENT_RECORD};
	struct strand *t;

	if (atomic_load(&s->capture) == collecting_strand && collecting_strand)
		return CUDA_ERROR_NOT_SUPPORTED;
	if (external) {
		p.eventRecord.event = object_handle(CUevent, e);
		return stream_append_node(s, &p);
	}
	pthread_mutex_lock(&graph_lock);
	CUresult r = strand_find(s, &t);
	if (!r)
		r = t ? event_mark_set(e, t) : CUDA_ERROR_ILLEGAL_STATE;
	pthread_mutex_unlock(&graph_lock);
	return r;
}

/* A captured stream waits for an event that was recorded outside of its capture, or never. */
static CUresult strand_wait_outside(struct event *e, struct strand *t, struct event_mark *m)
{
	pthread_mutex_lock(&soft.queue_lock);
	bool never = !e->stream;
	pthread_mutex_unlock(&soft.queue_lock);
	if (!m && never)
		return CUDA_SUCCESS;
	capture_invalidate(t);
	if (!m || m->capture->ended)
		return CUDA_ERROR_STREAM_CAPTURE_ISOLATION;
	m->capture->invalid = true;
	return CUDA_ERROR_STREAM_CAPTURE_MERGE;
}

/* A stream joins a capture by waiting for a captured event. */
static CUresult stream_join_capture(struct stream *s, struct event_mark *m)
{
	if (m->capture->ended)
		return CUDA_ERROR_INVALID_VALUE;
	if (m->capture->invalid)
		return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
	if (s->legacy) {
		m->capture->invalid = true;
		return CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
	}
	return strand_begin(m->capture, s, &m->tips, NULL);
}

CUresult capture_wait(struct event *e, struct stream *s, bool external)
{
	CUgraphNodeParams p = {.type = CU_GRAPH_NODE_TYPE_WAIT_EVENT};
	struct strand *t;

	if (external && atomic_load(&s->capture)) {
		p.eventWait.event = object_handle(CUevent, e);
		return stream_append_node(s, &p);
	}
	pthread_mutex_lock(&graph_lock);
	struct event_mark *m = atomic_load(&e->capture);
	CUresult r = strand_find(s, &t);
	bool neither = !t && !m;
	if (!r && t)
		r = m && m->capture == t->capture ? tips_merge(&t->tips, &m->tips) : strand_wait_outside(e, t, m);
	else if (!r && m)
		r = stream_join_capture(s, m);
	pthread_mutex_unlock(&graph_lock);
	return neither ? event_wait(e, s) : r; /* neither is captured any more */
}

/* Queries of a captured event are errors and invalidate its capture. */
CUresult capture_reject_event(struct event *e)
{
	CUresult r = CUDA_SUCCESS;

	if (!atomic_load(&e->capture))
		return r;
	pthread_mutex_lock(&graph_lock);
	struct event_mark *m = atomic_load(&e->capture);
	if (m) {
		m->capture->invalid = true;
		r = m->capture->ended ? CUDA_ERROR_INVALID_VALUE : CUDA_ERROR_CAPTURED_EVENT;
	}
	pthread_mutex_unlock(&graph_lock);
	return r;
}
