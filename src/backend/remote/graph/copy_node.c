/* Staged copies as the application sees them: memcpy nodes of its graphs, each a child graph (graph_copy.h). */
#include <stdlib.h>
#include "backend/remote/code/code.h"
#include "backend/remote/graph/graph_copy.h"
#include "backend/remote/wait/callbacks.h"

static CUresult graph_remove_nodes(CUgraph graph)
{
	CUgraphNode *nodes = NULL;
	size_t n = 0;
	CUresult r = graph_list_nodes(graph, &nodes, &n);

	for (size_t i = 0; i < n && !r; i++)
		r = call_cuGraphDestroyNode(nodes[i]);
	free(nodes);
	return r;
}

/* The nodes of such a child graph, in the order in which they run; the caller frees chain->nodes. */
static CUresult node_chain_find(CUgraph graph, struct node_chain *chain)
{
	CUresult r = graph_list_nodes(graph, &chain->nodes, &chain->count);
	size_t n = 1;

	if (!r && !chain->count)
		r = CUDA_ERROR_INVALID_VALUE;
	if (!r)
		r = call_cuGraphGetRootNodes(graph, chain->nodes, &n);
	for (size_t i = 1; i < chain->count && !r; i++) {
		n = 1;
		r = call_cuGraphNodeGetDependentNodes(chain->nodes[i - 1], &chain->nodes[i], &n);
	}
	return r;
}

/* Changes the copy nodes first: the server rejects wrong parameters there, and then nothing has changed. */
static CUresult node_chain_change(struct node_chain *chain, struct graph_copy *g, uint64_t ctx)
{
	CUresult r = node_chain_fill(chain, g, ctx, CHAIN_COPY_NODES);

	return r ? r : node_chain_fill(chain, g, ctx, CHAIN_HOST_NODES);
}

/* A graph that makes the copy; the caller destroys it. */
static CUresult copy_node_create_graph(CUgraph *graph, const struct block *b, uint64_t ctx)
{
	struct graph_copy *g;
	CUresult r = call_cuGraphCreate(graph, 0);

	if (r)
		return r;
	r = graph_copy_create(&g, b, 0);
	if (!r) {
		struct node_chain chain = node_chain_new(*graph);
		r = graph_copy_attach(*graph, g);
		if (!r)
			r = node_chain_fill(&chain, g, ctx, CHAIN_HOST_NODES | CHAIN_COPY_NODES);
		graph_copy_unref(g);
	}
	if (r)
		call_cuGraphDestroy(*graph);
	return r;
}

/* Keeps the nodes if they have the right kinds: executable graphs made from the graph can be updated from it then. */
static CUresult copy_node_change_graph(CUgraph graph, struct node_chain *chain, struct graph_copy *g, uint64_t ctx)
{
	CUresult r = graph_copy_attach(graph, g);

	if (!r && node_chain_fits(chain, g)) {
		chain->target.how = WIRE_NODE_SET;
		return node_chain_change(chain, g, ctx);
	}
	if (!r)
		r = graph_remove_nodes(graph);
	struct node_chain fresh = node_chain_new(graph);
	return r ? r : node_chain_fill(&fresh, g, ctx, CHAIN_HOST_NODES | CHAIN_COPY_NODES);
}

/* Node by node: the H200's driver does not accept a new child graph once the nodes of the old one were replaced. */
static CUresult copy_node_change_exec(
	const struct node_target *t, struct node_chain *chain, struct graph_copy *g, uint64_t ctx)
{
	CUresult r;

	if (!node_chain_fits(chain, g))
		return CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE;
	chain->target.how = WIRE_NODE_EXEC_SET;
	chain->target.graph = t->graph;
	r = node_chain_change(chain, g, ctx);
	if (!r)
		graph_copy_attach_exec(g, t->graph, t->node);
	return r;
}

static CUresult copy_node_change(const struct node_target *t, const struct block *b, uint64_t ctx)
{
	struct node_chain chain = {0};
	struct graph_copy *g;
	CUgraph graph;
	CUresult r = call_cuGraphChildGraphNodeGetGraph((CUgraphNode)(uintptr_t)t->node, &graph);

	if (!r)
		r = node_chain_find(graph, &chain);
	if (!r)
		r = graph_copy_create(&g, b, chain.count);
	if (!r) {
		r = t->how == WIRE_NODE_SET ? copy_node_change_graph(graph, &chain, g, ctx)
					    : copy_node_change_exec(t, &chain, g, ctx);
		graph_copy_unref(g);
	}
	free(chain.nodes);
	return r;
}

CUresult copy_node_put(const struct node_target *t, const CUDA_MEMCPY3D *c, CUcontext ctx, struct wire_node_made *made)
{
	struct wire_node a = {.type = CU_GRAPH_NODE_TYPE_GRAPH};
	struct block b;
	CUgraph graph;
	CUresult r = callbacks_start();

	if (!r)
		r = block_init_3d(&b, c);
	if (r)
		return r;
	if (block_empty(&b))
		return CUDA_ERROR_INVALID_VALUE;
	if (t->how != WIRE_NODE_ADD) {
		if (!node_copy_find(t->node, NULL))
			return CUDA_ERROR_NOT_SUPPORTED;
		r = copy_node_change(t, &b, (uintptr_t)ctx);
		return r || t->how == WIRE_NODE_EXEC_SET ? r : node_copy_set(t->node, c);
	}
	r = copy_node_create_graph(&graph, &b, (uintptr_t)ctx);
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
