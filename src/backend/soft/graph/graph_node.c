/* Entry points that add nodes, and get and set their parameters. */
#include "backend/soft/graph/graph.h"

#include <stdlib.h>
#include <string.h>

static void content_discard(struct node_content *c)
{
	struct user_object_list dead = {NULL};

	content_finish(c, &dead);
	user_objects_finish(&dead);
}

/* Checks of new content that depend on the graph. */
static CUresult graph_check_work(struct graph *g, const struct node_work *w)
{
	if (!w)
		return CUDA_SUCCESS;
	if (w->memory && g->owner)
		return CUDA_ERROR_NOT_SUPPORTED; /* memory nodes only in graphs without an owner */
	if (w->condition && (w->condition->graph != g || w->condition->used))
		return CUDA_ERROR_INVALID_VALUE;
	if (!w->memory || !w->frees)
		return CUDA_SUCCESS;
	each_node(n, g)
	{
		const struct node_work *other = n->content.work;

		if (other && other->memory == w->memory && other->frees)
			return CUDA_ERROR_INVALID_VALUE; /* another node frees the memory already */
	}
	return CUDA_SUCCESS;
}

/* Adds a node with this content to the graph. */
static CUresult graph_place_content(CUgraph handle, struct node_content *c, const CUgraphNode *deps,
	const CUgraphEdgeData *data, size_t ndeps, CUgraphNode *out)
{
	struct edge *edges = NULL;
	struct node *n;
	CUresult r = CUDA_ERROR_INVALID_VALUE;

	pthread_mutex_lock(&graph_lock);
	struct graph *g = graph_find(handle);
	if (g)
		r = edges_read(g, deps, data, ndeps, &edges);
	if (!r)
		r = graph_check_work(g, c->work);
	if (!r)
		r = graph_add(g, c, edges, ndeps, true, &n);
	if (!r) {
		if (c->work && c->work->condition)
			c->work->condition->used = true;
		*out = object_handle(CUgraphNode, n);
	}
	pthread_mutex_unlock(&graph_lock);
	free(edges);
	return r;
}

static CUresult graph_add_params(CUgraphNode *out, CUgraph graph, const CUgraphNode *deps, const CUgraphEdgeData *data,
	size_t ndeps, CUgraphNodeParams *p)
{
	struct node_content c;

	if (!atomic_load(&soft.ready))
		return CUDA_ERROR_NOT_INITIALIZED;
	if (!out)
		return CUDA_ERROR_INVALID_VALUE;
	CUresult r = content_make(&c, p, NULL);
	if (r)
		return r;
	r = graph_place_content(graph, &c, deps, data, ndeps, out);
	if (r)
		content_discard(&c);
	return r;
}

/* Finds a node of this type.  Returns with graph_lock held on success. */
static CUresult node_find_locked(CUgraphNode handle, CUgraphNodeType type, const void *out, struct node **n)
{
	if (!out)
		return CUDA_ERROR_INVALID_VALUE;
	pthread_mutex_lock(&graph_lock);
	*n = node_find(handle);
	if (*n && node_type(*n) == type && !(*n)->content.opaque)
		return CUDA_SUCCESS;
	CUresult r = *n && (*n)->content.opaque ? CUDA_ERROR_NOT_SUPPORTED : CUDA_ERROR_INVALID_VALUE;
	pthread_mutex_unlock(&graph_lock);
	return r;
}

/* Whether parameters of this type may be replaced; child graphs and memory may not. */
static bool type_is_settable(CUgraphNodeType type)
{
	return type != CU_GRAPH_NODE_TYPE_GRAPH && type != CU_GRAPH_NODE_TYPE_MEM_ALLOC &&
	       type != CU_GRAPH_NODE_TYPE_MEM_FREE && type != CU_GRAPH_NODE_TYPE_CONDITIONAL;
}

/* The attributes of a kernel node, which new parameters do not change. */
static CUresult node_get_attributes(CUgraphNode handle, CUgraphNodeType type, struct kernel_attributes *a)
{
	CUresult r = CUDA_SUCCESS;

	a->set = 0;
	pthread_mutex_lock(&graph_lock);
	struct node *n = node_find(handle);
	if (!n || node_type(n) != type)
		r = CUDA_ERROR_INVALID_VALUE;
	else if (!type_is_settable(type))
		r = CUDA_ERROR_NOT_SUPPORTED;
	else if (n->content.attributes)
		*a = *n->content.attributes;
	pthread_mutex_unlock(&graph_lock);
	return r;
}

static CUresult node_set_params(CUgraphNode handle, CUgraphNodeParams *p)
{
	struct kernel_attributes a;
	struct node_content c, old;
	CUresult r = node_get_attributes(handle, p->type, &a);

	if (r)
		return r;
	r = content_make(&c, p, &a);
	if (r)
		return r;
	pthread_mutex_lock(&graph_lock);
	struct node *n = node_find(handle);
	if (n) {
		old = n->content;
		n->content = c;
	} else {
		old = c;
		r = CUDA_ERROR_INVALID_VALUE;
	}
	pthread_mutex_unlock(&graph_lock);
	content_discard(&old);
	return r;
}

/* ---- all types ---- */

static bool params_reserved_are_zero(const CUgraphNodeParams *p)
{
	return p && !p->reserved0[0] && !p->reserved0[1] && !p->reserved0[2] && !p->reserved2;
}

CUresult soft_cuGraphAddNode_v2(CUgraphNode *out, CUgraph graph, const CUgraphNode *deps, const CUgraphEdgeData *data,
	size_t ndeps, CUgraphNodeParams *p)
{
	return params_reserved_are_zero(p) ? graph_add_params(out, graph, deps, data, ndeps, p)
					   : CUDA_ERROR_INVALID_VALUE;
}

CUresult soft_cuGraphAddNode(
	CUgraphNode *out, CUgraph graph, const CUgraphNode *deps, size_t ndeps, CUgraphNodeParams *p)
{
	return soft_cuGraphAddNode_v2(out, graph, deps, NULL, ndeps, p);
}

CUresult soft_cuGraphNodeSetParams(CUgraphNode node, CUgraphNodeParams *p)
{
	return params_reserved_are_zero(p) ? node_set_params(node, p) : CUDA_ERROR_INVALID_VALUE;
}

/* ---- kernels ---- */

static CUgraphNodeParams params_from_v1(const CUDA_KERNEL_NODE_PARAMS_v1 *k)
{
	CUgraphNodeParams p = {.type = CU_GRAPH_NODE_TYPE_KERNEL};

	memcpy(&p.kernel, k, sizeof *k); /* later versions append fields */
	return p;
}

CUresult soft_cuGraphAddKernelNode_v2(
	CUgraphNode *out, CUgraph graph, const CUgraphNode *deps, size_t ndeps, const CUDA_KERNEL_NODE_PARAMS *k)
{
	CUgraphNodeParams p = {.type = CU_GRAPH_NODE_TYPE_KERNEL};

	if (!k)
		return CUDA_ERROR_INVALID_VALUE;
	memcpy(&p.kernel, k, sizeof *k);
	return graph_add_params(out, graph, deps, NULL, ndeps, &p);
}

CUresult soft_cuGraphAddKernelNode(
	CUgraphNode *out, CUgraph graph, const CUgraphNode *deps, size_t ndeps, const CUDA_KERNEL_NODE_PARAMS_v1 *k)
{
	CUgraphNodeParams p;

	if (!k)
		return CUDA_ERROR_INVALID_VALUE;
	p = params_from_v1(k);
	return graph_add_params(out, graph, deps, NULL, ndeps, &p);
}

CUresult soft_cuGraphKernelNodeGetParams_v2(CUgraphNode node, CUDA_KERNEL_NODE_PARAMS *k)
{
	struct node *n;
	CUresult r = node_find_locked(node, CU_GRAPH_NODE_TYPE_KERNEL, k, &n);

	if (r)
		return r;
	memcpy(k, &n->content.params.kernel, sizeof *k);
	pthread_mutex_unlock(&graph_lock);
	return CUDA_SUCCESS;
}

CUresult soft_cuGraphKernelNodeGetParams(CUgraphNode node, CUDA_KERNEL_NODE_PARAMS_v1 *k)
{
	struct node *n;
	CUresult r = node_find_locked(node, CU_GRAPH_NODE_TYPE_KERNEL, k, &n);

	if (r)
		return r;
	memcpy(k, &n->content.params.kernel, sizeof *k);
	if (!k->func) /* made from a CUkernel, which is valid wherever a CUfunction is */
		k->func = (CUfunction)n->content.params.kernel.kern;
	pthread_mutex_unlock(&graph_lock);
	return CUDA_SUCCESS;
}

CUresult soft_cuGraphKernelNodeSetParams_v2(CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS *k)
{
	CUgraphNodeParams p = {.type = CU_GRAPH_NODE_TYPE_KERNEL};

	if (!k)
		return CUDA_ERROR_INVALID_VALUE;
	memcpy(&p.kernel, k, sizeof *k);
	return node_set_params(node, &p);
}

CUresult soft_cuGraphKernelNodeSetParams(CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS_v1 *k)
{
	CUgraphNodeParams p;

	if (!k)
		return CUDA_ERROR_INVALID_VALUE;
	p = params_from_v1(k);
	return node_set_params(node, &p);
}

/* ---- copies and sets ---- */

static CUgraphNodeParams params_of_copy(const CUDA_MEMCPY3D *m, CUcontext ctx)
{
	CUgraphNodeParams p = {.type = CU_GRAPH_NODE_TYPE_MEMCPY};

	p.memcpy.copyParams = *m;
	p.memcpy.copyCtx = ctx;
	return p;
}

CUresult soft_cuGraphAddMemcpyNode(
	CUgraphNode *out, CUgraph graph, const CUgraphNode *deps, size_t ndeps, const CUDA_MEMCPY3D *m, CUcontext ctx)
{
	CUgraphNodeParams p;

	if (!m)
		return CUDA_ERROR_INVALID_VALUE;
	p = params_of_copy(m, ctx);
	return graph_add_params(out, graph, deps, NULL, ndeps, &p);
}

CUresult soft_cuGraphMemcpyNodeGetParams(CUgraphNode node, CUDA_MEMCPY3D *m)
{
	struct node *n;
	CUresult r = node_find_locked(node, CU_GRAPH_NODE_TYPE_MEMCPY, m, &n);

	if (r)
		return r;
	*m = n->content.params.memcpy.copyParams;
	pthread_mutex_unlock(&graph_lock);
	return CUDA_SUCCESS;
}

/* The context of an existing node, for calls that do not pass one. */
static CUcontext node_context(CUgraphNode handle)
{
	CUcontext ctx = NULL;

	pthread_mutex_lock(&graph_lock);
	struct node *n = node_find(handle);
	if (n && n->content.work && n->content.work->ctx)
		ctx = object_handle(CUcontext, n->content.work->ctx);
	pthread_mutex_unlock(&graph_lock);
	return ctx;
}

CUresult soft_cuGraphMemcpyNodeSetParams(CUgraphNode node, const CUDA_MEMCPY3D *m)
{
	CUgraphNodeParams p;

	if (!m)
		return CUDA_ERROR_INVALID_VALUE;
	p = params_of_copy(m, node_context(node));
	return node_set_params(node, &p);
}

static CUgraphNodeParams params_of_memset(const CUDA_MEMSET_NODE_PARAMS *m, CUcontext ctx)
{
	CUgraphNodeParams p = {.type = CU_GRAPH_NODE_TYPE_MEMSET};

	memcpy(&p.memset, m, sizeof *m);
	p.memset.ctx = ctx;
	return p;
}

CUresult soft_cuGraphAddMemsetNode(CUgraphNode *out, CUgraph graph, const CUgraphNode *deps, size_t ndeps,
	const CUDA_MEMSET_NODE_PARAMS *m, CUcontext ctx)
{
	CUgraphNodeParams p;

	if (!m)
		return CUDA_ERROR_INVALID_VALUE;
	p = params_of_memset(m, ctx);
	return graph_add_params(out, graph, deps, NULL, ndeps, &p);
}

CUresult soft_cuGraphMemsetNodeGetParams(CUgraphNode node, CUDA_MEMSET_NODE_PARAMS *m)
{
	struct node *n;
	CUresult r = node_find_locked(node, CU_GRAPH_NODE_TYPE_MEMSET, m, &n);

	if (r)
		return r;
	memcpy(m, &n->content.params.memset, sizeof *m);
	pthread_mutex_unlock(&graph_lock);
	return CUDA_SUCCESS;
}

CUresult soft_cuGraphMemsetNodeSetParams(CUgraphNode node, const CUDA_MEMSET_NODE_PARAMS *m)
{
	CUgraphNodeParams p;

	if (!m)
		return CUDA_ERROR_INVALID_VALUE;
	p = params_of_memset(m, node_context(node));
	return node_set_params(node, &p);
}

/*
 * ---- types whose parameters are one struct: add, get, set ----
 */
#define PARAMS_NODE(add_name, get_name, set_name, type_, struct_, member) \
	CUresult add_name( \
		CUgraphNode *out, CUgraph graph, const CUgraphNode *deps, size_t ndeps, const struct_ *params) \
	{ \
		CUgraphNodeParams p = {.type = type_}; \
\
		if (!params) \
			return CUDA_ERROR_INVALID_VALUE; \
		memcpy(&p.member, params, sizeof *params); \
		return graph_add_params(out, graph, deps, NULL, ndeps, &p); \
	} \
	CUresult get_name(CUgraphNode node, struct_ *params) \
	{ \
		struct node *n; \
		CUresult r = node_find_locked(node, type_, params, &n); \
\
		if (r) \
			return r; \
		memcpy(params, &n->content.params.member, sizeof *params); \
		pthread_mutex_unlock(&graph_lock); \
		return CUDA_SUCCESS; \
	} \
	CUresult set_name(CUgraphNode node, const struct_ *params) \
	{ \
		CUgraphNodeParams p = {.type = type_}; \
\
		if (!params) \
			return CUDA_ERROR_INVALID_VALUE; \
		memcpy(&p.member, params, sizeof *params); \
		return node_set_params(node, &p); \
	}

PARAMS_NODE(soft_cuGraphAddHostNode, soft_cuGraphHostNodeGetParams, soft_cuGraphHostNodeSetParams,
	CU_GRAPH_NODE_TYPE_HOST, CUDA_HOST_NODE_PARAMS, host)
PARAMS_NODE(soft_cuGraphAddBatchMemOpNode, soft_cuGraphBatchMemOpNodeGetParams, soft_cuGraphBatchMemOpNodeSetParams,
	CU_GRAPH_NODE_TYPE_BATCH_MEM_OP, CUDA_BATCH_MEM_OP_NODE_PARAMS, memOp)
PARAMS_NODE(soft_cuGraphAddExternalSemaphoresSignalNode, soft_cuGraphExternalSemaphoresSignalNodeGetParams,
	soft_cuGraphExternalSemaphoresSignalNodeSetParams, CU_GRAPH_NODE_TYPE_EXT_SEMAS_SIGNAL,
	CUDA_EXT_SEM_SIGNAL_NODE_PARAMS, extSemSignal)
PARAMS_NODE(soft_cuGraphAddExternalSemaphoresWaitNode, soft_cuGraphExternalSemaphoresWaitNodeGetParams,
	soft_cuGraphExternalSemaphoresWaitNodeSetParams, CU_GRAPH_NODE_TYPE_EXT_SEMAS_WAIT,
	CUDA_EXT_SEM_WAIT_NODE_PARAMS, extSemWait)

#define EVENT_NODE(name, type_, member) \
	CUresult soft_cuGraphAdd##name##Node( \
		CUgraphNode *out, CUgraph graph, const CUgraphNode *deps, size_t ndeps, CUevent event) \
	{ \
		CUgraphNodeParams p = {.type = type_}; \
\
		p.member.event = event; \
		return graph_add_params(out, graph, deps, NULL, ndeps, &p); \
	} \
	CUresult soft_cuGraph##name##NodeGetEvent(CUgraphNode node, CUevent *out) \
	{ \
		struct node *n; \
		CUresult r = node_find_locked(node, type_, out, &n); \
\
		if (r) \
			return r; \
		*out = n->content.params.member.event; \
		pthread_mutex_unlock(&graph_lock); \
		return CUDA_SUCCESS; \
	} \
	CUresult soft_cuGraph##name##NodeSetEvent(CUgraphNode node, CUevent event) \
	{ \
		CUgraphNodeParams p = {.type = type_}; \
\
		p.member.event = event; \
		return node_set_params(node, &p); \
	}

EVENT_NODE(EventRecord, CU_GRAPH_NODE_TYPE_EVENT_RECORD, eventRecord)
EVENT_NODE(EventWait, CU_GRAPH_NODE_TYPE_WAIT_EVENT, eventWait)

/* ---- children, empty nodes, memory ---- */

CUresult soft_cuGraphAddChildGraphNode(
	CUgraphNode *out, CUgraph graph, const CUgraphNode *deps, size_t ndeps, CUgraph child)
{
	CUgraphNodeParams p = {.type = CU_GRAPH_NODE_TYPE_GRAPH};

	p.graph.graph = child;
	return graph_add_params(out, graph, deps, NULL, ndeps, &p);
}

CUresult soft_cuGraphChildGraphNodeGetGraph(CUgraphNode node, CUgraph *out)
{
	struct node *n;
	CUresult r = node_find_locked(node, CU_GRAPH_NODE_TYPE_GRAPH, out, &n);

	if (r)
		return r;
	*out = n->content.params.graph.graph;
	pthread_mutex_unlock(&graph_lock);
	return CUDA_SUCCESS;
}

CUresult soft_cuGraphAddEmptyNode(CUgraphNode *out, CUgraph graph, const CUgraphNode *deps, size_t ndeps)
{
	CUgraphNodeParams p = {.type = CU_GRAPH_NODE_TYPE_EMPTY};

	return graph_add_params(out, graph, deps, NULL, ndeps, &p);
}

CUresult soft_cuGraphAddMemAllocNode(
	CUgraphNode *out, CUgraph graph, const CUgraphNode *deps, size_t ndeps, CUDA_MEM_ALLOC_NODE_PARAMS *params)
{
	CUgraphNodeParams p = {.type = CU_GRAPH_NODE_TYPE_MEM_ALLOC};

	if (!params)
		return CUDA_ERROR_INVALID_VALUE;
	memcpy(&p.alloc, params, sizeof *params);
	CUresult r = graph_add_params(out, graph, deps, NULL, ndeps, &p);
	if (!r)
		params->dptr = p.alloc.dptr;
	return r;
}

CUresult soft_cuGraphMemAllocNodeGetParams(CUgraphNode node, CUDA_MEM_ALLOC_NODE_PARAMS *params)
{
	struct node *n;
	CUresult r = node_find_locked(node, CU_GRAPH_NODE_TYPE_MEM_ALLOC, params, &n);

	if (r)
		return r;
	memcpy(params, &n->content.params.alloc, sizeof *params);
	pthread_mutex_unlock(&graph_lock);
	return CUDA_SUCCESS;
}

CUresult soft_cuGraphAddMemFreeNode(
	CUgraphNode *out, CUgraph graph, const CUgraphNode *deps, size_t ndeps, CUdeviceptr ptr)
{
	CUgraphNodeParams p = {.type = CU_GRAPH_NODE_TYPE_MEM_FREE};

	p.free.dptr = ptr;
	return graph_add_params(out, graph, deps, NULL, ndeps, &p);
}

CUresult soft_cuGraphMemFreeNodeGetParams(CUgraphNode node, CUdeviceptr *out)
{
	struct node *n;
	CUresult r = node_find_locked(node, CU_GRAPH_NODE_TYPE_MEM_FREE, out, &n);

	if (r)
		return r;
	*out = n->content.params.free.dptr;
	pthread_mutex_unlock(&graph_lock);
	return CUDA_SUCCESS;
}
