/* Copies of the application's own memory as it sees them: nodes of its graphs. */
#include "backend/remote/copy/pageable.h"

#include <stdlib.h>
#include "backend/remote/memory/hostmem.h"
#include "backend/remote/graph/graph.h"

static CUresult empty(CUgraph graph)
{
	CUgraphNode *nodes = NULL;
	size_t n = 0;
	CUresult r = graph_list_nodes(graph, &nodes, &n);

	for (size_t i = 0; i < n && !r; i++)
		r = call_cuGraphDestroyNode(nodes[i]);
	free(nodes);
	return r;
}

/* The nodes of a graph of ours, in the order in which they run. */
static CUresult find_row(CUgraph graph, struct row *row)
{
	CUresult r = graph_list_nodes(graph, &row->there, &row->count);
	size_t n = 1;

	if (!r && !row->count)
		r = CUDA_ERROR_INVALID_VALUE;
	if (!r)
		r = call_cuGraphGetRootNodes(graph, row->there, &n);
	for (size_t i = 1; i < row->count && !r; i++) {
		n = 1;
		r = call_cuGraphNodeGetDependentNodes(row->there[i - 1], &row->there[i], &n);
	}
	return r;
}

/* First the copies: what is wrong with the new ones is seen there, and then all is as it was. */
static CUresult refill(struct row *row, struct whole *w, uint64_t ctx)
{
	CUresult r = row_fill(row, w, ctx, COPIES);

	return r ? r : row_fill(row, w, ctx, HOSTS);
}

/* A graph that makes the copy; the caller destroys it. */
static CUresult as_graph(CUgraph *graph, const struct block *b, uint64_t ctx)
{
	struct whole *w;
	CUresult r = call_cuGraphCreate(graph, 0);

	if (r)
		return r;
	r = whole_make(&w, b, 0);
	if (!r) {
		struct row row = row_new(*graph);
		r = whole_keep(*graph, w);
		if (!r)
			r = row_fill(&row, w, ctx, HOSTS | COPIES);
		whole_put(w);
	}
	if (r)
		call_cuGraphDestroy(*graph);
	return r;
}

/* In the nodes that are there, if these are of the same kinds: what was made of them before can be changed, too, then. */
static CUresult change(CUgraph graph, struct row *row, struct whole *w, uint64_t ctx)
{
	CUresult r = whole_keep(graph, w);

	if (!r && row_fits(row, w)) {
		row->target.how = WIRE_NODE_SET;
		return refill(row, w, ctx);
	}
	if (!r)
		r = empty(graph);
	struct row fresh = row_new(graph);
	return r ? r : row_fill(&fresh, w, ctx, HOSTS | COPIES);
}

/* Node by node: an H200's driver does not take one child graph for another whose nodes were once exchanged. */
static CUresult change_exec(const struct node_target *t, struct row *row, struct whole *w, uint64_t ctx)
{
	CUresult r;

	if (!row_fits(row, w))
		return CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE;
	row->target.how = WIRE_NODE_EXEC_SET;
	row->target.graph = t->graph;
	r = refill(row, w, ctx);
	if (!r)
		whole_give(w, t->graph, t->node);
	return r;
}

static CUresult change_node(const struct node_target *t, const struct block *b, uint64_t ctx)
{
	struct row row = {0};
	struct whole *w;
	CUgraph graph;
	CUresult r = call_cuGraphChildGraphNodeGetGraph((CUgraphNode)(uintptr_t)t->node, &graph);

	if (!r)
		r = find_row(graph, &row);
	if (!r)
		r = whole_make(&w, b, row.count);
	if (!r) {
		r = t->how == WIRE_NODE_SET ? change(graph, &row, w, ctx) : change_exec(t, &row, w, ctx);
		whole_put(w);
	}
	free(row.there);
	return r;
}

CUresult copy_node_put(const struct node_target *t, const CUDA_MEMCPY3D *c, CUcontext ctx, struct wire_node_made *made)
{
	struct wire_node a = {.type = CU_GRAPH_NODE_TYPE_GRAPH};
	CUDA_MEMCPY3D_PEER p;
	struct block b;
	CUgraph graph;
	CUresult r = listen_start();

	memcpy(&p, c, sizeof p); /* the same layout: copy3d.c */
	if (!r)
		r = block_init(&b, &p, false);
	if (r)
		return r;
	if (!b.width || !b.height || !b.depth || (t->how != WIRE_NODE_ADD && !node_copy_find(t->node, NULL)))
		return b.width && b.height && b.depth ? CUDA_ERROR_NOT_SUPPORTED : CUDA_ERROR_INVALID_VALUE;
	if (t->how != WIRE_NODE_ADD) {
		r = change_node(t, &b, (uintptr_t)ctx);
		return r || t->how == WIRE_NODE_EXEC_SET ? r : node_copy_set(t->node, c);
	}
	r = as_graph(&graph, &b, (uintptr_t)ctx);
	if (r)
		return r;
	a.u.child = (uintptr_t)graph;
	r = node_send(t, &a, NULL, 0, made);
	call_cuGraphDestroy(graph);
	return r ? r : node_copy_set(made->node, c);
}

CUresult copy_node_capture(struct stream *s, const CUDA_MEMCPY3D *c)
{
	CUstream handle = (CUstream)(uintptr_t)s->id;
	CUstreamCaptureStatus status;
	struct wire_node_made made;
	struct node_target t = {.how = WIRE_NODE_ADD};
	const CUgraphEdgeData *edges;
	CUgraphNode node;
	CUgraph graph;
	CUresult r = remote_cuStreamGetCaptureInfo_v3(handle, &status, NULL, &graph, &t.dependencies, &edges, &t.count);

	if (r)
		return r;
	if (status != CU_STREAM_CAPTURE_STATUS_ACTIVE)
		return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
	t.graph = (uintptr_t)graph;
	t.edges = t.count ? edges : NULL;
	r = copy_node_put(&t, c, (CUcontext)(uintptr_t)s->ctx->id, &made);
	if (r)
		return r;
	node = (CUgraphNode)(uintptr_t)made.node;
	return call_cuStreamUpdateCaptureDependencies_v2(handle, &node, NULL, 1, CU_STREAM_SET_CAPTURE_DEPENDENCIES);
}
