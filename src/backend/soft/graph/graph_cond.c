/* Conditional handles, whose values kernels set, and the conditional nodes that test them. */
#include "backend/soft/graph/graph.h"

#include <stdlib.h>

#define MAX_BODIES 4096

static struct condition *all_conditions; /* graph_lock */

static void condition_unlist(struct condition *c)
{
	for (struct condition **p = &all_conditions; *p; p = &(*p)->next)
		if (*p == c) {
			*p = c->next;
			return;
		}
}

void condition_put(struct condition *c)
{
	if (c && atomic_fetch_sub(&c->refs, 1) == 1)
		free(c);
}

void condition_close(struct condition *c)
{
	list_remove(&c->link);
	condition_unlist(c);
	condition_put(c);
}

static struct condition *condition_find(CUgraphConditionalHandle handle)
{
	for (struct condition *c = all_conditions; c; c = c->next)
		if ((uintptr_t)&c->value == handle)
			return c;
	return NULL;
}

bool soft_set_condition(uint64_t handle, uint32_t value)
{
	pthread_mutex_lock(&graph_lock);
	struct condition *c = condition_find(handle);
	if (c)
		atomic_store(&c->value, value);
	pthread_mutex_unlock(&graph_lock);
	return c;
}

CUresult soft_cuGraphConditionalHandleCreate(
	CUgraphConditionalHandle *out, CUgraph graph, CUcontext ctx, unsigned int first, unsigned int flags)
{
	struct context *found;
	CUresult r = context_find(ctx, &found);

	if (r)
		return r;
	object_put(found);
	if (!out || flags & ~CU_GRAPH_COND_ASSIGN_DEFAULT)
		return CUDA_ERROR_INVALID_VALUE;
	struct condition *c = calloc(1, sizeof *c);
	if (!c)
		return CUDA_ERROR_OUT_OF_MEMORY;
	atomic_init(&c->refs, 1);
	atomic_init(&c->value, first);
	c->initial = first;
	c->assign = flags & CU_GRAPH_COND_ASSIGN_DEFAULT;
	pthread_mutex_lock(&graph_lock);
	struct graph *g = graph_find(graph);
	if (g) {
		c->graph = g;
		list_append(&g->conditions, &c->link);
		c->next = all_conditions;
		all_conditions = c;
		*out = (uintptr_t)&c->value;
	}
	pthread_mutex_unlock(&graph_lock);
	if (!g)
		free(c);
	return g ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

static bool body_count_is_valid(const CUDA_CONDITIONAL_NODE_PARAMS *p)
{
	switch (p->type) {
	case CU_GRAPH_COND_TYPE_IF:
		return p->size == 1 || p->size == 2; /* the second body runs if the value is 0 */
	case CU_GRAPH_COND_TYPE_WHILE:
		return p->size == 1;
	case CU_GRAPH_COND_TYPE_SWITCH:
		return p->size >= 1 && p->size <= MAX_BODIES;
	default:
		return false;
	}
}

static CUresult content_create_bodies(struct node_content *c)
{
	unsigned n = c->params.conditional.size;
	CUgraph *handles = malloc(n * sizeof *handles);

	c->params.conditional.phGraph_out = c->work->owned = handles;
	c->graphs = calloc(n, sizeof *c->graphs);
	if (!handles || !c->graphs)
		return CUDA_ERROR_OUT_OF_MEMORY;
	for (; c->ngraphs < n; c->ngraphs++) {
		c->graphs[c->ngraphs] = graph_create(true);
		if (!c->graphs[c->ngraphs])
			return CUDA_ERROR_OUT_OF_MEMORY;
		handles[c->ngraphs] = object_handle(CUgraph, c->graphs[c->ngraphs]);
	}
	return CUDA_SUCCESS;
}

CUresult content_conditional(struct node_content *c, CUgraphNodeParams *p)
{
	if (!body_count_is_valid(&p->conditional))
		return CUDA_ERROR_INVALID_VALUE;
	c->work = work_create();
	if (!c->work)
		return CUDA_ERROR_OUT_OF_MEMORY;
	pthread_mutex_lock(&graph_lock);
	c->work->condition = condition_find(p->conditional.handle);
	if (c->work->condition)
		atomic_fetch_add(&c->work->condition->refs, 1);
	pthread_mutex_unlock(&graph_lock);
	if (!c->work->condition)
		return CUDA_ERROR_INVALID_VALUE;
	CUresult r = content_create_bodies(c);
	if (!r)
		p->conditional.phGraph_out = c->params.conditional.phGraph_out;
	return r;
}
