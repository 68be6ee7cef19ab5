/* Adds and changes nodes of graphs, with parameters in the form of wire/graph.h. */
#include <stdlib.h>
#include "server/code/code.h"
#include "server/copy/copy.h"
#include "server/memory/hostmem.h"
#include "server/session/live_ranges.h"
#include "server/wait/callbacks.h"

/* May the client name this side of a copy?  Host memory must be shared, unified memory shared or the device's. */
static bool side_reachable(
	struct msg *m, CUmemorytype type, const void *host, CUdeviceptr device, uint64_t first, uint64_t bytes)
{
	uint64_t address = type == CU_MEMORYTYPE_HOST ? (uintptr_t)host : device;

	if (type == CU_MEMORYTYPE_DEVICE || type == CU_MEMORYTYPE_ARRAY || !bytes)
		return true;
	if (__builtin_add_overflow(address, first, &address))
		return false;
	if (hostmem_pageable(m->session, address))
		return false;
	if (!(type == CU_MEMORYTYPE_UNIFIED ? copy_reachable(m, address, bytes)
					    : hostmem_holds(m->session, address, bytes)))
		return false;
	live_check(m->session, address, bytes, "a side of a copy node");
	return true;
}

/* Replaces an offset in an arena by its address here.  False: the bytes are not all inside. */
static bool arena_address(struct msg *m, enum bulk which, const void **host, uint64_t first, uint64_t bytes)
{
	size_t room;
	uint8_t *base = bulk_base(m->session->link, which, &room);
	uint64_t offset = (uintptr_t)*host;

	if (offset > room || first > room - offset || bytes > room - offset - first)
		return false;
	*host = base + offset;
	return true;
}

static bool copy_source_in(struct msg *m, CUDA_MEMCPY3D *c, bool bulk)
{
	struct copy_rows s = {
		c->srcXInBytes, c->srcY, c->srcZ, c->srcPitch, c->srcHeight, c->WidthInBytes, c->Height, c->Depth};
	uint64_t first, size;

	if (!copy_extent(&s, &first, &size))
		return false;
	if (!bulk)
		return side_reachable(m, c->srcMemoryType, c->srcHost, c->srcDevice, first, size);
	c->srcMemoryType = CU_MEMORYTYPE_HOST;
	return arena_address(m, BULK_UP, &c->srcHost, first, size);
}

static bool copy_target_in(struct msg *m, CUDA_MEMCPY3D *c, bool bulk)
{
	struct copy_rows d = {
		c->dstXInBytes, c->dstY, c->dstZ, c->dstPitch, c->dstHeight, c->WidthInBytes, c->Height, c->Depth};
	uint64_t first, size;

	if (!copy_extent(&d, &first, &size))
		return false;
	if (!bulk)
		return side_reachable(m, c->dstMemoryType, c->dstHost, c->dstDevice, first, size);
	c->dstMemoryType = CU_MEMORYTYPE_HOST;
	return arena_address(m, BULK_DOWN, (const void **)&c->dstHost, first, size);
}

static void copy_node_in(struct msg *m, const struct wire_copy_node *w, CUDA_MEMCPY_NODE_PARAMS *p)
{
	CUDA_MEMCPY3D *c = &p->copyParams;

	*c = w->copy;
	c->srcArray = msg_handle(m, HANDLE_CUarray, w->source);
	c->dstArray = msg_handle(m, HANDLE_CUarray, w->target);
	p->copyCtx = msg_handle(m, HANDLE_CUcontext, w->context);
	if (!copy_source_in(m, c, w->bulk == WIRE_COPY_FROM_BULK) ||
		!copy_target_in(m, c, w->bulk == WIRE_COPY_TO_BULK))
		m->error = CUDA_ERROR_INVALID_VALUE;
}

/*
 * The argument of the host function lives as long as the session: no call reports that the last copy of a graph is
 * gone.
 */
static void host_node_in(struct msg *m, const struct wire_host_node *w, CUDA_HOST_NODE_PARAMS_v2 *p)
{
	*p = (CUDA_HOST_NODE_PARAMS_v2){callback_host_function, (void *)(uintptr_t)w->id};
	if (!m->session->callbacks)
		m->error = CUDA_ERROR_INVALID_VALUE;
	if (w->size)
		*p = (CUDA_HOST_NODE_PARAMS_v2){
			callback_host_function_piece, callback_piece_create(m, w->id, w->offset, w->size)};
}

/* Memory that the driver reads through pointers during the call. */
struct kernel_extra {
	void *extra[5];
	size_t size;
};

static void kernel_node_in(
	struct msg *m, const struct wire_kernel_node *w, CUDA_KERNEL_NODE_PARAMS_v3 *p, struct kernel_extra *kernel)
{
	void *params = msg_in(m, true, w->params);

	kernel->size = w->params;
	void *extra[] = {
		CU_LAUNCH_PARAM_BUFFER_POINTER,
		params,
		CU_LAUNCH_PARAM_BUFFER_SIZE,
		&kernel->size,
		CU_LAUNCH_PARAM_END,
	};
	memcpy(kernel->extra, extra, sizeof extra);
	*p = (CUDA_KERNEL_NODE_PARAMS_v3){
		.func = msg_handle(m, HANDLE_CUfunction, w->function),
		.gridDimX = w->grid[0],
		.gridDimY = w->grid[1],
		.gridDimZ = w->grid[2],
		.blockDimX = w->block[0],
		.blockDimY = w->block[1],
		.blockDimZ = w->block[2],
		.sharedMemBytes = w->shared,
		.extra = kernel->extra,
		.ctx = msg_handle(m, HANDLE_CUcontext, w->context),
	};
}

static void memset_node_in(struct msg *m, const struct wire_set_node *w, CUDA_MEMSET_NODE_PARAMS_v2 *p)
{
	memcpy(p, &w->set, sizeof w->set); /* the second form only adds the context */
	p->ctx = msg_handle(m, HANDLE_CUcontext, w->context);
}

static void alloc_node_in(struct msg *m, const struct wire_alloc_node *w, CUDA_MEM_ALLOC_NODE_PARAMS_v2 *p)
{
	*p = (CUDA_MEM_ALLOC_NODE_PARAMS_v2){.poolProps = w->pool, .bytesize = w->bytes, .accessDescCount = w->access};
	p->poolProps.win32SecurityAttributes = NULL;
	p->accessDescs = msg_in(m, w->access, wire_bytes(w->access, sizeof *p->accessDescs));
}

static void conditional_node_in(struct msg *m, const struct wire_branch_node *w, CUDA_CONDITIONAL_NODE_PARAMS *p)
{
	*p = (CUDA_CONDITIONAL_NODE_PARAMS){.handle = w->handle, .type = w->type, .size = w->size};
	p->ctx = msg_handle(m, HANDLE_CUcontext, w->context);
	if (w->size > WIRE_GRAPH_BODIES)
		m->error = CUDA_ERROR_NOT_SUPPORTED;
}

static void memop_node_in(struct msg *m, const struct wire_memop_node *w, CUDA_BATCH_MEM_OP_NODE_PARAMS_v2 *p)
{
	*p = (CUDA_BATCH_MEM_OP_NODE_PARAMS_v2){
		.ctx = msg_handle(m, HANDLE_CUcontext, w->context), .count = w->count, .flags = w->flags};
	p->paramArray = msg_in(m, w->count, wire_bytes(w->count, sizeof *p->paramArray));
}

static void node_params_in(struct msg *m, const struct wire_node *a, CUgraphNodeParams *p, struct kernel_extra *kernel)
{
	memset(p, 0, sizeof *p);
	p->type = a->type;
	switch (a->type) {
	case CU_GRAPH_NODE_TYPE_KERNEL:
		kernel_node_in(m, &a->u.kernel, &p->kernel, kernel);
		break;
	case CU_GRAPH_NODE_TYPE_MEMCPY:
		copy_node_in(m, &a->u.copy, &p->memcpy);
		break;
	case CU_GRAPH_NODE_TYPE_MEMSET:
		memset_node_in(m, &a->u.set, &p->memset);
		break;
	case CU_GRAPH_NODE_TYPE_HOST:
		host_node_in(m, &a->u.host, &p->host);
		break;
	case CU_GRAPH_NODE_TYPE_GRAPH:
		p->graph.graph = msg_handle(m, HANDLE_CUgraph, a->u.child);
		break;
	case CU_GRAPH_NODE_TYPE_EMPTY:
		break;
	case CU_GRAPH_NODE_TYPE_WAIT_EVENT:
		p->eventWait.event = msg_handle(m, HANDLE_CUevent, a->u.event);
		break;
	case CU_GRAPH_NODE_TYPE_EVENT_RECORD:
		p->eventRecord.event = msg_handle(m, HANDLE_CUevent, a->u.event);
		break;
	case CU_GRAPH_NODE_TYPE_MEM_ALLOC:
		alloc_node_in(m, &a->u.alloc, &p->alloc);
		break;
	case CU_GRAPH_NODE_TYPE_MEM_FREE:
		p->free.dptr = a->u.address;
		break;
	case CU_GRAPH_NODE_TYPE_BATCH_MEM_OP:
		memop_node_in(m, &a->u.memop, &p->memOp);
		break;
	case CU_GRAPH_NODE_TYPE_CONDITIONAL:
		conditional_node_in(m, &a->u.branch, &p->conditional);
		break;
	default:
		m->error = CUDA_ERROR_NOT_SUPPORTED;
	}
}

/* Uses the calls that every driver with graphs has, and cuGraphAddNode for newer kinds of nodes. */
static CUresult node_add(const struct cuda_ops *ops, CUgraphNode *node, CUgraph g, const CUgraphNode *deps,
	const CUgraphEdgeData *edges, size_t n, CUgraphNodeParams *p)
{
	if (edges)
		return ops->cuGraphAddNode_v2(node, g, deps, edges, n, p);
	switch (p->type) {
	case CU_GRAPH_NODE_TYPE_KERNEL:
		return ops->cuGraphAddKernelNode_v2(node, g, deps, n, (CUDA_KERNEL_NODE_PARAMS *)&p->kernel);
	case CU_GRAPH_NODE_TYPE_MEMCPY:
		return ops->cuGraphAddMemcpyNode(node, g, deps, n, &p->memcpy.copyParams, p->memcpy.copyCtx);
	case CU_GRAPH_NODE_TYPE_MEMSET:
		return ops->cuGraphAddMemsetNode(
			node, g, deps, n, (CUDA_MEMSET_NODE_PARAMS *)&p->memset, p->memset.ctx);
	case CU_GRAPH_NODE_TYPE_HOST:
		return ops->cuGraphAddHostNode(node, g, deps, n, (CUDA_HOST_NODE_PARAMS *)&p->host);
	case CU_GRAPH_NODE_TYPE_GRAPH:
		return ops->cuGraphAddChildGraphNode(node, g, deps, n, p->graph.graph);
	case CU_GRAPH_NODE_TYPE_EMPTY:
		return ops->cuGraphAddEmptyNode(node, g, deps, n);
	case CU_GRAPH_NODE_TYPE_WAIT_EVENT:
		return ops->cuGraphAddEventWaitNode(node, g, deps, n, p->eventWait.event);
	case CU_GRAPH_NODE_TYPE_EVENT_RECORD:
		return ops->cuGraphAddEventRecordNode(node, g, deps, n, p->eventRecord.event);
	case CU_GRAPH_NODE_TYPE_MEM_ALLOC:
		return ops->cuGraphAddMemAllocNode(node, g, deps, n, (CUDA_MEM_ALLOC_NODE_PARAMS *)&p->alloc);
	case CU_GRAPH_NODE_TYPE_MEM_FREE:
		return ops->cuGraphAddMemFreeNode(node, g, deps, n, p->free.dptr);
	case CU_GRAPH_NODE_TYPE_BATCH_MEM_OP:
		return ops->cuGraphAddBatchMemOpNode(node, g, deps, n, (CUDA_BATCH_MEM_OP_NODE_PARAMS *)&p->memOp);
	default:
		return ops->cuGraphAddNode(node, g, deps, n, p);
	}
}

static CUresult node_set_params(const struct cuda_ops *ops, CUgraphNode node, CUgraphNodeParams *p)
{
	switch (p->type) {
	case CU_GRAPH_NODE_TYPE_KERNEL:
		return ops->cuGraphKernelNodeSetParams_v2(node, (CUDA_KERNEL_NODE_PARAMS *)&p->kernel);
	case CU_GRAPH_NODE_TYPE_MEMCPY:
		return ops->cuGraphMemcpyNodeSetParams(node, &p->memcpy.copyParams);
	case CU_GRAPH_NODE_TYPE_MEMSET:
		return ops->cuGraphMemsetNodeSetParams(node, (CUDA_MEMSET_NODE_PARAMS *)&p->memset);
	case CU_GRAPH_NODE_TYPE_HOST:
		return ops->cuGraphHostNodeSetParams(node, (CUDA_HOST_NODE_PARAMS *)&p->host);
	case CU_GRAPH_NODE_TYPE_WAIT_EVENT:
		return ops->cuGraphEventWaitNodeSetEvent(node, p->eventWait.event);
	case CU_GRAPH_NODE_TYPE_EVENT_RECORD:
		return ops->cuGraphEventRecordNodeSetEvent(node, p->eventRecord.event);
	case CU_GRAPH_NODE_TYPE_BATCH_MEM_OP:
		return ops->cuGraphBatchMemOpNodeSetParams(node, (CUDA_BATCH_MEM_OP_NODE_PARAMS *)&p->memOp);
	default:
		return ops->cuGraphNodeSetParams(node, p);
	}
}

static CUresult exec_node_set_params(
	const struct cuda_ops *ops, CUgraphExec exec, CUgraphNode node, CUgraphNodeParams *p)
{
	switch (p->type) {
	case CU_GRAPH_NODE_TYPE_KERNEL:
		return ops->cuGraphExecKernelNodeSetParams_v2(exec, node, (CUDA_KERNEL_NODE_PARAMS *)&p->kernel);
	case CU_GRAPH_NODE_TYPE_MEMCPY:
		return ops->cuGraphExecMemcpyNodeSetParams(exec, node, &p->memcpy.copyParams, p->memcpy.copyCtx);
	case CU_GRAPH_NODE_TYPE_MEMSET:
		return ops->cuGraphExecMemsetNodeSetParams(
			exec, node, (CUDA_MEMSET_NODE_PARAMS *)&p->memset, p->memset.ctx);
	case CU_GRAPH_NODE_TYPE_HOST:
		return ops->cuGraphExecHostNodeSetParams(exec, node, (CUDA_HOST_NODE_PARAMS *)&p->host);
	case CU_GRAPH_NODE_TYPE_GRAPH:
		return ops->cuGraphExecChildGraphNodeSetParams(exec, node, p->graph.graph);
	case CU_GRAPH_NODE_TYPE_WAIT_EVENT:
		return ops->cuGraphExecEventWaitNodeSetEvent(exec, node, p->eventWait.event);
	case CU_GRAPH_NODE_TYPE_EVENT_RECORD:
		return ops->cuGraphExecEventRecordNodeSetEvent(exec, node, p->eventRecord.event);
	case CU_GRAPH_NODE_TYPE_BATCH_MEM_OP:
		return ops->cuGraphExecBatchMemOpNodeSetParams(exec, node, (CUDA_BATCH_MEM_OP_NODE_PARAMS *)&p->memOp);
	default:
		return ops->cuGraphExecNodeSetParams(exec, node, p);
	}
}

static void node_added_reply(struct msg *m, CUgraphNode node, const CUgraphNodeParams *p, struct wire_node_made *out)
{
	struct handles *h = m->session->handles;

	out->node = handles_give(h, HANDLE_CUgraphNode, node);
	if (p->type == CU_GRAPH_NODE_TYPE_MEM_ALLOC)
		out->address = p->alloc.dptr;
	if (p->type == CU_GRAPH_NODE_TYPE_CONDITIONAL && p->conditional.phGraph_out)
		for (unsigned i = 0; i < p->conditional.size; i++)
			out->bodies[i] = handles_give(h, HANDLE_CUgraph, p->conditional.phGraph_out[i]);
}

void serve_node(const struct cuda_ops *ops, struct msg *m)
{
	CUgraphNodeParams p;
	CUgraphNode made_node = NULL;
	struct wire_node a;
	struct kernel_extra kernel;

	msg_args(m, &a, sizeof a);
	bool exec = a.how == WIRE_NODE_EXEC_SET;
	void *graph = msg_handle(m, exec ? HANDLE_CUgraphExec : HANDLE_CUgraph, a.graph);
	CUgraphNode node = msg_handle(m, HANDLE_CUgraphNode, a.node);
	CUgraphNode *deps = msg_in_handles(m, a.dependencies, HANDLE_CUgraphNode, a.dependencies);
	CUgraphEdgeData *edges = msg_in(m, a.edges, wire_bytes(a.dependencies, sizeof *edges));
	struct wire_node_made *out = msg_out(m, true, sizeof *out);
	node_params_in(m, &a, &p, &kernel);
	if (a.how > WIRE_NODE_EXEC_SET)
		m->broken = true;
	if (msg_bad(m))
		return;
	if (a.how == WIRE_NODE_ADD)
		msg_result(m, node_add(ops, &made_node, graph, deps, edges, a.dependencies, &p));
	else
		msg_result(m, exec ? exec_node_set_params(ops, graph, node, &p) : node_set_params(ops, node, &p));
	if (!m->result && a.how == WIRE_NODE_ADD)
		node_added_reply(m, made_node, &p, out);
}
