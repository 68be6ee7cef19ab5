/* graph.h - captures and nodes of graphs. */
#pragma once

#include "backend/remote/wait/wait.h"

/* ---- capture.c: what must not be done meanwhile ---- */

/* A call that CUDA calls unsafe: an error, and captures that do not allow it become invalid.  Nothing in most cases. */
CUresult capture_invalidate_protected(void);
/* Waiting for all of a context does so too. */
CUresult capture_check_synchronize(struct context *c);

static inline CUresult capture_check_unsafe(void)
{
	return __builtin_expect(atomic_load_explicit(&call_careful, memory_order_relaxed), 0)
		       ? capture_invalidate_protected()
		       : CUDA_SUCCESS;
}

/* A stream that waits for an event of a capture joins it. */
void capture_join(struct stream *s, uint64_t capture);
/* The context is gone, and what was captured in it. */
void captures_drop(struct context *c);

/* ---- node.c: one node of a graph ---- */

struct node_target {
	uint32_t how; /* enum wire_node_how */
	uint64_t graph, node;
	const CUgraphNode *dependencies;
	const CUgraphEdgeData *edges;
	size_t count;
};

CUresult node_send(
	const struct node_target *t, struct wire_node *a, const void *extra, size_t size, struct wire_node_made *made);

/* graph.c: a graph's nodes, the caller's to free. */
CUresult graph_list_nodes(CUgraph graph, CUgraphNode **nodes, size_t *count);

/* graph.c: the application sees a copy where the graph has something else (pageable_node.c). */
CUresult node_copy_set(uint64_t node, const CUDA_MEMCPY3D *p);
bool node_copy_find(uint64_t node, CUDA_MEMCPY3D *p); /* p may be NULL */

/* ---- pageable_node.c: copies to and from memory that is the application's own, made when a graph gets there ---- */

CUresult copy_node_put(const struct node_target *t, const CUDA_MEMCPY3D *c, CUcontext ctx, struct wire_node_made *made);
/* As the next node of the stream's capture. */
CUresult copy_node_capture(struct stream *s, const CUDA_MEMCPY3D *c);
void copy_node_forget(CUgraphExec exec); /* it is destroyed */
