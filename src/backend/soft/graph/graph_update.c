/* Updates of executable graphs: of one node, or of the whole graph. */
#include "backend/soft/graph/graph.h"

#include <string.h>

/* Whether a node of an executable graph may get this content. */
static CUgraphExecUpdateResult content_is_compatible(const struct node_content *old, const struct node_content *new)
{
	CUgraphNodeType type = old->params.type;
	struct node_work *a = old->work, *b = new->work;

	if (type != new->params.type)
		return CU_GRAPH_EXEC_UPDATE_ERROR_NODE_TYPE_CHANGED;
	switch (type) {
	case CU_GRAPH_NODE_TYPE_KERNEL:
		return a->ctx == b->ctx ? CU_GRAPH_EXEC_UPDATE_SUCCESS
					: CU_GRAPH_EXEC_UPDATE_ERROR_UNSUPPORTED_FUNCTION_CHANGE;
	case CU_GRAPH_NODE_TYPE_MEMCPY:
	case CU_GRAPH_NODE_TYPE_MEMSET:
	case CU_GRAPH_NODE_TYPE_BATCH_MEM_OP:
		return a->ctx == b->ctx ? CU_GRAPH_EXEC_UPDATE_SUCCESS : CU_GRAPH_EXEC_UPDATE_ERROR_PARAMETERS_CHANGED;
	case CU_GRAPH_NODE_TYPE_MEM_ALLOC:
	case CU_GRAPH_NODE_TYPE_MEM_FREE:
		return a->memory == b->memory ? CU_GRAPH_EXEC_UPDATE_SUCCESS : CU_GRAPH_EXEC_UPDATE_ERROR_NOT_SUPPORTED;
	case CU_GRAPH_NODE_TYPE_CONDITIONAL:
		return a->condition == b->condition && old->ngraphs == new->ngraphs &&
				       old->params.conditional.type == new->params.conditional.type
			       ? CU_GRAPH_EXEC_UPDATE_SUCCESS
			       : CU_GRAPH_EXEC_UPDATE_ERROR_PARAMETERS_CHANGED;
	default:
		return CU_GRAPH_EXEC_UPDATE_SUCCESS;
	}
}

/* ---- one node ---- */

static CUresult exec_find(CUgraphExec handle, struct exec **x)
{
	if (!atomic_load(&soft.ready))
		return CUDA_ERROR_NOT_INITIALIZED;
	*x = object_find(handle, KIND_GRAPH_EXEC);
	return *x ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

static CUresult exec_node_attributes(struct exec *x, CUgraphNode handle, struct kernel_attributes *a)
{
	CUresult r = CUDA_SUCCESS;

	a->set = 0;
	pthread_mutex_lock(&graph_lock);
	struct node *n = exec_node(x, handle);
	if (!n)
		r = CUDA_ERROR_INVALID_VALUE;
	else if (n->content.attributes)
		*a = *n->content.attributes;
	pthread_mutex_unlock(&graph_lock);
	return r;
}

/* Replaces the content of a node; after an error, the node is unchanged. */
static CUresult exec_replace_content(struct exec *x, CUgraphNode handle, struct node_content *c)
{
	CUresult r = CUDA_ERROR_INVALID_VALUE;

	pthread_mutex_lock(&graph_lock);
	struct node *n = exec_node(x, handle);
	if (n && content_is_compatible(&n->content, c) == CU_GRAPH_EXEC_UPDATE_SUCCESS) {
		struct node_content old = n->content;

		n->content = *c;
		r = exec_refresh(x, n);
		if (r)
			n->content = old;
		else
			*c = old;
	}
	pthread_mutex_unlock(&graph_lock);
	return r;
}

static bool type_is_settable_in_exec(CUgraphNodeType type)
{
	return type != CU_GRAPH_NODE_TYPE_GRAPH && type != CU_GRAPH_NODE_TYPE_MEM_ALLOC &&
	       type != CU_GRAPH_NODE_TYPE_MEM_FREE && type != CU_GRAPH_NODE_TYPE_CONDITIONAL;
}

static CUresult exec_set_params(CUgraphExec exec, CUgraphNode node, CUgraphNodeParams *p)
{
	struct kernel_attributes a;
	struct user_object_list dead = {NULL};
	struct node_content c;
	struct exec *x;
	CUresult r = exec_find(exec, &x);

	if (r)
		return r;
	r = type_is_settable_in_exec(p->type) ? exec_node_attributes(x, node, &a) : CUDA_ERROR_NOT_SUPPORTED;
	if (!r)
		r = content_make(&c, p, &a);
	if (!r) {
		r = exec_replace_content(x, node, &c);
		content_finish(&c, &dead);
		user_objects_finish(&dead);
	}
	object_put(x);
	return r;
}

/* ---- the whole graph ---- */

static CUgraphNode node_shown_handle(const struct node *n)
{
	return n ? object_handle(CUgraphNode, n) : NULL;
}

static CUgraphExecUpdateResult report_difference(
	CUgraphExecUpdateResultInfo *info, CUgraphExecUpdateResult why, const struct node *n, const struct node *from)
{
	*info = (CUgraphExecUpdateResultInfo){why, node_shown_handle(n), node_shown_handle(from)};
	return why;
}

/* Nodes correspond by their order of creation, which the marks number. */
static void graph_number_nodes(struct graph *g)
{
	unsigned i = 0;

	each_node(n, g) n->mark = i++;
}

static bool has_edge(const struct node *n, const struct edge *like)
{
	for (unsigned i = 0; i < n->from.n; i++)
		if (n->from.at[i].node->mark == like->node->mark)
			return !memcmp(&n->from.at[i].data, &like->data, sizeof like->data);
	return false;
}

static CUgraphExecUpdateResult graph_compare(struct graph *old, struct graph *new, CUgraphExecUpdateResultInfo *info);

static CUgraphExecUpdateResult compare_nodes(struct node *a, struct node *b, CUgraphExecUpdateResultInfo *info)
{
	CUgraphExecUpdateResult why = content_is_compatible(&a->content, &b->content);

	if (why)
		return report_difference(info, why, b, NULL);
	for (unsigned i = 0; i < b->from.n; i++)
		if (!has_edge(a, &b->from.at[i]))
			return report_difference(
				info, CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED, b, b->from.at[i].node);
	if (a->from.n != b->from.n)
		return report_difference(info, CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED, b, NULL);
	return CU_GRAPH_EXEC_UPDATE_SUCCESS;
}

static CUgraphExecUpdateResult graph_compare(struct graph *old, struct graph *new, CUgraphExecUpdateResultInfo *info)
{
	CUgraphExecUpdateResult why = CU_GRAPH_EXEC_UPDATE_SUCCESS;

	if (old->nnodes != new->nnodes)
		return report_difference(info, CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED, NULL, NULL);
	graph_number_nodes(old);
	graph_number_nodes(new);
	struct node *a = node_of(old->nodes.next);
	each_node(b, new)
	{
		why = compare_nodes(a, b, info);
		for (unsigned i = 0; i < b->content.ngraphs && !why; i++)
			why = graph_compare(a->content.graphs[i], b->content.graphs[i], info);
		if (why)
			return why;
		a = node_of(a->link.next);
	}
	return why;
}

/* Copies the content of b to a.  Nested graphs stay; their nodes are updated one by one. */
static CUresult node_copy_content(struct exec *x, struct node *a, const struct node *b, bool *replan)
{
	struct user_object_list none = {NULL};
	struct node_content c;
	CUresult r;

	if (b->content.ngraphs)
		return CUDA_SUCCESS;
	r = content_copy(&c, &b->content, false);
	if (r)
		return r;
	content_finish(&a->content, &none);
	a->content = c;
	if (a->step != NO_STEP)
		return exec_refresh(x, a);
	*replan = true;
	return CUDA_SUCCESS;
}

static CUresult graph_apply(struct exec *x, struct graph *old, const struct graph *new, bool *replan)
{
	struct node *a = node_of(old->nodes.next);
	CUresult r = CUDA_SUCCESS;

	each_node(b, new)
	{
		r = node_copy_content(x, a, b, replan);
		for (unsigned i = 0; i < b->content.ngraphs && !r; i++)
			r = graph_apply(x, a->content.graphs[i], b->content.graphs[i], replan);
		if (r)
			break;
		a = node_of(a->link.next);
	}
	return r;
}

/* Requires graph_lock. */
static CUresult exec_update(struct exec *x, struct graph *old, struct graph *new, CUgraphExecUpdateResultInfo *info)
{
	struct node *bad;
	bool replan = false;

	if (graph_compare(old, new, info))
		return CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE;
	CUresult r = graph_apply(x, old, new, &replan);
	if (!r && replan)
		r = exec_replan(x, &bad);
	if (r)
		info->result = CU_GRAPH_EXEC_UPDATE_ERROR;
	return r;
}

CUresult soft_cuGraphExecUpdate_v2(CUgraphExec exec, CUgraph graph, CUgraphExecUpdateResultInfo *out)
{
	CUgraphExecUpdateResultInfo info = {CU_GRAPH_EXEC_UPDATE_SUCCESS, NULL, NULL};
	struct exec *x;
	CUresult r = exec_find(exec, &x);

	if (r)
		return r;
	pthread_mutex_lock(&graph_lock);
	struct graph *g = graph_find(graph);
	r = g ? exec_update(x, x->graph, g, &info) : CUDA_ERROR_INVALID_VALUE;
	pthread_mutex_unlock(&graph_lock);
	if (!g)
		info.result = CU_GRAPH_EXEC_UPDATE_ERROR;
	if (out)
		*out = info;
	object_put(x);
	return r;
}

CUresult soft_cuGraphExecUpdate(CUgraphExec exec, CUgraph graph, CUgraphNode *bad, CUgraphExecUpdateResult *result)
{
	CUgraphExecUpdateResultInfo info = {CU_GRAPH_EXEC_UPDATE_ERROR, NULL, NULL};
	CUresult r = soft_cuGraphExecUpdate_v2(exec, graph, &info);

	if (bad)
		*bad = info.errorNode;
	if (result)
		*result = info.result;
	return r;
}

CUresult soft_cuGraphExecChildGraphNodeSetParams(CUgraphExec exec, CUgraphNode node, CUgraph child)
{
	CUgraphExecUpdateResultInfo info;
	struct exec *x;
	CUresult r = exec_find(exec, &x);

	if (r)
		return r;
	pthread_mutex_lock(&graph_lock);
	struct node *n = exec_node(x, node);
	struct graph *g = graph_find(child);
	if (n && g && node_type(n) == CU_GRAPH_NODE_TYPE_GRAPH)
		r = exec_update(x, n->content.graphs[0], g, &info);
	else
		r = CUDA_ERROR_INVALID_VALUE;
	pthread_mutex_unlock(&graph_lock);
	object_put(x);
	return r == CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE ? CUDA_ERROR_INVALID_VALUE : r;
}

/* ---- enabled and disabled ---- */

static bool node_can_be_disabled(const struct node *n)
{
	return node_type(n) == CU_GRAPH_NODE_TYPE_KERNEL || node_type(n) == CU_GRAPH_NODE_TYPE_MEMCPY ||
	       node_type(n) == CU_GRAPH_NODE_TYPE_MEMSET;
}

CUresult soft_cuGraphNodeSetEnabled(CUgraphExec exec, CUgraphNode node, unsigned int enabled)
{
	struct exec *x;
	CUresult r = exec_find(exec, &x);

	if (r)
		return r;
	pthread_mutex_lock(&graph_lock);
	struct node *n = exec_node(x, node);
	if (n && node_can_be_disabled(n)) {
		n->disabled = !enabled;
		r = exec_refresh(x, n);
	} else {
		r = CUDA_ERROR_INVALID_VALUE;
	}
	pthread_mutex_unlock(&graph_lock);
	object_put(x);
	return r;
}

CUresult soft_cuGraphNodeGetEnabled(CUgraphExec exec, CUgraphNode node, unsigned int *enabled)
{
	struct exec *x;
	CUresult r = enabled ? exec_find(exec, &x) : CUDA_ERROR_INVALID_VALUE;

	if (r)
		return r;
	pthread_mutex_lock(&graph_lock);
	struct node *n = exec_node(x, node);
	if (n && node_can_be_disabled(n))
		*enabled = !n->disabled;
	else
		r = CUDA_ERROR_INVALID_VALUE;
	pthread_mutex_unlock(&graph_lock);
	object_put(x);
	return r;
}

/* ---- entry points, one per type ---- */

CUresult soft_cuGraphExecNodeSetParams(CUgraphExec exec, CUgraphNode node, CUgraphNodeParams *p)
{
	if (!p)
		return CUDA_ERROR_INVALID_VALUE;
	if (p->type == CU_GRAPH_NODE_TYPE_GRAPH)
		return soft_cuGraphExecChildGraphNodeSetParams(exec, node, p->graph.graph);
	return exec_set_params(exec, node, p);
}

#define EXEC_SET(name, struct_, type_, member) \
	CUresult name(CUgraphExec exec, CUgraphNode node, const struct_ *params) \
	{ \
		CUgraphNodeParams p = {.type = type_}; \
\
		if (!params) \
			return CUDA_ERROR_INVALID_VALUE; \
		memcpy(&p.member, params, sizeof *params); \
		return exec_set_params(exec, node, &p); \
	}

EXEC_SET(soft_cuGraphExecKernelNodeSetParams, CUDA_KERNEL_NODE_PARAMS_v1, CU_GRAPH_NODE_TYPE_KERNEL, kernel)
EXEC_SET(soft_cuGraphExecKernelNodeSetParams_v2, CUDA_KERNEL_NODE_PARAMS, CU_GRAPH_NODE_TYPE_KERNEL, kernel)
EXEC_SET(soft_cuGraphExecHostNodeSetParams, CUDA_HOST_NODE_PARAMS, CU_GRAPH_NODE_TYPE_HOST, host)
EXEC_SET(soft_cuGraphExecBatchMemOpNodeSetParams, CUDA_BATCH_MEM_OP_NODE_PARAMS, CU_GRAPH_NODE_TYPE_BATCH_MEM_OP, memOp)
EXEC_SET(soft_cuGraphExecExternalSemaphoresSignalNodeSetParams, CUDA_EXT_SEM_SIGNAL_NODE_PARAMS,
	CU_GRAPH_NODE_TYPE_EXT_SEMAS_SIGNAL, extSemSignal)
EXEC_SET(soft_cuGraphExecExternalSemaphoresWaitNodeSetParams, CUDA_EXT_SEM_WAIT_NODE_PARAMS,
	CU_GRAPH_NODE_TYPE_EXT_SEMAS_WAIT, extSemWait)

CUresult soft_cuGraphExecMemcpyNodeSetParams(CUgraphExec exec, CUgraphNode node, const CUDA_MEMCPY3D *m, CUcontext ctx)
{
	CUgraphNodeParams p = {.type = CU_GRAPH_NODE_TYPE_MEMCPY};

	if (!m)
		return CUDA_ERROR_INVALID_VALUE;
	p.memcpy.copyParams = *m;
	p.memcpy.copyCtx = ctx;
	return exec_set_params(exec, node, &p);
}

CUresult soft_cuGraphExecMemsetNodeSetParams(
	CUgraphExec exec, CUgraphNode node, const CUDA_MEMSET_NODE_PARAMS *m, CUcontext ctx)
{
	CUgraphNodeParams p = {.type = CU_GRAPH_NODE_TYPE_MEMSET};

	if (!m)
		return CUDA_ERROR_INVALID_VALUE;
	memcpy(&p.memset, m, sizeof *m);
	p.memset.ctx = ctx;
	return exec_set_params(exec, node, &p);
}

CUresult soft_cuGraphExecEventRecordNodeSetEvent(CUgraphExec exec, CUgraphNode node, CUevent event)
{
	CUgraphNodeParams p = {.type = CU_GRAPH_NODE_TYPE_EVENT_RECORD};

	p.eventRecord.event = event;
	return exec_set_params(exec, node, &p);
}

CUresult soft_cuGraphExecEventWaitNodeSetEvent(CUgraphExec exec, CUgraphNode node, CUevent event)
{
	CUgraphNodeParams p = {.type = CU_GRAPH_NODE_TYPE_WAIT_EVENT};

	p.eventWait.event = event;
	return exec_set_params(exec, node, &p);
}
