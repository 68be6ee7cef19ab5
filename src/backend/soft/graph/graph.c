/*
 * Graphs and nodes: their life, and copying them.
 */
#include "backend/soft/graph/graph.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

pthread_mutex_t graph_lock = PTHREAD_MUTEX_INITIALIZER;

static void release_memory(void *object)
{
	free(object);
}

struct graph *graph_create(bool named)
{
	struct graph *g = calloc(1, sizeof *g);

	if (!g)
		return NULL;
	list_init(&g->nodes);
	list_init(&g->conditions);
	g->id = soft_next_id();
	if (named && object_init(&g->object, KIND_GRAPH, NULL, release_memory)) {
		free(g);
		return NULL;
	}
	return g;
}

/* Close the handle, and free what it stands for as soon as nobody looks at it. */
static void discard(struct driver_object *o)
{
	if (o->handle)
		object_close(o);
	else
		free(o);
}

void graph_destroy(struct graph *g, struct users *dead)
{
	if (!g)
		return;
	while (!list_empty(&g->nodes))
		node_destroy(node_of(g->nodes.next), dead);
	while (!list_empty(&g->conditions))
		condition_close(container_of(g->conditions.next, struct condition, link));
	users_move(dead, &g->users);
	discard(&g->object);
}

struct graph *graph_find(CUgraph handle)
{
	struct graph *g = object_find(handle, KIND_GRAPH);

	object_put(g); /* what closes it needs graph_lock, which our caller has */
	return g;
}

struct node *node_find(CUgraphNode handle)
{
	struct node *n = object_find(handle, KIND_GRAPH_NODE);

	object_put(n);
	return n;
}

static bool is_memory(const struct node *n)
{
	return node_type(n) == CU_GRAPH_NODE_TYPE_MEM_ALLOC || node_type(n) == CU_GRAPH_NODE_TYPE_MEM_FREE;
}

static void adopt(struct node *n)
{
	for (unsigned i = 0; i < n->content.ngraphs; i++)
		n->content.graphs[i]->owner = n;
}

CUresult graph_add(
	struct graph *g, struct content *content, const struct edge *deps, size_t ndeps, bool named, struct node **out)
{
	struct node *n = calloc(1, sizeof *n);

	if (!n)
		return CUDA_ERROR_OUT_OF_MEMORY;
	list_init(&n->link);
	n->step = NO_STEP;
	if (named && object_init(&n->object, KIND_GRAPH_NODE, NULL, release_memory)) {
		free(n);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	n->graph = g;
	for (size_t i = 0; i < ndeps; i++)
		if (edge_add(deps[i].node, n, &deps[i].data)) {
			node_destroy(n, &(struct users){NULL});
			return CUDA_ERROR_OUT_OF_MEMORY;
		}
	n->content = *content;
	adopt(n);
	n->id = g->next_id++;
	g->nnodes++;
	list_append(&g->nodes, &n->link);
	g->memory_nodes += is_memory(n);
	*out = n;
	return CUDA_SUCCESS;
}

static void unlink_edges(struct edges *mine, struct node *n, bool forward)
{
	for (unsigned i = 0; i < mine->n; i++) {
		struct node *other = mine->at[i].node;
		struct edges *theirs = forward ? &other->from : &other->to;
		struct edge *e = edge_find(theirs, n);

		memmove(e, e + 1, (char *)(theirs->at + theirs->n) - (char *)(e + 1));
		theirs->n--;
	}
	free(mine->at);
}

void node_destroy(struct node *n, struct users *dead)
{
	unlink_edges(&n->from, n, false);
	unlink_edges(&n->to, n, true);
	if (!list_empty(&n->link)) {
		list_remove(&n->link);
		n->graph->nnodes--;
		n->graph->memory_nodes -= is_memory(n);
	}
	content_finish(&n->content, dead);
	discard(&n->object);
}

/* ---- copying ---- */

static CUresult copy_node(struct graph *to, struct node *n, bool named)
{
	struct content content;
	CUresult r = content_copy(&content, &n->content, named);

	if (r)
		return r;
	r = graph_add(to, &content, NULL, 0, named, &n->copy);
	if (r) {
		struct users none = {NULL};

		content_finish(&content, &none);
		users_finish(&none); /* counts only: the original still has its references */
		return r;
	}
	n->copy->origin = n->object.handle ? n->object.handle : n->origin;
	return CUDA_SUCCESS;
}

/* In the order of the original, so that a copy's edges read the same. */
static CUresult copy_edges(const struct graph *g)
{
	each_node(n, g) for (unsigned i = 0; i < n->from.n;
		i++) if (edge_add(n->from.at[i].node->copy, n->copy,
				 &n->from.at[i].data)) return CUDA_ERROR_OUT_OF_MEMORY;
	return CUDA_SUCCESS;
}

CUresult graph_copy(struct graph **out, const struct graph *g, bool named)
{
	struct graph *to = graph_create(named);
	CUresult r = to ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;

	if (to)
		to->origin = g->object.handle;
	if (!r)
		each_node(n, g)
		{
			r = copy_node(to, n, named);
			if (r)
				break;
		}
	if (!r)
		r = copy_edges(g);
	if (!r && users_copy(&to->users, &g->users))
		r = CUDA_ERROR_OUT_OF_MEMORY;
	if (r) {
		struct users dead = {NULL};

		graph_destroy(to, &dead);
		users_finish(&dead); /* counts only: the original still has its references */
		return r;
	}
	*out = to;
	return CUDA_SUCCESS;
}

/* ---- entry points ---- */

CUresult soft_cuGraphCreate(CUgraph *out, unsigned int flags)
{
	if (!atomic_load(&soft.ready))
		return CUDA_ERROR_NOT_INITIALIZED;
	if (!out || flags)
		return CUDA_ERROR_INVALID_VALUE;
	struct graph *g = graph_create(true);
	if (!g)
		return CUDA_ERROR_OUT_OF_MEMORY;
	*out = object_handle(CUgraph, g);
	return CUDA_SUCCESS;
}

/* A child belongs to its node; a graph being captured into belongs to the capture until that ends. */
CUresult soft_cuGraphDestroy(CUgraph handle)
{
	struct users dead = {NULL};
	CUresult r = CUDA_SUCCESS;

	pthread_mutex_lock(&graph_lock);
	struct graph *g = graph_find(handle);
	if (!g || g->owner)
		r = CUDA_ERROR_INVALID_VALUE;
	else if (g->capture)
		r = CUDA_ERROR_ILLEGAL_STATE;
	else
		graph_destroy(g, &dead);
	pthread_mutex_unlock(&graph_lock);
	users_finish(&dead);
	return r;
}

/* Does g, or anything in it, allocate or free memory? */
static bool has_memory(const struct graph *g)
{
	if (g->memory_nodes)
		return true;
	each_node(n, g) for (unsigned i = 0; i < n->content.ngraphs;
		i++) if (has_memory(n->content.graphs[i])) return true;
	return false;
}

CUresult soft_cuGraphClone(CUgraph *out, CUgraph original)
{
	struct graph *copy;
	CUresult r = CUDA_SUCCESS;

	if (!out)
		return CUDA_ERROR_INVALID_VALUE;
	pthread_mutex_lock(&graph_lock);
	struct graph *g = graph_find(original);
	if (!g)
		r = CUDA_ERROR_INVALID_VALUE;
	else if (has_memory(g))
		r = CUDA_ERROR_NOT_SUPPORTED;
	else
		r = graph_copy(&copy, g, true);
	if (!r)
		*out = object_handle(CUgraph, copy);
	pthread_mutex_unlock(&graph_lock);
	return r;
}

CUresult soft_cuGraphNodeFindInClone(CUgraphNode *out, CUgraphNode original, CUgraph clone)
{
	CUresult r = CUDA_ERROR_INVALID_VALUE;

	if (!out)
		return r;
	pthread_mutex_lock(&graph_lock);
	struct graph *g = graph_find(clone);
	if (g && original)
		each_node(n, g) if (n->origin == (uintptr_t)original)
		{
			*out = object_handle(CUgraphNode, n);
			r = CUDA_SUCCESS;
		}
	pthread_mutex_unlock(&graph_lock);
	return r;
}

/* What the alloc nodes of a graph have given out makes its shape final. */
CUresult soft_cuGraphDestroyNode(CUgraphNode handle)
{
	struct users dead = {NULL};
	CUresult r = CUDA_SUCCESS;

	pthread_mutex_lock(&graph_lock);
	struct node *n = node_find(handle);
	if (!n)
		r = CUDA_ERROR_INVALID_VALUE;
	else if (is_memory(n) || n->graph->memory_nodes)
		r = CUDA_ERROR_NOT_SUPPORTED;
	else
		node_destroy(n, &dead);
	pthread_mutex_unlock(&graph_lock);
	users_finish(&dead);
	return r;
}
