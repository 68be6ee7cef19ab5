/* Edges: adding and removing them, topological order, and queries of nodes and edges. */
#include "backend/soft/graph/graph.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const CUgraphEdgeData full_dependency;

struct edge *edge_find(struct edges *e, const struct node *node)
{
	for (unsigned i = 0; i < e->n; i++)
		if (e->at[i].node == node)
			return &e->at[i];
	return NULL;
}

static int edges_reserve(struct edges *e)
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
	if (edges_reserve(&from->to) || edges_reserve(&to->from))
		return -ENOMEM;
	from->to.at[from->to.n++] = (struct edge){to, *data};
	to->from.at[to->from.n++] = (struct edge){from, *data};
	return 0;
}

static void edges_remove(struct edges *e, struct edge *which)
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

/* Only kernel nodes have ports other than 0. */
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

		e[i] = (struct edge){node, data ? data[i] : full_dependency};
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
		node->mark = node->from.n; /* dependencies that are not in the order yet */
		if (!node->mark)
			order[n++] = node;
	}
	for (unsigned i = 0; i < n; i++)
		for (unsigned k = 0; k < order[i]->to.n; k++)
			if (--order[i]->to.at[k].node->mark == 0)
				order[n++] = order[i]->to.at[k].node;
	if (n == g->nnodes)
		return order;
	each_node(node, g)
	{
		if (node->mark && !*cycle)
			*cycle = node;
	}
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

/* ---- changes ---- */

static CUresult find_node_pair(struct graph *g, CUgraphNode from, CUgraphNode to, struct node **f, struct node **t)
{
	*f = node_find(from);
	*t = node_find(to);
	return *f && *t && *f != *t && (*f)->graph == g && (*t)->graph == g ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

static CUresult add_checked_edge(struct graph *g, CUgraphNode from, CUgraphNode to, const CUgraphEdgeData *data)
{
	struct node *f, *t;
	CUresult r = find_node_pair(g, from, to, &f, &t);

	if (r)
		return r;
	if (edge_find(&f->to, t) || !edge_fits(f, t, data))
		return CUDA_ERROR_INVALID_VALUE;
	return edge_add(f, t, data) ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_SUCCESS;
}

static CUresult remove_edge(struct graph *g, CUgraphNode from, CUgraphNode to, const CUgraphEdgeData *data)
{
	struct node *f, *t;
	CUresult r = find_node_pair(g, from, to, &f, &t);
	struct edge *e = r ? NULL : edge_find(&f->to, t);

	if (!e || (data && memcmp(&e->data, data, sizeof *data)))
		return CUDA_ERROR_INVALID_VALUE;
	edges_remove(&f->to, e);
	edges_remove(&t->from, edge_find(&t->from, f));
	return CUDA_SUCCESS;
}

/* After an error, no edge is added. */
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
		r = add_checked_edge(g, from[done], to[done], data ? &data[done] : &full_dependency);
	while (r && done)
		done--, remove_edge(g, from[done], to[done], NULL);
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
		r = remove_edge(g, from[i], to[i], data ? &data[i] : &full_dependency);
	pthread_mutex_unlock(&graph_lock);
	return r;
}

CUresult soft_cuGraphRemoveDependencies(CUgraph g, const CUgraphNode *from, const CUgraphNode *to, size_t n)
{
	return soft_cuGraphRemoveDependencies_v2(g, from, to, NULL, n);
}

/* ---- queries ---- */

/* Output arrays of a query.  Without arrays only the count is returned; unused elements are cleared. */
struct query_output {
	CUgraphNode *a, *b;
	CUgraphEdgeData *data;
	size_t room, n;
	bool lossy; /* an edge has data, but the caller passed no array for it */
};

static void query_add(struct query_output *o, const struct node *a, const struct node *b, const CUgraphEdgeData *data)
{
	if (o->n < o->room) {
		if (o->a)
			o->a[o->n] = object_handle(CUgraphNode, a);
		if (o->b)
			o->b[o->n] = object_handle(CUgraphNode, b);
		if (o->data)
			o->data[o->n] = data ? *data : full_dependency;
	}
	o->lossy |= data && o->a && !o->data && memcmp(data, &full_dependency, sizeof full_dependency);
	o->n++;
}

static CUresult query_finish(struct query_output *o, size_t *count)
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

static CUresult graph_query_nodes(CUgraph handle, CUgraphNode *out, size_t *count, bool roots)
{
	CUresult r = CUDA_ERROR_INVALID_VALUE;

	if (!count)
		return r;
	struct query_output o = {.a = out, .room = out ? *count : 0};
	pthread_mutex_lock(&graph_lock);
	struct graph *g = graph_find(handle);
	if (g) {
		each_node(n, g)
		{
			if (!roots || !n->from.n)
				query_add(&o, n, NULL, NULL);
		}
		r = query_finish(&o, count);
	}
	pthread_mutex_unlock(&graph_lock);
	return r;
}

CUresult soft_cuGraphGetNodes(CUgraph graph, CUgraphNode *out, size_t *count)
{
	return graph_query_nodes(graph, out, count, false);
}

CUresult soft_cuGraphGetRootNodes(CUgraph graph, CUgraphNode *out, size_t *count)
{
	return graph_query_nodes(graph, out, count, true);
}

CUresult soft_cuGraphGetEdges_v2(
	CUgraph handle, CUgraphNode *from, CUgraphNode *to, CUgraphEdgeData *data, size_t *count)
{
	CUresult r = CUDA_ERROR_INVALID_VALUE;

	if (!count || !from != !to || (data && !from))
		return r;
	struct query_output o = {.a = from, .b = to, .data = data, .room = from ? *count : 0};
	pthread_mutex_lock(&graph_lock);
	struct graph *g = graph_find(handle);
	if (g) {
		each_node(n, g)
		{
			for (unsigned i = 0; i < n->to.n; i++)
				query_add(&o, n, n->to.at[i].node, &n->to.at[i].data);
		}
		r = query_finish(&o, count);
	}
	pthread_mutex_unlock(&graph_lock);
	return r;
}

CUresult soft_cuGraphGetEdges(CUgraph graph, CUgraphNode *from, CUgraphNode *to, size_t *count)
{
	return soft_cuGraphGetEdges_v2(graph, from, to, NULL, count);
}

static CUresult node_query_neighbours(
	CUgraphNode handle, CUgraphNode *out, CUgraphEdgeData *data, size_t *count, bool after)
{
	CUresult r = CUDA_ERROR_INVALID_VALUE;

	if (!count || (data && !out))
		return r;
	struct query_output o = {.a = out, .data = data, .room = out ? *count : 0};
	pthread_mutex_lock(&graph_lock);
	struct node *n = node_find(handle);
	if (n) {
		const struct edges *e = after ? &n->to : &n->from;

		for (unsigned i = 0; i < e->n; i++)
			query_add(&o, e->at[i].node, NULL, &e->at[i].data);
		r = query_finish(&o, count);
	}
	pthread_mutex_unlock(&graph_lock);
	return r;
}

CUresult soft_cuGraphNodeGetDependencies_v2(CUgraphNode node, CUgraphNode *out, CUgraphEdgeData *data, size_t *count)
{
	return node_query_neighbours(node, out, data, count, false);
}

CUresult soft_cuGraphNodeGetDependencies(CUgraphNode node, CUgraphNode *out, size_t *count)
{
	return node_query_neighbours(node, out, NULL, count, false);
}

CUresult soft_cuGraphNodeGetDependentNodes_v2(CUgraphNode node, CUgraphNode *out, CUgraphEdgeData *data, size_t *count)
{
	return node_query_neighbours(node, out, data, count, true);
}

CUresult soft_cuGraphNodeGetDependentNodes(CUgraphNode node, CUgraphNode *out, size_t *count)
{
	return node_query_neighbours(node, out, NULL, count, true);
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
