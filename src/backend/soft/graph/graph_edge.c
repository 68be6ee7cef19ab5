/*
 * Edges, and asking a graph about its shape.
 */
#include "backend/soft/graph/graph.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const CUgraphEdgeData plain; /* a full dependency */

struct edge *edge_find(struct edges *e, const struct node *node)
{
	for (unsigned i = 0; i < e->n; i++)
		if (e->at[i].node == node)
			return &e->at[i];
	return NULL;
}

static int reserve(struct edges *e)
{
	unsigned max = e->max ? 2 * e->max : 4;
	struct edge *at;

	if (e->n < e->max)
		return 0;
	at = realloc(e->at, max * sizeof *at);
	if (!at)
		return -ENOMEM;
	e->at = at;
	e->max = max;
	return 0;
}

int edge_add(struct node *from, struct node *to, const CUgraphEdgeData *data)
{
	if (reserve(&from->to) || reserve(&to->from))
		return -ENOMEM;
	from->to.at[from->to.n++] = (struct edge){to, *data};
	to->from.at[to->from.n++] = (struct edge){from, *data};
	return 0;
}

static void drop(struct edges *e, struct edge *which)
{
	memmove(which, which + 1, (char *)(e->at + e->n) - (char *)(which + 1));
	e->n--;
}

bool edge_valid(const CUgraphEdgeData *d)
{
	static const unsigned char zero[sizeof d->reserved];

	return d->type <= CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC && d->to_port == 0 &&
	       d->from_port <= CU_GRAPH_KERNEL_NODE_PORT_LAUNCH_ORDER && !memcmp(d->reserved, zero, sizeof zero);
}

/* Ports other than 0 are those of kernels. */
static bool edge_fits(const struct node *from, const struct node *to, const CUgraphEdgeData *d)
{
	bool kernel = node_type(from) == CU_GRAPH_NODE_TYPE_KERNEL;

	if (!edge_valid(d))
		return false;
	if (d->type == CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC &&
		(!kernel || (to && node_type(to) != CU_GRAPH_NODE_TYPE_KERNEL)))
		return false;
	return !d->from_port || kernel;
}

CUresult edges_read(
	struct graph *g, const CUgraphNode *nodes, const CUgraphEdgeData *data, size_t n, struct edge **deps)
{
	*deps = NULL;
	if (!n)
		return CUDA_SUCCESS;
	if (!nodes || n > g->nnodes)
		return CUDA_ERROR_INVALID_VALUE;
	struct edge *e = malloc(n * sizeof *e);
	if (!e)
		return CUDA_ERROR_OUT_OF_MEMORY;
	each_node(node, g) node->mark = 0;
	for (size_t i = 0; i < n; i++) {
		struct node *node = node_find(nodes[i]);

		e[i] = (struct edge){node, data ? data[i] : plain};
		if (!node || node->graph != g || node->mark || !edge_fits(node, NULL, &e[i].data)) {
			free(e);
			return CUDA_ERROR_INVALID_VALUE;
		}
		node->mark = 1;
	}
	*deps = e;
	return CUDA_SUCCESS;
}

/* ---- order ---- */

struct node **graph_order(struct graph *g, struct node **cycle)
{
	struct node **order = malloc((g->nnodes + 1) * sizeof *order);
	unsigned n = 0;

	*cycle = NULL;
	if (!order)
		return NULL;
	each_node(node, g)
	{
		node->mark = node->from.n; /* dependencies still to come */
		if (!node->mark)
			order[n++] = node;
	}
	for (unsigned i = 0; i < n; i++)
		for (unsigned k = 0; k < order[i]->to.n; k++)
			if (--order[i]->to.at[k].node->mark == 0)
				order[n++] = order[i]->to.at[k].node;
	if (n == g->nnodes)
		return order;
	each_node(node, g) if (node->mark && !*cycle) *cycle = node;
	free(order);
	return NULL;
}

CUresult graph_mark_ancestors(struct graph *g, struct node **nodes, size_t n)
{
	struct node **todo = malloc((g->nnodes + n + 1) * sizeof *todo);
	size_t left = 0;

	if (!todo)
		return CUDA_ERROR_OUT_OF_MEMORY;
	each_node(node, g) node->mark = 0;
	for (size_t i = 0; i < n; i++) {
		nodes[i]->mark = 1;
		todo[left++] = nodes[i];
	}
	while (left) {
		struct node *node = todo[--left];

		for (unsigned k = 0; k < node->from.n; k++)
			if (!node->from.at[k].node->mark) {
				node->from.at[k].node->mark = 1;
				todo[left++] = node->from.at[k].node;
			}
	}
	free(todo);
	return CUDA_SUCCESS;
}

/* ---- changing ---- */

static CUresult pair(struct graph *g, CUgraphNode from, CUgraphNode to, struct node **f, struct node **t)
{
	*f = node_find(from);
	*t = node_find(to);
	return *f && *t && *f != *t && (*f)->graph == g && (*t)->graph == g ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

static CUresult add_one(struct graph *g, CUgraphNode from, CUgraphNode to, const CUgraphEdgeData *data)
{
	struct node *f, *t;
	CUresult r = pair(g, from, to, &f, &t);

	if (r)
		return r;
	if (edge_find(&f->to, t) || !edge_fits(f, t, data))
		return CUDA_ERROR_INVALID_VALUE;
	return edge_add(f, t, data) ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_SUCCESS;
}

static CUresult remove_one(struct graph *g, CUgraphNode from, CUgraphNode to, const CUgraphEdgeData *data)
{
	struct node *f, *t;
	CUresult r = pair(g, from, to, &f, &t);
	struct edge *e = r ? NULL : edge_find(&f->to, t);

	if (!e || (data && memcmp(&e->data, data, sizeof *data)))
		return CUDA_ERROR_INVALID_VALUE;
	drop(&f->to, e);
	drop(&t->from, edge_find(&t->from, f));
	return CUDA_SUCCESS;
}

/* All or nothing, as far as adding goes. */
CUresult soft_cuGraphAddDependencies_v2(
	CUgraph handle, const CUgraphNode *from, const CUgraphNode *to, const CUgraphEdgeData *data, size_t n)
{
	CUresult r = CUDA_SUCCESS;
	size_t done = 0;

	pthread_mutex_lock(&graph_lock);
	struct graph *g = graph_find(handle);
	if (!g || (n && (!from || !to)))
		r = CUDA_ERROR_INVALID_VALUE;
	for (; !r && done < n; done += !r)
		r = add_one(g, from[done], to[done], data ? &data[done] : &plain);
	while (r && done)
		done--, remove_one(g, from[done], to[done], NULL);
	pthread_mutex_unlock(&graph_lock);
	return r;
}

CUresult soft_cuGraphAddDependencies(CUgraph g, const CUgraphNode *from, const CUgraphNode *to, size_t n)
{
	return soft_cuGraphAddDependencies_v2(g, from, to, NULL, n);
}

CUresult soft_cuGraphRemoveDependencies_v2(
	CUgraph handle, const CUgraphNode *from, const CUgraphNode *to, const CUgraphEdgeData *data, size_t n)
{
	CUresult r = CUDA_SUCCESS;

	pthread_mutex_lock(&graph_lock);
	struct graph *g = graph_find(handle);
	if (!g || (n && (!from || !to)))
		r = CUDA_ERROR_INVALID_VALUE;
	else if (g->memory_nodes && n)
		r = CUDA_ERROR_NOT_SUPPORTED;
	for (size_t i = 0; !r && i < n; i++)
		r = remove_one(g, from[i], to[i], data ? &data[i] : &plain);
	pthread_mutex_unlock(&graph_lock);
	return r;
}

CUresult soft_cuGraphRemoveDependencies(CUgraph g, const CUgraphNode *from, const CUgraphNode *to, size_t n)
{
	return soft_cuGraphRemoveDependencies_v2(g, from, to, NULL, n);
}

/* ---- asking ---- */

/* Room for answers: without an array only the count is asked for; room left over is cleared. */
struct answer {
	CUgraphNode *a, *b;
	CUgraphEdgeData *data;
	size_t room, n;
	bool lossy; /* an edge has data, and there is nowhere to say so */
};

static void put(struct answer *o, const struct node *a, const struct node *b, const CUgraphEdgeData *data)
{
	if (o->n < o->room) {
		if (o->a)
			o->a[o->n] = object_handle(CUgraphNode, a);
		if (o->b)
			o->b[o->n] = object_handle(CUgraphNode, b);
		if (o->data)
			o->data[o->n] = data ? *data : plain;
	}
	o->lossy |= data && o->a && !o->data && memcmp(data, &plain, sizeof plain);
	o->n++;
}

static CUresult finish(struct answer *o, size_t *count)
{
	if (!o->a) {
		*count = o->n;
		return CUDA_SUCCESS;
	}
	for (size_t i = o->n; i < o->room; i++) {
		o->a[i] = NULL;
		if (o->b)
			o->b[i] = NULL;
	}
	*count = o->n < o->room ? o->n : o->room;
	return o->lossy ? CUDA_ERROR_LOSSY_QUERY : CUDA_SUCCESS;
}

static CUresult nodes(CUgraph handle, CUgraphNode *out, size_t *count, bool roots)
{
	CUresult r = CUDA_ERROR_INVALID_VALUE;

	if (!count)
		return r;
	struct answer o = {.a = out, .room = out ? *count : 0};
	pthread_mutex_lock(&graph_lock);
	struct graph *g = graph_find(handle);
	if (g) {
		each_node(n, g) if (!roots || !n->from.n) put(&o, n, NULL, NULL);
		r = finish(&o, count);
	}
	pthread_mutex_unlock(&graph_lock);
	return r;
}

CUresult soft_cuGraphGetNodes(CUgraph graph, CUgraphNode *out, size_t *count)
{
	return nodes(graph, out, count, false);
}

CUresult soft_cuGraphGetRootNodes(CUgraph graph, CUgraphNode *out, size_t *count)
{
	return nodes(graph, out, count, true);
}

CUresult soft_cuGraphGetEdges_v2(
	CUgraph handle, CUgraphNode *from, CUgraphNode *to, CUgraphEdgeData *data, size_t *count)
{
	CUresult r = CUDA_ERROR_INVALID_VALUE;

	if (!count || !from != !to || (data && !from))
		return r;
	struct answer o = {.a = from, .b = to, .data = data, .room = from ? *count : 0};
	pthread_mutex_lock(&graph_lock);
	struct graph *g = graph_find(handle);
	if (g) {
		each_node(n, g) for (unsigned i = 0; i < n->to.n; i++) put(&o, n, n->to.at[i].node, &n->to.at[i].data);
		r = finish(&o, count);
	}
	pthread_mutex_unlock(&graph_lock);
	return r;
}

CUresult soft_cuGraphGetEdges(CUgraph graph, CUgraphNode *from, CUgraphNode *to, size_t *count)
{
	return soft_cuGraphGetEdges_v2(graph, from, to, NULL, count);
}

static CUresult neighbours(CUgraphNode handle, CUgraphNode *out, CUgraphEdgeData *data, size_t *count, bool after)
{
	CUresult r = CUDA_ERROR_INVALID_VALUE;

	if (!count || (data && !out))
		return r;
	struct answer o = {.a = out, .data = data, .room = out ? *count : 0};
	pthread_mutex_lock(&graph_lock);
	struct node *n = node_find(handle);
	if (n) {
		const struct edges *e = after ? &n->to : &n->from;

		for (unsigned i = 0; i < e->n; i++)
			put(&o, e->at[i].node, NULL, &e->at[i].data);
		r = finish(&o, count);
	}
	pthread_mutex_unlock(&graph_lock);
	return r;
}

CUresult soft_cuGraphNodeGetDependencies_v2(CUgraphNode node, CUgraphNode *out, CUgraphEdgeData *data, size_t *count)
{
	return neighbours(node, out, data, count, false);
}

CUresult soft_cuGraphNodeGetDependencies(CUgraphNode node, CUgraphNode *out, size_t *count)
{
	return neighbours(node, out, NULL, count, false);
}

CUresult soft_cuGraphNodeGetDependentNodes_v2(CUgraphNode node, CUgraphNode *out, CUgraphEdgeData *data, size_t *count)
{
	return neighbours(node, out, data, count, true);
}

CUresult soft_cuGraphNodeGetDependentNodes(CUgraphNode node, CUgraphNode *out, size_t *count)
{
	return neighbours(node, out, NULL, count, true);
}

CUresult soft_cuGraphNodeGetType(CUgraphNode handle, CUgraphNodeType *type)
{
	CUresult r = CUDA_ERROR_INVALID_VALUE;

	if (!type)
		return r;
	pthread_mutex_lock(&graph_lock);
	struct node *n = node_find(handle);
	if (n) {
		*type = node_type(n);
		r = CUDA_SUCCESS;
	}
	pthread_mutex_unlock(&graph_lock);
	return r;
}
