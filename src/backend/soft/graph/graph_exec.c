/* Executable graphs: instantiating and destroying them, and finding their nodes. */
#include "backend/soft/graph/graph.h"

#include <stdlib.h>
#include <string.h>

#define KNOWN_FLAGS \
	(CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH | CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD | \
		CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH | CUDA_GRAPH_INSTANTIATE_FLAG_USE_NODE_PRIORITY)

/* Called when the last reference is dropped; pending launches reference the plan only. */
static void exec_release(void *object)
{
	struct exec *x = object;
	struct user_object_list dead = {NULL};

	graph_destroy(x->graph, &dead);
	user_objects_finish(&dead);
	plan_put(x->plan);
	exec_drop_lanes(x);
	object_put(x->last.stream);
	pthread_mutex_destroy(&x->lock);
	free(x->commands);
	free(x->index);
	free(x);
}

/* ---- finding nodes ---- */

static size_t graph_count_nodes(const struct graph *g)
{
	size_t n = g->nnodes;

	each_node(node, g)
	{
		for (unsigned i = 0; i < node->content.ngraphs; i++)
			n += graph_count_nodes(node->content.graphs[i]);
	}
	return n;
}

static void exec_index_nodes(struct exec *x, struct graph *g)
{
	each_node(node, g)
	{
		x->index[x->nindex++] = node;
		for (unsigned i = 0; i < node->content.ngraphs; i++)
			exec_index_nodes(x, node->content.graphs[i]);
	}
}

static int compare_origins(const void *a, const void *b)
{
	uint64_t x = (*(struct node *const *)a)->origin, y = (*(struct node *const *)b)->origin;

	return (x > y) - (x < y);
}

static CUresult exec_create_index(struct exec *x)
{
	x->index = malloc((graph_count_nodes(x->graph) + 1) * sizeof *x->index);
	if (!x->index)
		return CUDA_ERROR_OUT_OF_MEMORY;
	exec_index_nodes(x, x->graph);
	qsort(x->index, x->nindex, sizeof *x->index, compare_origins);
	return CUDA_SUCCESS;
}

struct node *exec_node(struct exec *x, CUgraphNode handle)
{
	struct node key = {.origin = (uintptr_t)handle}, *k = &key;
	struct node **n = bsearch(&k, x->index, x->nindex, sizeof *x->index, compare_origins);

	return n ? *n : NULL;
}

/* ---- changing the plan ---- */

CUresult exec_replan(struct exec *x, struct node **bad)
{
	struct plan *p, *old;
	CUresult r = plan_create(&p, x->graph, bad);

	if (r)
		return r;
	pthread_mutex_lock(&x->lock);
	old = x->plan;
	x->plan = p;
	pthread_mutex_unlock(&x->lock);
	plan_put(old);
	return CUDA_SUCCESS;
}

/* Pending launches keep their plan: a plan with other references is copied, not changed in place. */
CUresult exec_refresh(struct exec *x, struct node *n)
{
	struct plan *old = NULL;
	struct node *bad;
	CUresult r = CUDA_SUCCESS;

	if (n->step == NO_STEP || n->content.ngraphs)
		return exec_replan(x, &bad);
	pthread_mutex_lock(&x->lock);
	if (atomic_load(&x->plan->refs) > 1) {
		struct plan *p = plan_copy(x->plan);

		if (p) {
			old = x->plan;
			x->plan = p;
		} else {
			r = CUDA_ERROR_OUT_OF_MEMORY;
		}
	}
	if (!r)
		step_set(&x->plan->steps[n->step], n);
	pthread_mutex_unlock(&x->lock);
	plan_put(old);
	return r;
}

/* ---- instantiating ---- */

struct instantiate_result {
	CUgraphInstantiateResult why;
	CUgraphNode node;
};

static bool graph_has_unused_condition(const struct graph *g)
{
	list_each(it, &g->conditions)
	{
		if (!container_of(it, struct condition, link)->used)
			return true;
	}
	each_node(n, g)
	{
		for (unsigned i = 0; i < n->content.ngraphs; i++)
			if (graph_has_unused_condition(n->content.graphs[i]))
				return true;
	}
	return false;
}

static CUresult graph_check_instantiable(const struct graph *g, struct instantiate_result *out)
{
	out->why = CUDA_GRAPH_INSTANTIATE_ERROR;
	if (!g || g->capture)
		return g ? CUDA_ERROR_ILLEGAL_STATE : CUDA_ERROR_INVALID_VALUE;
	if (g->memory_nodes && g->instantiated)
		return CUDA_ERROR_NOT_SUPPORTED;
	if (graph_has_unused_condition(g)) {
		out->why = CUDA_GRAPH_INSTANTIATE_CONDITIONAL_HANDLE_UNUSED;
		return CUDA_ERROR_INVALID_VALUE;
	}
	return CUDA_SUCCESS;
}

static CUresult exec_plan(struct exec *x, struct graph *g, struct instantiate_result *out)
{
	struct node *bad = NULL;
	CUresult r = graph_copy(&x->graph, g, false);

	if (r)
		return r;
	r = plan_create(&x->plan, x->graph, &bad);
	if (r == CUDA_ERROR_INVALID_VALUE)
		out->why = CUDA_GRAPH_INSTANTIATE_INVALID_STRUCTURE;
	if (r == CUDA_ERROR_NOT_SUPPORTED)
		out->why = CUDA_GRAPH_INSTANTIATE_NODE_OPERATION_NOT_SUPPORTED;
	if (r && bad)
		out->node = (CUgraphNode)(uintptr_t)bad->origin;
	return r ? r : exec_create_index(x);
}

static CUresult exec_fill(struct exec *x, CUgraph handle, struct instantiate_result *out)
{
	pthread_mutex_lock(&graph_lock);
	struct graph *g = graph_find(handle);
	CUresult r = graph_check_instantiable(g, out);
	if (!r)
		r = exec_plan(x, g, out);
	if (!r && g->memory_nodes) {
		g->instantiated = true;
		x->memory_graph = g->object.handle;
	}
	pthread_mutex_unlock(&graph_lock);
	return r;
}

static void exec_release_memory_graph(struct exec *x)
{
	pthread_mutex_lock(&graph_lock);
	struct graph *g = x->memory_graph ? graph_find((CUgraph)(uintptr_t)x->memory_graph) : NULL;
	if (g)
		g->instantiated = false;
	pthread_mutex_unlock(&graph_lock);
}

static CUresult exec_instantiate(
	CUgraphExec *out, CUgraph graph, unsigned long long flags, struct instantiate_result *result)
{
	*result = (struct instantiate_result){CUDA_GRAPH_INSTANTIATE_ERROR, NULL};
	if (!atomic_load(&soft.ready))
		return CUDA_ERROR_NOT_INITIALIZED;
	if (!out || flags & ~(unsigned long long)KNOWN_FLAGS)
		return CUDA_ERROR_INVALID_VALUE;
	if (flags & CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH)
		return CUDA_ERROR_NOT_SUPPORTED; /* kernels cannot launch graphs here */
	struct exec *x = calloc(1, sizeof *x);
	if (!x)
		return CUDA_ERROR_OUT_OF_MEMORY;
	pthread_mutex_init(&x->lock, NULL);
	x->flags = flags;
	CUresult r = exec_fill(x, graph, result);
	if (!r && object_init(&x->object, KIND_GRAPH_EXEC, NULL, exec_release)) {
		exec_release_memory_graph(x);
		r = CUDA_ERROR_OUT_OF_MEMORY;
	}
	if (r) {
		exec_release(x);
		return r;
	}
	result->why = CUDA_GRAPH_INSTANTIATE_SUCCESS;
	*out = object_handle(CUgraphExec, x);
	return CUDA_SUCCESS;
}

CUresult soft_cuGraphInstantiateWithFlags(CUgraphExec *out, CUgraph graph, unsigned long long flags)
{
	struct instantiate_result result;

	return exec_instantiate(out, graph, flags, &result);
}

static const char *result_text(CUgraphInstantiateResult why)
{
	switch (why) {
	case CUDA_GRAPH_INSTANTIATE_SUCCESS:
		return "";
	case CUDA_GRAPH_INSTANTIATE_INVALID_STRUCTURE:
		return "the graph has a cycle";
	case CUDA_GRAPH_INSTANTIATE_NODE_OPERATION_NOT_SUPPORTED:
		return "a node's operation is not supported in its place";
	case CUDA_GRAPH_INSTANTIATE_CONDITIONAL_HANDLE_UNUSED:
		return "a conditional handle is not used";
	default:
		return "the graph cannot be instantiated";
	}
}

CUresult soft_cuGraphInstantiate_v2(CUgraphExec *out, CUgraph graph, CUgraphNode *bad, char *log, size_t size)
{
	struct instantiate_result result;
	CUresult r = exec_instantiate(out, graph, 0, &result);

	if (bad)
		*bad = result.node;
	if (log && size) {
		const char *text = result_text(result.why);
		size_t n = strlen(text) < size ? strlen(text) : size - 1;

		memcpy(log, text, n);
		log[n] = 0;
	}
	return r;
}

CUresult soft_cuGraphInstantiateWithParams(CUgraphExec *out, CUgraph graph, CUDA_GRAPH_INSTANTIATE_PARAMS *params)
{
	struct instantiate_result result;

	if (!params)
		return CUDA_ERROR_INVALID_VALUE;
	CUresult r = exec_instantiate(out, graph, params->flags, &result);
	params->hErrNode_out = result.node;
	params->result_out = result.why;
	if (!r && params->flags & CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD)
		r = soft_cuGraphUpload(*out, params->hUploadStream);
	return r;
}

CUresult soft_cuGraphExecGetFlags(CUgraphExec handle, cuuint64_t *flags)
{
	struct exec *x = flags ? object_find(handle, KIND_GRAPH_EXEC) : NULL;

	if (!x)
		return CUDA_ERROR_INVALID_VALUE;
	*flags = x->flags;
	object_put(x);
	return CUDA_SUCCESS;
}

CUresult soft_cuGraphExecDestroy(CUgraphExec handle)
{
	struct exec *x = object_find(handle, KIND_GRAPH_EXEC);
	CUresult r = CUDA_SUCCESS;

	if (!x)
		return CUDA_ERROR_INVALID_VALUE;
	if (object_close(x))
		exec_release_memory_graph(x);
	else
		r = CUDA_ERROR_INVALID_VALUE;
	object_put(x);
	return r;
}
