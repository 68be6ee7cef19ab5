/* Adding nodes to graphs and changing them: parameters as they travel (wire/graph.h), with the data they point to. */
#include <stdlib.h>
#include "backend/remote/code/code.h"
#include "backend/remote/graph/graph.h"
#include "backend/remote/wait/callbacks.h"
#include "backend/remote/memory/memory.h"
#include "backend/remote/hostmem/hostmem.h"

CUresult node_send(
	const struct node_target *t, struct wire_node *a, const void *extra, size_t size, struct wire_node_made *made)
{
	struct wire_piece in[] = {
		{(void *)t->dependencies, t->count * sizeof *t->dependencies},
		{(void *)t->edges, t->edges ? t->count * sizeof *t->edges : 0},
		{(void *)extra, size},
	};

	if (t->count > UINT32_MAX || (t->count && !t->dependencies))
		return CUDA_ERROR_INVALID_VALUE;
	a->how = t->how;
	a->graph = t->graph;
	a->node = t->node;
	a->dependencies = t->count;
	a->edges = t->edges && t->count;
	return call_sync(WIRE_NODE, a, sizeof *a, in, 3, &(struct wire_piece){made, sizeof *made}, 1);
}

static CUresult node_put_kernel(
	const struct node_target *t, const CUDA_KERNEL_NODE_PARAMS_v3 *p, struct wire_node_made *made)
{
	CUresult r;
	struct function *f = function_find(p->func ? p->func : (CUfunction)p->kern, &r);
	struct wire_node a = {.type = CU_GRAPH_NODE_TYPE_KERNEL};
	uint8_t *bytes;

	if (!f)
		return r == CUDA_ERROR_INVALID_HANDLE ? CUDA_ERROR_INVALID_VALUE : r;
	a.u.kernel = (struct wire_kernel_node){
		.function = f->id,
		.context = (uintptr_t)p->ctx,
		.grid = {p->gridDimX, p->gridDimY, p->gridDimZ},
		.block = {p->blockDimX, p->blockDimY, p->blockDimZ},
		.shared = p->sharedMemBytes,
	};
	bytes = calloc(1, f->info->head.bytes + 1);
	if (!bytes)
		return CUDA_ERROR_OUT_OF_MEMORY;
	r = launch_pack(f->info, p->kernelParams, p->extra, bytes, &a.u.kernel.params)
		    ? node_send(t, &a, bytes, a.u.kernel.params, made)
		    : CUDA_ERROR_INVALID_VALUE;
	free(bytes);
	return r;
}

bool copy_side_reachable(CUmemorytype type, const void *host, CUdeviceptr device)
{
	if (type == CU_MEMORYTYPE_HOST)
		return hostmem_shared(host, 1);
	return type != CU_MEMORYTYPE_UNIFIED || memory_place(device) != PLACE_HOST;
}

static CUresult node_put_copy(
	const struct node_target *t, const CUDA_MEMCPY3D *c, CUcontext ctx, struct wire_node_made *made)
{
	struct wire_node a = {.type = CU_GRAPH_NODE_TYPE_MEMCPY};

	if (!copy_side_reachable(c->srcMemoryType, c->srcHost, c->srcDevice) ||
		!copy_side_reachable(c->dstMemoryType, c->dstHost, c->dstDevice) ||
		(t->how != WIRE_NODE_ADD && node_copy_find(t->node, NULL)))
		return copy_node_put(t, c, ctx, made);
	a.u.copy = (struct wire_copy_node){.copy = *c,
		.source = (uintptr_t)c->srcArray,
		.target = (uintptr_t)c->dstArray,
		.context = (uintptr_t)ctx};
	if (c->srcMemoryType != CU_MEMORYTYPE_ARRAY)
		a.u.copy.source = 0;
	if (c->dstMemoryType != CU_MEMORYTYPE_ARRAY)
		a.u.copy.target = 0;
	a.u.copy.copy.srcArray = a.u.copy.copy.dstArray = NULL;
	return node_send(t, &a, NULL, 0, made);
}

static CUresult node_put_memset(
	const struct node_target *t, const CUDA_MEMSET_NODE_PARAMS *p, CUcontext ctx, struct wire_node_made *made)
{
	struct wire_node a = {.type = CU_GRAPH_NODE_TYPE_MEMSET, .u.set = {*p, (uintptr_t)ctx}};

	return node_send(t, &a, NULL, 0, made);
}

static CUresult node_put_host(
	const struct node_target *t, const CUDA_HOST_NODE_PARAMS_v2 *p, struct wire_node_made *made)
{
	struct wire_node a = {.type = CU_GRAPH_NODE_TYPE_HOST};
	CUresult r;

	if (!p->fn)
		return CUDA_ERROR_INVALID_VALUE;
	r = callbacks_start();
	if (r)
		return r;
	a.u.host.id = callback_host(p->fn, p->userData, false);
	return a.u.host.id ? node_send(t, &a, NULL, 0, made) : CUDA_ERROR_OUT_OF_MEMORY;
}

static CUresult node_put_alloc(
	const struct node_target *t, CUDA_MEM_ALLOC_NODE_PARAMS_v2 *p, struct wire_node_made *made)
{
	struct wire_node a = {.type = CU_GRAPH_NODE_TYPE_MEM_ALLOC};
	CUresult r;

	if (p->accessDescCount > 1024 || (p->accessDescCount && !p->accessDescs))
		return CUDA_ERROR_INVALID_VALUE;
	a.u.alloc = (struct wire_alloc_node){.pool = p->poolProps, .bytes = p->bytesize, .access = p->accessDescCount};
	r = node_send(t, &a, p->accessDescs, p->accessDescCount * sizeof *p->accessDescs, made);
	if (r)
		return r;
	p->dptr = made->address;
	return memory_note(made->address, p->bytesize, RANGE_GRAPH);
}

static CUresult node_put_memop(
	const struct node_target *t, const CUDA_BATCH_MEM_OP_NODE_PARAMS_v2 *p, struct wire_node_made *made)
{
	struct wire_node a = {.type = CU_GRAPH_NODE_TYPE_BATCH_MEM_OP};

	if (p->count && !p->paramArray)
		return CUDA_ERROR_INVALID_VALUE;
	value_waits_note_graph(p->paramArray, p->count);
	a.u.memop = (struct wire_memop_node){(uintptr_t)p->ctx, p->count, p->flags};
	return node_send(t, &a, p->paramArray, wire_bytes(p->count, sizeof *p->paramArray), made);
}

/* The array of bodies is never freed: the application may look at it at any time. */
static CUresult node_put_conditional(
	const struct node_target *t, CUDA_CONDITIONAL_NODE_PARAMS *p, struct wire_node_made *made)
{
	struct wire_node a = {.type = CU_GRAPH_NODE_TYPE_CONDITIONAL};
	CUgraph *bodies;
	CUresult r;

	if (p->size > WIRE_GRAPH_BODIES)
		return CUDA_ERROR_NOT_SUPPORTED;
	bodies = calloc(p->size + 1, sizeof *bodies);
	if (!bodies)
		return CUDA_ERROR_OUT_OF_MEMORY;
	a.u.branch = (struct wire_branch_node){p->handle, (uintptr_t)p->ctx, p->type, p->size};
	r = node_send(t, &a, NULL, 0, made);
	if (r) {
		free(bodies);
		return r;
	}
	for (unsigned i = 0; i < p->size; i++)
		bodies[i] = (CUgraph)(uintptr_t)made->bodies[i];
	p->phGraph_out = bodies;
	return CUDA_SUCCESS;
}

/* A node whose only parameter is a handle or an address: all of them have the place of u.child. */
static CUresult node_put_value(
	const struct node_target *t, CUgraphNodeType type, uint64_t value, struct wire_node_made *made)
{
	struct wire_node a = {.type = type, .u.child = value};

	return node_send(t, &a, NULL, 0, made);
}

static bool node_params_reserved_zero(const CUgraphNodeParams *p)
{
	return !p->reserved0[0] && !p->reserved0[1] && !p->reserved0[2] && !p->reserved2;
}

static CUresult node_put(const struct node_target *t, CUgraphNodeParams *p, struct wire_node_made *made)
{
	if (!node_params_reserved_zero(p))
		return CUDA_ERROR_INVALID_VALUE;
	switch (p->type) {
	case CU_GRAPH_NODE_TYPE_KERNEL:
		return node_put_kernel(t, &p->kernel, made);
	case CU_GRAPH_NODE_TYPE_MEMCPY:
		return node_put_copy(t, &p->memcpy.copyParams, p->memcpy.copyCtx, made);
	case CU_GRAPH_NODE_TYPE_MEMSET:
		return node_put_memset(t, (CUDA_MEMSET_NODE_PARAMS *)&p->memset, p->memset.ctx, made);
	case CU_GRAPH_NODE_TYPE_HOST:
		return node_put_host(t, &p->host, made);
	case CU_GRAPH_NODE_TYPE_GRAPH:
		if (p->graph.ownership)
			return CUDA_ERROR_NOT_SUPPORTED;
		return node_put_value(t, p->type, (uintptr_t)p->graph.graph, made);
	case CU_GRAPH_NODE_TYPE_WAIT_EVENT:
	case CU_GRAPH_NODE_TYPE_EVENT_RECORD:
		event_set_foreign(p->eventRecord.event);
		return node_put_value(t, p->type, (uintptr_t)p->eventRecord.event, made);
	case CU_GRAPH_NODE_TYPE_EMPTY:
		return node_put_value(t, p->type, 0, made);
	case CU_GRAPH_NODE_TYPE_MEM_ALLOC:
		return node_put_alloc(t, &p->alloc, made);
	case CU_GRAPH_NODE_TYPE_MEM_FREE:
		return node_put_value(t, p->type, p->free.dptr, made);
	case CU_GRAPH_NODE_TYPE_BATCH_MEM_OP:
		return node_put_memop(t, &p->memOp, made);
	case CU_GRAPH_NODE_TYPE_CONDITIONAL:
		return node_put_conditional(t, &p->conditional, made);
	case CU_GRAPH_NODE_TYPE_EXT_SEMAS_SIGNAL:
	case CU_GRAPH_NODE_TYPE_EXT_SEMAS_WAIT:
		return CUDA_ERROR_NOT_SUPPORTED;
	default:
		return CUDA_ERROR_INVALID_VALUE;
	}
}

/* ---- new nodes ---- */

static CUresult node_added(CUresult r, const struct wire_node_made *made, CUgraphNode *node)
{
	if (!r)
		*node = (CUgraphNode)(uintptr_t)made->node;
	return r;
}

#define TARGET_ADD(graph, deps, edges, n) {WIRE_NODE_ADD, (uintptr_t)(graph), 0, deps, edges, n}

CUresult remote_cuGraphAddKernelNode_v2(
	CUgraphNode *node, CUgraph graph, const CUgraphNode *deps, size_t n, const CUDA_KERNEL_NODE_PARAMS *p)
{
	struct node_target t = TARGET_ADD(graph, deps, NULL, n);
	struct wire_node_made made;

	if (!node || !p)
		return CUDA_ERROR_INVALID_VALUE;
	return node_added(node_put_kernel(&t, (const CUDA_KERNEL_NODE_PARAMS_v3 *)p, &made), &made, node);
}

static CUDA_KERNEL_NODE_PARAMS kernel_params_widen(const CUDA_KERNEL_NODE_PARAMS_v1 *p)
{
	CUDA_KERNEL_NODE_PARAMS wide = {0};

	memcpy(&wide, p, sizeof *p); /* the newer struct only adds fields at the end */
	return wide;
}

CUresult remote_cuGraphAddKernelNode(
	CUgraphNode *node, CUgraph graph, const CUgraphNode *deps, size_t n, const CUDA_KERNEL_NODE_PARAMS_v1 *p)
{
	CUDA_KERNEL_NODE_PARAMS wide;

	if (!p)
		return CUDA_ERROR_INVALID_VALUE;
	wide = kernel_params_widen(p);
	return remote_cuGraphAddKernelNode_v2(node, graph, deps, n, &wide);
}

CUresult remote_cuGraphAddMemcpyNode(
	CUgraphNode *node, CUgraph graph, const CUgraphNode *deps, size_t n, const CUDA_MEMCPY3D *p, CUcontext ctx)
{
	struct node_target t = TARGET_ADD(graph, deps, NULL, n);
	struct wire_node_made made;

	if (!node || !p)
		return CUDA_ERROR_INVALID_VALUE;
	return node_added(node_put_copy(&t, p, ctx, &made), &made, node);
}

CUresult remote_cuGraphAddHostNode(
	CUgraphNode *node, CUgraph graph, const CUgraphNode *deps, size_t n, const CUDA_HOST_NODE_PARAMS *p)
{
	struct node_target t = TARGET_ADD(graph, deps, NULL, n);
	struct wire_node_made made;

	if (!node || !p)
		return CUDA_ERROR_INVALID_VALUE;
	return node_added(node_put_host(&t, (const CUDA_HOST_NODE_PARAMS_v2 *)p, &made), &made, node);
}

CUresult remote_cuGraphAddMemAllocNode(
	CUgraphNode *node, CUgraph graph, const CUgraphNode *deps, size_t n, CUDA_MEM_ALLOC_NODE_PARAMS *p)
{
	struct node_target t = TARGET_ADD(graph, deps, NULL, n);
	struct wire_node_made made;

	if (!node || !p)
		return CUDA_ERROR_INVALID_VALUE;
	return node_added(node_put_alloc(&t, (CUDA_MEM_ALLOC_NODE_PARAMS_v2 *)p, &made), &made, node);
}

CUresult remote_cuGraphAddBatchMemOpNode(
	CUgraphNode *node, CUgraph graph, const CUgraphNode *deps, size_t n, const CUDA_BATCH_MEM_OP_NODE_PARAMS *p)
{
	struct node_target t = TARGET_ADD(graph, deps, NULL, n);
	struct wire_node_made made;

	if (!node || !p)
		return CUDA_ERROR_INVALID_VALUE;
	return node_added(node_put_memop(&t, (const CUDA_BATCH_MEM_OP_NODE_PARAMS_v2 *)p, &made), &made, node);
}

CUresult remote_cuGraphAddEventRecordNode(
	CUgraphNode *node, CUgraph graph, const CUgraphNode *deps, size_t n, CUevent event)
{
	event_set_foreign(event);
	return call_cuGraphAddEventRecordNode(node, graph, deps, n, event);
}

CUresult remote_cuGraphAddNode_v2(CUgraphNode *node, CUgraph graph, const CUgraphNode *deps,
	const CUgraphEdgeData *edges, size_t n, CUgraphNodeParams *p)
{
	struct node_target t = TARGET_ADD(graph, deps, edges, n);
	struct wire_node_made made;

	if (!node || !p)
		return CUDA_ERROR_INVALID_VALUE;
	return node_added(node_put(&t, p, &made), &made, node);
}

CUresult remote_cuGraphAddNode(
	CUgraphNode *node, CUgraph graph, const CUgraphNode *deps, size_t n, CUgraphNodeParams *p)
{
	return remote_cuGraphAddNode_v2(node, graph, deps, NULL, n, p);
}

/* ---- changes of nodes ---- */

static struct node_target target_node(CUgraphNode node)
{
	return (struct node_target){.how = WIRE_NODE_SET, .node = (uintptr_t)node};
}

static struct node_target target_exec_node(CUgraphExec exec, CUgraphNode node)
{
	return (struct node_target){.how = WIRE_NODE_EXEC_SET, .graph = (uintptr_t)exec, .node = (uintptr_t)node};
}

CUresult remote_cuGraphKernelNodeSetParams_v2(CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS *p)
{
	struct node_target t = target_node(node);
	struct wire_node_made made;

	return p ? node_put_kernel(&t, (const CUDA_KERNEL_NODE_PARAMS_v3 *)p, &made) : CUDA_ERROR_INVALID_VALUE;
}

CUresult remote_cuGraphKernelNodeSetParams(CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS_v1 *p)
{
	CUDA_KERNEL_NODE_PARAMS wide;

	if (!p)
		return CUDA_ERROR_INVALID_VALUE;
	wide = kernel_params_widen(p);
	return remote_cuGraphKernelNodeSetParams_v2(node, &wide);
}

CUresult remote_cuGraphExecKernelNodeSetParams_v2(CUgraphExec exec, CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS *p)
{
	struct node_target t = target_exec_node(exec, node);
	struct wire_node_made made;

	return p ? node_put_kernel(&t, (const CUDA_KERNEL_NODE_PARAMS_v3 *)p, &made) : CUDA_ERROR_INVALID_VALUE;
}

CUresult remote_cuGraphExecKernelNodeSetParams(CUgraphExec exec, CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS_v1 *p)
{
	CUDA_KERNEL_NODE_PARAMS wide;

	if (!p)
		return CUDA_ERROR_INVALID_VALUE;
	wide = kernel_params_widen(p);
	return remote_cuGraphExecKernelNodeSetParams_v2(exec, node, &wide);
}

CUresult remote_cuGraphMemcpyNodeSetParams(CUgraphNode node, const CUDA_MEMCPY3D *p)
{
	struct node_target t = target_node(node);
	struct wire_node_made made;

	return p ? node_put_copy(&t, p, NULL, &made) : CUDA_ERROR_INVALID_VALUE;
}

CUresult remote_cuGraphExecMemcpyNodeSetParams(
	CUgraphExec exec, CUgraphNode node, const CUDA_MEMCPY3D *p, CUcontext ctx)
{
	struct node_target t = target_exec_node(exec, node);
	struct wire_node_made made;

	return p ? node_put_copy(&t, p, ctx, &made) : CUDA_ERROR_INVALID_VALUE;
}

CUresult remote_cuGraphHostNodeSetParams(CUgraphNode node, const CUDA_HOST_NODE_PARAMS *p)
{
	struct node_target t = target_node(node);
	struct wire_node_made made;

	return p ? node_put_host(&t, (const CUDA_HOST_NODE_PARAMS_v2 *)p, &made) : CUDA_ERROR_INVALID_VALUE;
}

CUresult remote_cuGraphExecHostNodeSetParams(CUgraphExec exec, CUgraphNode node, const CUDA_HOST_NODE_PARAMS *p)
{
	struct node_target t = target_exec_node(exec, node);
	struct wire_node_made made;

	return p ? node_put_host(&t, (const CUDA_HOST_NODE_PARAMS_v2 *)p, &made) : CUDA_ERROR_INVALID_VALUE;
}

CUresult remote_cuGraphBatchMemOpNodeSetParams(CUgraphNode node, const CUDA_BATCH_MEM_OP_NODE_PARAMS *p)
{
	struct node_target t = target_node(node);
	struct wire_node_made made;

	return p ? node_put_memop(&t, (const CUDA_BATCH_MEM_OP_NODE_PARAMS_v2 *)p, &made) : CUDA_ERROR_INVALID_VALUE;
}

CUresult remote_cuGraphExecBatchMemOpNodeSetParams(
	CUgraphExec exec, CUgraphNode node, const CUDA_BATCH_MEM_OP_NODE_PARAMS *p)
{
	struct node_target t = target_exec_node(exec, node);
	struct wire_node_made made;

	return p ? node_put_memop(&t, (const CUDA_BATCH_MEM_OP_NODE_PARAMS_v2 *)p, &made) : CUDA_ERROR_INVALID_VALUE;
}

CUresult remote_cuGraphNodeSetParams(CUgraphNode node, CUgraphNodeParams *p)
{
	struct node_target t = target_node(node);
	struct wire_node_made made;

	return p ? node_put(&t, p, &made) : CUDA_ERROR_INVALID_VALUE;
}

CUresult remote_cuGraphExecNodeSetParams(CUgraphExec exec, CUgraphNode node, CUgraphNodeParams *p)
{
	struct node_target t = target_exec_node(exec, node);
	struct wire_node_made made;

	return p ? node_put(&t, p, &made) : CUDA_ERROR_INVALID_VALUE;
}
