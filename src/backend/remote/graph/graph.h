/*
 * graph.h - stream captures, and the nodes of graphs.
 *
 * The graphs themselves are at the server.  The client knows which streams are being captured, because commands posted to
 * them are no work and cannot be waited for; and it translates node parameters, which contain pointers.
 */
#pragma once

#include "backend/remote/wait/wait.h"

/* ---- capture.c ---- */

/*
 * CUDA forbids some calls while a capture is active, depending on the modes of the capture and the calling thread
 * (cuThreadExchangeStreamCaptureMode): invalidates the captures that forbid them, and returns an error if there is one.
 */
CUresult capture_invalidate_protected(void);
/* The same for calls that wait for the whole context: every capture in it forbids them. */
CUresult capture_check_synchronize(struct context *c);

/* At the start of each such call; costs one load while nothing is being captured. */
static inline CUresult capture_check_unsafe(void)
{
	return __builtin_expect(atomic_load_explicit(&client->captures, memory_order_relaxed), 0)
		       ? capture_invalidate_protected()
		       : CUDA_SUCCESS;
}

void capture_join(struct stream *s, uint64_t capture_id); /* the stream waits for an event of the capture */
void captures_drop(struct context *c);                    /* the context has ended, and the captures in it */

/* ---- node.c ---- */

/* Where a node's parameters go: into a new node, an existing node, or the node of an executable graph. */
struct node_target {
	uint32_t how; /* enum wire_node_how */
	uint64_t graph, node;
	const CUgraphNode *dependencies;
	const CUgraphEdgeData *edges;
	size_t count; /* of dependencies */
};

/* Sends the parameters with `size` bytes that they point to. */
CUresult node_send(
	const struct node_target *t, struct wire_node *a, const void *extra, size_t size, struct wire_node_made *made);
/* Can the server reach this side of a copy? */
bool copy_side_reachable(CUmemorytype type, const void *host, CUdeviceptr device);

/* ---- graph.c ---- */

CUresult graph_list_nodes(CUgraph graph, CUgraphNode **nodes, size_t *count); /* the caller frees *nodes */

/* ---- node_params.c: nodes that are copies to the application, and child graphs at the server ---- */

CUresult node_copy_set(uint64_t node, const CUDA_MEMCPY3D *p);
bool node_copy_find(uint64_t node, CUDA_MEMCPY3D *p); /* p may be NULL */

/* ---- copy_node.c: copies of host memory that the server cannot reach ---- */

CUresult copy_node_put(const struct node_target *t, const CUDA_MEMCPY3D *c, CUcontext ctx, struct wire_node_made *made);
CUresult copy_node_capture(struct stream *s, const CUDA_MEMCPY3D *c); /* as the next node of the stream's capture */

/* ---- graph_copy.c ---- */

void graph_copy_exec_destroyed(CUgraphExec exec);
