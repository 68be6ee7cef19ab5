/* The content of nodes: made from the application's parameters, or from a captured command. */
#include "backend/soft/graph/graph.h"

#include <stdlib.h>
#include <string.h>

#include "backend/soft/copy/copy.h"
#include "backend/soft/stream/host_function.h"
#include "backend/soft/code/launch.h"
#include "backend/soft/stream/wait_value.h"
#include "backend/soft/memory/range.h"

/* ---- copies ---- */

static bool memory_is_array(CUmemorytype type)
{
	return type == CU_MEMORYTYPE_ARRAY;
}

static uint64_t linear_address(CUmemorytype type, const void *host, CUdeviceptr device, size_t x)
{
	return (type == CU_MEMORYTYPE_HOST ? (uintptr_t)host : device) + x;
}

/* Whether the copy is one row between linear memory. */
static bool copy_is_row(const CUDA_MEMCPY3D *m)
{
	return m->Height <= 1 && m->Depth <= 1 && !memory_is_array(m->srcMemoryType) &&
	       !memory_is_array(m->dstMemoryType) && !m->srcY && !m->dstY && !m->srcZ && !m->dstZ;
}

static CUresult call_copy(const CUDA_MEMCPY3D *m, CUstream stream)
{
	if (!m->WidthInBytes || !m->Height || !m->Depth)
		return CUDA_ERROR_INVALID_VALUE;
	if (!copy_is_row(m))
		return soft_cuMemcpy3DAsync_v2 ? soft_cuMemcpy3DAsync_v2(m, stream) : CUDA_ERROR_NOT_SUPPORTED;
	uint64_t dst = linear_address(m->dstMemoryType, m->dstHost, m->dstDevice, m->dstXInBytes);
	uint64_t src = linear_address(m->srcMemoryType, m->srcHost, m->srcDevice, m->srcXInBytes);
	bool to = m->dstMemoryType == CU_MEMORYTYPE_DEVICE, from = m->srcMemoryType == CU_MEMORYTYPE_DEVICE;
	if (to && from)
		return soft_cuMemcpyDtoDAsync_v2(dst, src, m->WidthInBytes, stream);
	if (to)
		return soft_cuMemcpyHtoDAsync_v2(dst, (void *)(uintptr_t)src, m->WidthInBytes, stream);
	if (from)
		return soft_cuMemcpyDtoHAsync_v2((void *)(uintptr_t)dst, src, m->WidthInBytes, stream);
	return soft_cuMemcpyAsync(dst, src, m->WidthInBytes, stream);
}

/* ---- sets ---- */

static CUresult call_memset(const CUDA_MEMSET_NODE_PARAMS_v2 *m, CUstream stream)
{
	if (!m->width || !m->height)
		return CUDA_ERROR_INVALID_VALUE;
	switch (m->elementSize) {
	case 1:
		return soft_cuMemsetD2D8Async(m->dst, m->pitch, m->value, m->width, m->height, stream);
	case 2:
		return soft_cuMemsetD2D16Async(m->dst, m->pitch, m->value, m->width, m->height, stream);
	case 4:
		return soft_cuMemsetD2D32Async(m->dst, m->pitch, m->value, m->width, m->height, stream);
	default:
		return CUDA_ERROR_INVALID_VALUE;
	}
}

/* ---- nodes that one call makes ---- */

static CUcontext *params_context(CUgraphNodeParams *p)
{
	switch (p->type) {
	case CU_GRAPH_NODE_TYPE_MEMCPY:
		return &p->memcpy.copyCtx;
	case CU_GRAPH_NODE_TYPE_MEMSET:
		return &p->memset.ctx;
	case CU_GRAPH_NODE_TYPE_BATCH_MEM_OP:
		return &p->memOp.ctx;
	default:
		return NULL;
	}
}

static CUresult call_entry_point(const CUgraphNodeParams *p, CUstream stream)
{
	switch (p->type) {
	case CU_GRAPH_NODE_TYPE_MEMCPY:
		return p->memcpy.flags ? CUDA_ERROR_INVALID_VALUE : call_copy(&p->memcpy.copyParams, stream);
	case CU_GRAPH_NODE_TYPE_MEMSET:
		return call_memset(&p->memset, stream);
	case CU_GRAPH_NODE_TYPE_HOST:
		return soft_cuLaunchHostFunc(stream, p->host.fn, p->host.userData);
	default:
		return soft_cuStreamBatchMemOp_v2(stream, p->memOp.count, p->memOp.paramArray, p->memOp.flags);
	}
}

static CUresult content_call(struct node_content *c)
{
	CUcontext *ctx = params_context(&c->params);
	struct collector b;
	CUresult r = collect_begin(&b, ctx ? *ctx : NULL);

	if (r)
		return r;
	if (ctx)
		*ctx = object_handle(CUcontext, b.ctx);
	return collect_end(&b, call_entry_point(&c->params, b.handle), &c->work);
}

static CUresult content_memops(struct node_content *c)
{
	CUDA_BATCH_MEM_OP_NODE_PARAMS_v2 *p = &c->params.memOp;
	CUresult r = p->count ? content_call(c) : CUDA_ERROR_INVALID_VALUE;

	if (r)
		return r;
	void *copy = malloc(p->count * sizeof *p->paramArray);
	if (!copy)
		return CUDA_ERROR_OUT_OF_MEMORY;
	memcpy(copy, p->paramArray, p->count * sizeof *p->paramArray);
	p->paramArray = c->work->owned = copy;
	return CUDA_SUCCESS;
}

static CUresult content_event(struct node_content *c, CUevent event)
{
	c->work = work_create();
	if (!c->work)
		return CUDA_ERROR_OUT_OF_MEMORY;
	c->work->event = object_find(event, KIND_EVENT);
	if (!c->work->event)
		return CUDA_ERROR_INVALID_HANDLE;
	if (c->params.type == CU_GRAPH_NODE_TYPE_EVENT_RECORD)
		capture_forget_event(c->work->event); /* from now on, the node records the event */
	return CUDA_SUCCESS;
}

/* The node gets a copy of the graph; moving the graph itself is not supported. */
static CUresult content_child(struct node_content *c)
{
	CUDA_CHILD_GRAPH_NODE_PARAMS *p = &c->params.graph;
	CUresult r = CUDA_SUCCESS;

	if (p->ownership != CU_GRAPH_CHILD_GRAPH_OWNERSHIP_CLONE)
		return p->ownership == CU_GRAPH_CHILD_GRAPH_OWNERSHIP_MOVE ? CUDA_ERROR_NOT_SUPPORTED
									   : CUDA_ERROR_INVALID_VALUE;
	c->graphs = calloc(1, sizeof *c->graphs);
	if (!c->graphs)
		return CUDA_ERROR_OUT_OF_MEMORY;
	pthread_mutex_lock(&graph_lock);
	struct graph *g = graph_find(p->graph);
	if (!g)
		r = CUDA_ERROR_INVALID_VALUE;
	else if (g->memory_nodes)
		r = CUDA_ERROR_NOT_SUPPORTED;
	else
		r = graph_copy(&c->graphs[0], g, true);
	if (!r) {
		c->ngraphs = 1;
		p->graph = object_handle(CUgraph, c->graphs[0]);
	}
	pthread_mutex_unlock(&graph_lock);
	return r;
}

static CUresult content_make_kind(
	struct node_content *c, CUgraphNodeParams *p, const struct kernel_attributes *attributes)
{
	switch (p->type) {
	case CU_GRAPH_NODE_TYPE_KERNEL:
		return content_kernel(c, attributes);
	case CU_GRAPH_NODE_TYPE_MEMCPY:
	case CU_GRAPH_NODE_TYPE_MEMSET:
		return content_call(c);
	case CU_GRAPH_NODE_TYPE_HOST:
		return c->params.host.fn ? content_call(c) : CUDA_ERROR_INVALID_VALUE;
	case CU_GRAPH_NODE_TYPE_GRAPH:
		return content_child(c);
	case CU_GRAPH_NODE_TYPE_EMPTY:
		return CUDA_SUCCESS;
	case CU_GRAPH_NODE_TYPE_WAIT_EVENT:
		return content_event(c, p->eventWait.event);
	case CU_GRAPH_NODE_TYPE_EVENT_RECORD:
		return content_event(c, p->eventRecord.event);
	case CU_GRAPH_NODE_TYPE_MEM_ALLOC:
		return content_alloc(c, p);
	case CU_GRAPH_NODE_TYPE_MEM_FREE:
		return content_free(c);
	case CU_GRAPH_NODE_TYPE_BATCH_MEM_OP:
		return content_memops(c);
	case CU_GRAPH_NODE_TYPE_CONDITIONAL:
		return content_conditional(c, p);
	case CU_GRAPH_NODE_TYPE_EXT_SEMAS_SIGNAL:
	case CU_GRAPH_NODE_TYPE_EXT_SEMAS_WAIT:
		return CUDA_ERROR_NOT_SUPPORTED; /* external semaphores are not supported */
	default:
		return CUDA_ERROR_INVALID_VALUE;
	}
}

CUresult content_make(struct node_content *c, CUgraphNodeParams *p, const struct kernel_attributes *attributes)
{
	memset(c, 0, sizeof *c);
	c->params = *p;
	CUresult r = content_make_kind(c, p, attributes);
	if (r) {
		struct user_object_list none = {NULL};

		content_finish(c, &none);
		user_objects_finish(&none);
	}
	return r;
}

CUresult content_copy(struct node_content *to, const struct node_content *from, bool named)
{
	*to = *from;
	to->attributes = NULL;
	to->graphs = NULL;
	to->ngraphs = 0;
	work_ref(to->work);
	CUresult r = CUDA_SUCCESS;
	if (from->attributes) {
		to->attributes = malloc(sizeof *to->attributes);
		if (to->attributes)
			*to->attributes = *from->attributes;
		else
			r = CUDA_ERROR_OUT_OF_MEMORY;
	}
	if (from->ngraphs && !(to->graphs = calloc(from->ngraphs, sizeof *to->graphs)))
		r = CUDA_ERROR_OUT_OF_MEMORY;
	for (; !r && to->ngraphs < from->ngraphs; to->ngraphs += !r)
		r = graph_copy(&to->graphs[to->ngraphs], from->graphs[to->ngraphs], named);
	if (!r && named && to->params.type == CU_GRAPH_NODE_TYPE_GRAPH)
		to->params.graph.graph = object_handle(CUgraph, to->graphs[0]);
	if (r) {
		struct user_object_list none = {NULL};

		content_finish(to, &none);
		user_objects_finish(&none); /* only decrements counts: the original holds references */
	}
	return r;
}

void content_finish(struct node_content *c, struct user_object_list *dead)
{
	for (unsigned i = 0; i < c->ngraphs; i++)
		graph_destroy(c->graphs[i], dead);
	free(c->graphs);
	free(c->attributes);
	work_put(c->work);
	memset(c, 0, sizeof *c);
}

/* ---- captured commands ---- */

static CUmemorytype address_memory_type(uint64_t addr, size_t size)
{
	return range_accessible(addr, size) ? CU_MEMORYTYPE_DEVICE : CU_MEMORYTYPE_HOST;
}

static void show_copy(struct node_content *c, const struct command *command)
{
	CUDA_MEMCPY3D *m = &c->params.memcpy.copyParams;
	const struct copy *p = command->data;

	c->params.memcpy.copyCtx = object_handle(CUcontext, command->ctx);
	if (command->ops != &command_copy) {
		c->opaque = !copy3d_params(command, m);
		return;
	}
	m->srcMemoryType = address_memory_type(p->src, p->size);
	m->dstMemoryType = address_memory_type(p->dst, p->size);
	m->srcHost = m->srcMemoryType == CU_MEMORYTYPE_HOST ? (void *)(uintptr_t)p->src : NULL;
	m->dstHost = m->dstMemoryType == CU_MEMORYTYPE_HOST ? (void *)(uintptr_t)p->dst : NULL;
	m->srcDevice = m->srcHost ? 0 : p->src;
	m->dstDevice = m->dstHost ? 0 : p->dst;
	m->WidthInBytes = p->size;
	m->Height = m->Depth = 1;
}

static void show_memset(struct node_content *c, const struct command *command)
{
	CUDA_MEMSET_NODE_PARAMS_v2 *m = &c->params.memset;
	const struct fill *s = command->data;

	c->opaque = command->ops != &command_fill;
	if (c->opaque)
		return;
	m->dst = s->dst;
	m->pitch = s->height > 1 ? s->pitch : s->width * s->element;
	m->value = s->value;
	m->elementSize = s->element;
	m->width = s->width;
	m->height = s->height;
	m->ctx = object_handle(CUcontext, command->ctx);
}

static void show_memops(struct node_content *c, const struct command *command)
{
	struct memops *m = command->data;

	c->params.memOp.ctx = object_handle(CUcontext, command->ctx);
	c->params.memOp.count = m->n;
	c->params.memOp.paramArray = m->ops;
}

/* cuStreamAddCallback has no node type, and CUDA forbids it during capture. */
static CUresult show_host(struct node_content *c, const struct command *command)
{
	const struct host_call *h = command->data;

	if (!h->fn)
		return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
	c->params.host.fn = h->fn;
	c->params.host.userData = h->arg;
	return CUDA_SUCCESS;
}

static CUresult content_show_command(struct node_content *c, const struct command *command)
{
	switch (command->ops->kind) {
	case COMMAND_LAUNCH:
		c->params.type = CU_GRAPH_NODE_TYPE_KERNEL;
		return content_show_kernel(c);
	case COMMAND_COPY:
		c->params.type = CU_GRAPH_NODE_TYPE_MEMCPY;
		show_copy(c, command);
		return CUDA_SUCCESS;
	case COMMAND_FILL:
		c->params.type = CU_GRAPH_NODE_TYPE_MEMSET;
		show_memset(c, command);
		return CUDA_SUCCESS;
	case COMMAND_HOST:
		c->params.type = CU_GRAPH_NODE_TYPE_HOST;
		return show_host(c, command);
	case COMMAND_MEMOP:
		c->params.type = CU_GRAPH_NODE_TYPE_BATCH_MEM_OP;
		show_memops(c, command);
		return CUDA_SUCCESS;
	case COMMAND_EMPTY:
		c->params.type = CU_GRAPH_NODE_TYPE_EMPTY;
		return CUDA_SUCCESS;
	default:
		return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
	}
}

CUresult content_capture(struct node_content *c, struct command *command)
{
	memset(c, 0, sizeof *c);
	c->work = work_create();
	if (!c->work) {
		command_destroy(command);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	object_ref(command->ctx);
	c->work->ctx = command->ctx;
	c->work->command = command;
	CUresult r = content_show_command(c, command);
	if (r) {
		struct user_object_list none = {NULL};

		content_finish(c, &none);
	}
	return r;
}
