/*
 * pageable.h - a copy to or from the application's own memory, which the server does not see, as a graph.
 *
 * A copy reads and writes that memory when the device gets there, so what the application sees as one node is a graph of
 * its own:
 *
 *	up	host node: pack rows into bulk memory ─▶ copy from there ─▶ the next part, in the same piece
 *	down	copy to bulk memory ─▶ host node: unpack rows
 *
 * The host nodes are ours and run in this process (listen.c); over TCP the bytes travel with what wakes the other
 * side.  A user object of the graph tells us when the last copy of it is gone.
 *
 * Here is what pageable.c, which knows a copy and its nodes, has for pageable_node.c, which knows what the application
 * sees.
 */
#pragma once

#include "backend/remote/copy/block.h"
#include "backend/remote/code/code.h"
#include "backend/remote/graph/graph.h"

#define PIECE_LEAST (BLOCK_PIECE / 64)

/* Bulk memory for a while, and as much as is good: the less the more have some. */
size_t piece_good(bool up);
bool piece_take(bool up, size_t size, struct piece *piece);
void piece_give(bool up, struct piece piece);

struct whole; /* a copy, in parts */

/* In as many nodes as there are; 0: in as many as is good. */
CUresult whole_make(struct whole **out, const struct block *b, size_t nodes);
void whole_put(struct whole *w);

/* For as long as there is the graph, or a copy of it. */
CUresult whole_keep(CUgraph graph, struct whole *w);

/* For as long as the node of an executable graph is not given another. */
void whole_give(struct whole *w, uint64_t exec, uint64_t node);

/* Where its nodes go: one behind the other into a graph; or what is in them into nodes that are there. */
struct row {
	struct node_target target;
	CUgraphNode last;
	CUgraphNode *there;
	size_t count, next;
};

enum { HOSTS = 1, COPIES = 2 };

struct row row_new(CUgraph graph);
CUresult row_fill(struct row *row, struct whole *w, uint64_t ctx, int wanted); /* of nodes that are there; else all */
bool row_fits(const struct row *row, const struct whole *w);
