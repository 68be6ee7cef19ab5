/* Graphs as a whole: their nodes, clones, and their description as text. */
#include <stdio.h>
#include <stdlib.h>
#include "backend/remote/graph/graph.h"
#include "backend/remote/session/fetch.h"

/* The server says how many nodes there are; more than a reply can hold is not believed. */
CUresult graph_list_nodes(CUgraph graph, CUgraphNode **nodes, size_t *count)
{
	struct lane *lane = call_lane();
	CUresult r = call_cuGraphGetNodes(graph, NULL, count);

	*nodes = NULL;
	if (r || !*count)
		return r;
	if (*count > lane_payload_max(lane) / sizeof **nodes)
		return CUDA_ERROR_OUT_OF_MEMORY;
	*nodes = calloc(*count, sizeof **nodes);
	if (!*nodes)
		return CUDA_ERROR_OUT_OF_MEMORY;
	r = call_cuGraphGetNodes(graph, *nodes, count);
	if (r) {
		free(*nodes);
		*nodes = NULL;
	}
	return r;
}

/* The clone's nodes are copies to the application where the original's are. */
static void clone_note_copies(CUgraph original, CUgraph clone)
{
	CUgraphNode *nodes, twin;
	CUDA_MEMCPY3D copy;
	size_t n = 0;

	if (graph_list_nodes(original, &nodes, &n))
		n = 0;
	for (size_t i = 0; i < n; i++)
		if (node_copy_find((uintptr_t)nodes[i], &copy) && !call_cuGraphNodeFindInClone(&twin, nodes[i], clone))
			node_copy_set((uintptr_t)twin, &copy);
	free(nodes);
}

CUresult remote_cuGraphClone(CUgraph *clone, CUgraph original)
{
	CUresult r = call_cuGraphClone(clone, original);

	if (!r)
		clone_note_copies(original, *clone);
	return r;
}

CUresult remote_cuGraphDebugDotPrint(CUgraph graph, const char *path, unsigned int flags)
{
	struct wire_dot a = {.graph = (uintptr_t)graph, .flags = flags};
	struct wire_dotted head = {.size = 1};
	CUresult r = CUDA_SUCCESS;
	FILE *f = NULL;
	uint8_t *rest;
	size_t size;

	if (!path)
		return CUDA_ERROR_INVALID_VALUE;
	while (!r && a.offset < head.size) {
		r = call_fetch(WIRE_DOT, &a, sizeof a, NULL, 0, &head, sizeof head, &rest, &size);
		if (r)
			break;
		if (!f && !(f = fopen(path, "we")))
			r = CUDA_ERROR_OPERATING_SYSTEM;
		else if (head.bytes > size || (!head.bytes && a.offset < head.size))
			r = client_reject_reply();
		else if (fwrite(rest, 1, head.bytes, f) != head.bytes)
			r = CUDA_ERROR_OPERATING_SYSTEM;
		a.offset += head.bytes;
		free(rest);
	}
	if (f && fclose(f) && !r)
		r = CUDA_ERROR_OPERATING_SYSTEM;
	return r;
}
