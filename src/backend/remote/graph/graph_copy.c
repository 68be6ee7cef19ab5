/* Staged copies in graphs: the copy, its parts, and the nodes that make it. */
#include "backend/remote/graph/graph_copy.h"
#include "backend/remote/graph/state.h"

#include <stdlib.h>
#include "backend/remote/code/code.h"
#include "backend/remote/wait/callbacks.h"

#define PARTS_MAX 256

/* The argument of a host node's callback. */
struct graph_copy_part {
	struct graph_copy *owner;
	struct part part;
	uint64_t callback;
};

struct graph_copy {
	struct staged_copy copy;
	unsigned part_count, parts_made;
	_Atomic(unsigned) refs;
	bool ended; /* its owner is gone: no callback runs any more */
	/* Owned by the node of an executable graph: the copy that this one replaced there.  An executable graph runs once at a
	 * time, so the older copy is over when this one first moves bytes. */
	uint64_t exec, exec_node;
	_Atomic(struct graph_copy *) older;
	struct list link; /* in exec_copies */
	struct graph_copy_part part[];
};

/* ---- life ---- */

void graph_copy_unref(struct graph_copy *g)
{
	if (atomic_fetch_sub(&g->refs, 1) > 1)
		return;
	if (g->copy.piece.size)
		kept_piece_give(g->copy.up, g->copy.piece);
	free(g);
}

static void graph_copy_part_gone(void *part)
{
	graph_copy_unref(((struct graph_copy_part *)part)->owner);
}

/* The owner is gone.  Also the destructor of the user object. */
static void graph_copy_end(void *arg)
{
	struct graph_copy *g = arg;

	pthread_mutex_lock(&client->graph->copies.lock);
	g->ended = true;
	for (unsigned i = 0; i < g->parts_made; i++)
		callback_forget(g->part[i].callback);
	pthread_mutex_unlock(&client->graph->copies.lock);
	graph_copy_unref(g);
}

/* Copies that came before the older one have never run, or are over as well. */
static void graph_copy_end_older(struct graph_copy *g)
{
	struct graph_copy *old = atomic_exchange(&g->older, NULL);

	while (old) {
		struct graph_copy *next = atomic_exchange(&old->older, NULL);
		graph_copy_end(old);
		old = next;
	}
}

static void graph_copy_part_run(void *arg)
{
	struct graph_copy_part *p = arg;
	struct graph_copy *g = p->owner;

	staged_copy_move(&g->copy, &p->part, g->copy.piece);
	if (atomic_load(&g->older))
		graph_copy_end_older(g);
}

CUresult graph_copy_attach(CUgraph graph, struct graph_copy *g)
{
	CUuserObject object;
	CUresult r;
	bool destroyed;

	g->refs++;
	r = user_object_create(&object, g, graph_copy_end, 1, CU_USER_OBJECT_NO_DESTRUCTOR_SYNC, &destroyed);
	if (r) {
		if (!destroyed)
			graph_copy_unref(g);
		return r;
	}
	r = call_cuGraphRetainUserObject(graph, object, 1, CU_GRAPH_USER_OBJECT_MOVE);
	if (r)
		call_cuUserObjectRelease(object, 1);
	return r;
}

void graph_copy_attach_exec(struct graph_copy *g, uint64_t exec, uint64_t node)
{
	g->exec = exec;
	g->exec_node = node;
	g->refs++;
	pthread_mutex_lock(&client->graph->copies.lock);
	list_each(l, &client->graph->copies.exec_copies)
	{
		struct graph_copy *old = container_of(l, struct graph_copy, link);
		if (old->exec != exec || old->exec_node != node)
			continue;
		list_remove(l);
		atomic_store(&g->older, old);
		break;
	}
	list_append(&client->graph->copies.exec_copies, &g->link);
	pthread_mutex_unlock(&client->graph->copies.lock);
}

/* The copies stay allocated: a destroyed executable graph may still be running, and nothing tells when it has ended. */
void graph_copy_exec_destroyed(CUgraphExec exec)
{
	pthread_mutex_lock(&client->graph->copies.lock);
	list_each_safe(l, &client->graph->copies.exec_copies) if (container_of(l, struct graph_copy, link)->exec ==
								  (uintptr_t)exec) list_remove(l);
	pthread_mutex_unlock(&client->graph->copies.lock);
}

/* ---- parts ---- */

static bool side_pageable(const struct wire_side *s)
{
	return s->kind == SIDE_PAGEABLE;
}

/* Exactly one side is host memory that the worker cannot reach. */
static bool block_staged(const struct block *b)
{
	return side_pageable(&b->src) != side_pageable(&b->dst);
}

/* Parts with a host node; 0: the server reaches both sides. */
static unsigned graph_copy_count_parts(const struct block *b)
{
	return block_staged(b) ? block_count_parts(b) : side_pageable(&b->src);
}

static size_t graph_copy_count_nodes(const struct block *b)
{
	return block_staged(b) ? 2 * (size_t)block_count_parts(b) : 1;
}

/* Pieces get smaller the more of them are kept, but a copy has no more than PARTS_MAX parts. */
static size_t graph_copy_good_part_size(const struct block *b)
{
	size_t size = kept_piece_size(side_pageable(&b->src));

	while (size < BLOCK_PART_MAX && b->width * b->height * b->depth / size > PARTS_MAX)
		size *= 4;
	return size;
}

/* The largest part size that yields exactly `nodes` nodes; if there is none, or nodes is 0, a good size. */
static size_t graph_copy_part_size(const struct block *b, size_t nodes)
{
	struct block trial = *b;

	for (trial.part_max = BLOCK_PART_MAX; nodes && trial.part_max >= KEPT_PIECE_MIN; trial.part_max /= 4)
		if (graph_copy_count_nodes(&trial) == nodes)
			return trial.part_max;
	return graph_copy_good_part_size(b);
}

static bool graph_copy_take_piece(struct graph_copy *g)
{
	const struct block *b = &g->copy.block;
	size_t size = b->width * b->height * b->depth;

	return kept_piece_take(g->copy.up, size < b->part_max ? size : b->part_max, &g->copy.piece);
}

CUresult graph_copy_create(struct graph_copy **out, const struct block *b, size_t nodes)
{
	struct block block = *b;
	struct graph_copy *g;
	unsigned n;

	block.part_max = graph_copy_part_size(b, nodes);
	n = graph_copy_count_parts(&block);
	g = calloc(1, sizeof *g + n * sizeof *g->part);
	if (!g)
		return CUDA_ERROR_OUT_OF_MEMORY;
	staged_copy_init(&g->copy, &block);
	g->refs = 1;
	g->part_count = n;
	if (block_staged(b) && !graph_copy_take_piece(g)) {
		free(g);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	*out = g;
	return CUDA_SUCCESS;
}

/* ---- nodes ---- */

struct node_chain node_chain_new(CUgraph graph)
{
	return (struct node_chain){.target = {.how = WIRE_NODE_ADD, .graph = (uintptr_t)graph}};
}

/* Adds the next node, or gives its parameters to the next that exists. */
static CUresult node_chain_put(struct node_chain *chain, struct wire_node *a)
{
	struct node_target *t = &chain->target;
	struct wire_node_made made;
	CUresult r;

	if (chain->nodes) {
		t->node = (uintptr_t)chain->nodes[chain->position++];
		return node_send(t, a, NULL, 0, &made);
	}
	t->dependencies = &chain->last;
	t->count = chain->last != NULL;
	r = node_send(t, a, NULL, 0, &made);
	if (!r)
		chain->last = (CUgraphNode)(uintptr_t)made.node;
	return r;
}

static CUresult node_chain_put_host(struct node_chain *chain, struct graph_copy *g, const struct part *p)
{
	struct graph_copy_part *part = &g->part[g->parts_made];
	struct wire_node a = {.type = CU_GRAPH_NODE_TYPE_HOST};
	struct piece staged = {g->copy.piece.offset, part_bytes(p)};
	bool up = g->copy.up;

	*part = (struct graph_copy_part){g, *p, 0};
	g->refs++;
	a.u.host.id = callback_create(
		graph_copy_part_run, part, up && g->copy.piece.size ? &staged : NULL, graph_copy_part_gone);
	if (!a.u.host.id) {
		graph_copy_unref(g);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	pthread_mutex_lock(&client->graph->copies.lock);
	part->callback = a.u.host.id;
	g->parts_made++;
	if (g->ended)
		callback_forget(part->callback);
	pthread_mutex_unlock(&client->graph->copies.lock);
	if (g->copy.piece.size && !up) {
		a.u.host.offset = staged.offset;
		a.u.host.size = staged.size;
	}
	return node_chain_put(chain, &a);
}

static CUmemorytype side_memory_type(const struct wire_side *s)
{
	return s->kind == WIRE_SIDE_ARRAY    ? CU_MEMORYTYPE_ARRAY
	       : s->kind == WIRE_SIDE_SHARED ? CU_MEMORYTYPE_HOST
					     : CU_MEMORYTYPE_DEVICE;
}

/* A side that the server reaches, from the part's place on. */
static void copy_params_set_source(CUDA_MEMCPY3D *c, const struct wire_side *s, const struct part *p, uint64_t *array)
{
	c->srcMemoryType = side_memory_type(s);
	c->srcXInBytes = s->x + p->x;
	c->srcY = s->y + p->y;
	c->srcZ = s->z + p->z;
	c->srcPitch = s->pitch;
	c->srcHeight = s->height;
	if (s->kind == WIRE_SIDE_ARRAY)
		*array = s->what;
	else if (s->kind == WIRE_SIDE_SHARED)
		c->srcHost = (void *)(uintptr_t)s->what;
	else
		c->srcDevice = s->what;
}

static void copy_params_set_target(CUDA_MEMCPY3D *c, const struct wire_side *s, const struct part *p, uint64_t *array)
{
	c->dstMemoryType = side_memory_type(s);
	c->dstXInBytes = s->x + p->x;
	c->dstY = s->y + p->y;
	c->dstZ = s->z + p->z;
	c->dstPitch = s->pitch;
	c->dstHeight = s->height;
	if (s->kind == WIRE_SIDE_ARRAY)
		*array = s->what;
	else if (s->kind == WIRE_SIDE_SHARED)
		c->dstHost = (void *)(uintptr_t)s->what;
	else
		c->dstDevice = s->what;
}

static CUresult node_chain_put_copy(
	struct node_chain *chain, const struct graph_copy *g, const struct part *p, uint64_t ctx)
{
	const struct block *b = &g->copy.block;
	struct wire_node a = {.type = CU_GRAPH_NODE_TYPE_MEMCPY, .u.copy.context = ctx};
	CUDA_MEMCPY3D *c = &a.u.copy.copy;
	void *staged = (void *)(uintptr_t)g->copy.piece.offset;

	c->WidthInBytes = p->width;
	c->Height = p->height;
	c->Depth = p->depth;
	if (!side_pageable(&b->src))
		copy_params_set_source(c, &b->src, p, &a.u.copy.source);
	else
		a.u.copy.bulk = WIRE_COPY_FROM_BULK, c->srcHost = staged, c->srcPitch = p->width,
		c->srcHeight = p->height;
	if (!side_pageable(&b->dst))
		copy_params_set_target(c, &b->dst, p, &a.u.copy.target);
	else
		a.u.copy.bulk = WIRE_COPY_TO_BULK, c->dstHost = staged, c->dstPitch = p->width,
		c->dstHeight = p->height;
	return node_chain_put(chain, &a);
}

/* A node of a kind that is not in `which` stays as it is. */
static CUresult node_chain_put_part(
	struct node_chain *chain, struct graph_copy *g, const struct part *p, uint64_t ctx, int kind, int which)
{
	if (!(kind & which)) {
		chain->position++;
		return CUDA_SUCCESS;
	}
	return kind == CHAIN_HOST_NODES ? node_chain_put_host(chain, g, p) : node_chain_put_copy(chain, g, p, ctx);
}

CUresult node_chain_fill(struct node_chain *chain, struct graph_copy *g, uint64_t ctx, int which)
{
	const struct block *b = &g->copy.block;
	struct part all = {.width = b->width, .height = b->height, .depth = b->depth}, p = {0};
	int first = g->copy.up ? CHAIN_HOST_NODES : CHAIN_COPY_NODES;
	int second = g->copy.up ? CHAIN_COPY_NODES : CHAIN_HOST_NODES;
	CUresult r;

	chain->position = 0;
	if (!g->part_count)
		return node_chain_put_part(chain, g, &all, ctx, CHAIN_COPY_NODES, which);
	if (!g->copy.piece.size)
		return node_chain_put_part(chain, g, &all, ctx, CHAIN_HOST_NODES, which);
	do {
		block_cut_part(b, &p);
		r = node_chain_put_part(chain, g, &p, ctx, first, which);
		if (!r)
			r = node_chain_put_part(chain, g, &p, ctx, second, which);
	} while (!r && block_next_part(b, &p));
	return r;
}

bool node_chain_fits(const struct node_chain *chain, const struct graph_copy *g)
{
	bool host_first = g->part_count && (g->copy.up || !g->copy.piece.size);
	CUgraphNodeType type;

	return chain->count == graph_copy_count_nodes(&g->copy.block) &&
	       !call_cuGraphNodeGetType(chain->nodes[0], &type) &&
	       type == (host_first ? CU_GRAPH_NODE_TYPE_HOST : CU_GRAPH_NODE_TYPE_MEMCPY);
}
