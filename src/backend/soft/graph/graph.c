/* Graphs and nodes: creating, destroying and copying them. */
#include "backend/soft/graph/graph.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

pthread_mutex_t graph_lock = PTHREAD_MUTEX_INITIALIZER;

static void free_object(void *object)
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
	if (named && object_init(&g->object, KIND_GRAPH, NULL, free_object)) {
		free(g);
		return NULL;
	}
	return g;
}

/* Closes the handle, which frees the object with its last reference; frees an object without a handle at once. */
static void object_discard(struct driver_object *o)
{
	if (o->handle)
		object_close(o);
	else
		free(o);
}

void graph_destroy(struct graph *g, struct user_object_list *dead)
{
	if (!g)
		return;
	while (!list_empty(&g->nodes))
		node_destroy(node_of(g->nodes.next), dead);
	while (!list_empty(&g->conditions))
		condition_close(container_of(g->conditions.next, struct condition, link));
	user_objects_move(dead, &g->users);
	object_discard(&g->object);
}

struct graph *graph_find(CUgraph handle)
{
	struct graph *g = object_find(handle, KIND_GRAPH);

	object_put(g); /* closing it takes graph_lock, which the caller holds */
	return g;
}

struct node *node_find(CUgraphNode handle)
{
	struct node *n = object_find(handle, KIND_GRAPH_NODE);

	object_put(n);
	return n;
}

static bool node_is_memory(const struct node *n)
{
	return node_type(n) == CU_GRAPH_NODE_TYPE_MEM_ALLOC || node_type(n) == CU_GRAPH_NODE_TYPE_MEM_FREE;
}

static void node_adopt_graphs(struct node *n)
{
	for (unsigned i = 0; i < n->content.ngraphs; i++)
		n->content.graphs[i]->owner = n;
}

CUresult graph_add(struct graph *g, struct node_content *content, const struct edge *deps, size_t ndeps, bool named,
	struct node **out)
{
	struct node *n = calloc(1, sizeof *n);

	if (!n)
		return CUDA_ERROR_OUT_OF_MEMORY;
	list_init(&n->link);
	n->step = NO_STEP;
	if (named && object_init(&n->object, KIND_GRAPH_NODE, NULL, free_object)) {
		free(n);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	n->graph = g;
	for (size_t i = 0; i < ndeps; i++)
		if (edge_add(deps[i].node, n, &deps[i].data)) {
			node_destroy(n, &(struct user_object_list){NULL});
			return CUDA_ERROR_OUT_OF_MEMORY;
		}
	n->content = *content;
	node_adopt_graphs(n);
	n->id = g->next_id++;
	g->nnodes++;
	list_append(&g->nodes, &n->link);
	g->memory_nodes += node_is_memory(n);
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

void node_destroy(struct node *n, struct user_object_list *dead)
{
	unlink_edges(&n->from, n, false);
	unlink_edges(&n->to, n, true);
	if (!list_empty(&n->link)) {
		list_remove(&n->link);
		n->graph->nnodes--;
		n->graph->memory_nodes -= node_is_memory(n);
	}
	content_finish(&n->content, dead);
	object_discard(&n->object);
}

/* ---- copying ---- */

static CUresult copy_node(struct graph *to, struct node *n, bool named)
{
	struct node_content content;
	CUresult r = content_copy(&content, &n->content, named);

	if (r)
		return r;
	r = graph_add(to, &content, NULL, 0, named, &n->copy);
	if (r) {
		struct user_object_list none = {NULL};

		content_finish(&content, &none);
		user_objects_finish(&none); /* only decrements counts: the original holds references */
		return r;
	}
	n->copy->origin = n->object.handle ? n->object.handle : n->origin;
	return CUDA_SUCCESS;
}

/* In the order of the original, so that queries list the edges of both in the same order. */
static CUresult copy_edges(const struct graph *g)
{
	each_node(n, g)
	{
		for (unsigned i = 0; i < n->from.n; i++)
			if (edge_add(n->from.at[i].node->copy, n->copy, &n->from.at[i].data))
				return CUDA_ERROR_OUT_OF_MEMORY;
	}
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
	if (!r && user_objects_copy(&to->users, &g->users))
		r = CUDA_ERROR_OUT_OF_MEMORY;
	if (r) {
		struct user_object_list dead = {NULL};

		graph_destroy(to, &dead);
		user_objects_finish(&dead); /* only decrements counts: the original holds references */
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

/* Not for child graphs, which belong to their node, nor during a capture into the graph. */
CUresult soft_cuGraphDestroy(CUgraph handle)
{
	struct user_object_list dead = {NULL};
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
	user_objects_finish(&dead);
	return r;
}

/* Whether g or a nested graph has memory nodes. */
static bool graph_has_memory_nodes(const struct graph *g)
{
	if (g->memory_nodes)
		return true;
	each_node(n, g)
	{
		for (unsigned i = 0; i < n->content.ngraphs; i++)
			if (graph_has_memory_nodes(n->content.graphs[i]))
				return true;
	}
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
	else if (graph_has_memory_nodes(g))
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

/* Nodes of graphs with memory nodes cannot be destroyed: the application uses the addresses. */
CUresult soft_cuGraphDestroyNode(CUgraphNode handle)
{
	struct user_object_list dead = {NULL};
	CUresult r = CUDA_SUCCESS;

	pthread_mutex_lock(&graph_lock);
	struct node *n = node_find(handle);
	if (!n)
		r = CUDA_ERROR_INVALID_VALUE;
	else if (node_is_memory(n) || n->graph->memory_nodes)
		r = CUDA_ERROR_NOT_SUPPORTED;
	else
		node_destroy(n, &dead);
	pthread_mutex_unlock(&graph_lock);
	user_objects_finish(&dead);
	return r;
}
