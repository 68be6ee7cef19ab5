/*
 * graph_copy.h - a staged copy as a chain of graph nodes.
 *
 * A graph reads and writes host memory when it runs, so the application's one memcpy node is a child graph:
 *
 *	up	host node: pack a part into the piece ─▶ copy node: from there to the device ─▶ the next part
 *	down	copy node: from the device to the piece ─▶ host node: unpack the part ─▶ the next part
 *
 * The host nodes call back into this process (wait/callbacks.c); over TCP the bytes travel with the frame that wakes
 * the other side.  All parts share one piece.
 *
 * A graph copy is counted by its creator, by each host node's callback, and by one owner: a user object of the graph, whose
 * destructor runs when the graph and all its clones are gone (graph_copy_attach); or the node of an executable graph whose
 * parameters were changed (graph_copy_attach_exec), until the graph has run with the parameters that replace it.
 *
 * graph_copy.c knows the copy and its nodes, copy_node.c the node that the application sees.
 */
#pragma once

#include "backend/remote/copy/staged_copy.h"
#include "backend/remote/graph/graph.h"

struct graph_copy;

/* In exactly `nodes` nodes if that is possible; 0: in as many as is good.  The caller holds a reference. */
CUresult graph_copy_create(struct graph_copy **out, const struct block *b, size_t nodes);
void graph_copy_unref(struct graph_copy *g);

CUresult graph_copy_attach(CUgraph graph, struct graph_copy *g);
void graph_copy_attach_exec(struct graph_copy *g, uint64_t exec, uint64_t node);

/* The nodes of a graph copy, one behind the other: added to a graph, or nodes that exist and are given new parameters. */
struct node_chain {
	struct node_target target;
	CUgraphNode last;       /* added last */
	CUgraphNode *nodes;     /* the nodes that exist; NULL: they are added */
	size_t count, position; /* of nodes */
};

enum { CHAIN_HOST_NODES = 1, CHAIN_COPY_NODES = 2 };

struct node_chain node_chain_new(CUgraph graph); /* adds nodes */
/* `which` nodes to change, of those that exist; all are added to a new chain. */
CUresult node_chain_fill(struct node_chain *chain, struct graph_copy *g, uint64_t ctx, int which);
/* Do the nodes that exist have the kinds that the copy needs? */
bool node_chain_fits(const struct node_chain *chain, const struct graph_copy *g);
