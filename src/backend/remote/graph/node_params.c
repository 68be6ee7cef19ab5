/* Parameters of graph nodes, as the application reads them back; and the nodes that look like copies to it. */
#include <stdlib.h>
#include "backend/remote/code/code.h"
#include "backend/remote/graph/state.h"
#include "backend/remote/session/fetch.h"
#include "backend/remote/wait/callbacks.h"
#include "backend/remote/memory/memory.h"
#include "util/handle.h"

/*
 * Memory that a node's parameters point to.  The application holds pointers into it, and only the server knows how long the
 * node lives, so it lives as long as the client.  When the node's slot (util/handle.h) belongs to another node whose parameters are
 * read, that node uses the memory.
 */
struct param_storage {
	struct param_storage *older; /* smaller ones: the application may still look at them */
	size_t size;
	_Alignas(8) uint8_t bytes[];
};

struct node_record {
	struct map_node by_slot;
	uint64_t id;
	struct param_storage *values, *pointers;
	bool is_copy; /* to the application: the server has a child graph there */
	CUDA_MEMCPY3D copy;
};

/* The record of the node's slot, which may describe an earlier node.  Lock held. */
static struct node_record *node_record_find(uint64_t id)
{
	return (struct node_record *)map_find(&client->graph->nodes.records, handle_index(id));
}

/* The record of the node, created if there is none; NULL: no memory.  Lock held. */
static struct node_record *node_record_get(uint64_t id)
{
	struct node_record *n = node_record_find(id);

	if (!n && (n = calloc(1, sizeof *n))) {
		n->by_slot.key = handle_index(id);
		map_insert(&client->graph->nodes.records, &n->by_slot);
	}
	if (n && n->id != id) {
		n->id = id;
		n->is_copy = false;
	}
	return n;
}

/* Doubles at least: all older ones together are never larger than the newest. */
static void *param_storage_grow(struct param_storage **storage, size_t size)
{
	struct param_storage *old = *storage, *fresh;

	if (old && size <= old->size)
		return old->bytes;
	if (old && size < 2 * old->size)
		size = 2 * old->size;
	fresh = calloc(1, sizeof *fresh + size);
	if (!fresh)
		return NULL;
	fresh->older = old;
	fresh->size = size;
	*storage = fresh;
	return fresh->bytes;
}

/* The node's storage for `size` bytes and `count` pointers with a NULL behind them.  Lock held. */
static bool node_storage_get(uint64_t id, size_t size, unsigned count, uint8_t **bytes, void ***pointers)
{
	struct node_record *n = node_record_get(id);

	if (!n)
		return false;
	*bytes = param_storage_grow(&n->values, size + 8);
	*pointers = param_storage_grow(&n->pointers, (count + 1) * sizeof **pointers);
	if (*bytes && *pointers)
		(*pointers)[count] = NULL;
	return *bytes && *pointers;
}

static void param_storage_free(struct param_storage *p)
{
	while (p) {
		struct param_storage *older = p->older;
		free(p);
		p = older;
	}
}

void node_table_finish(struct node_table *t)
{
	struct node_record *n;

	while ((n = (struct node_record *)t->records.root)) {
		map_remove(&t->records, &n->by_slot);
		param_storage_free(n->values);
		param_storage_free(n->pointers);
		free(n);
	}
}

/* ---- nodes that look like copies ---- */

CUresult node_copy_set(uint64_t id, const CUDA_MEMCPY3D *p)
{
	struct node_record *n;

	pthread_mutex_lock(&client->graph->nodes.lock);
	n = node_record_get(id);
	if (n) {
		n->is_copy = true;
		n->copy = *p;
	}
	pthread_mutex_unlock(&client->graph->nodes.lock);
	return n ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

bool node_copy_find(uint64_t id, CUDA_MEMCPY3D *p)
{
	struct node_record *n;
	bool found;

	pthread_mutex_lock(&client->graph->nodes.lock);
	n = node_record_find(id);
	found = n && n->id == id && n->is_copy;
	if (found && p)
		*p = n->copy;
	pthread_mutex_unlock(&client->graph->nodes.lock);
	return found;
}

CUresult remote_cuGraphNodeGetType(CUgraphNode node, CUgraphNodeType *type)
{
	CUresult r = call_cuGraphNodeGetType(node, type); /* asked for a copy, too: the node may be gone */

	if (!r && type && node_copy_find((uintptr_t)node, NULL))
		*type = CU_GRAPH_NODE_TYPE_MEMCPY;
	return r;
}

CUresult remote_cuGraphChildGraphNodeGetGraph(CUgraphNode node, CUgraph *graph)
{
	return node_copy_find((uintptr_t)node, NULL) ? CUDA_ERROR_INVALID_VALUE
						     : call_cuGraphChildGraphNodeGetGraph(node, graph);
}

/* ---- parameters ---- */

/* Reads the parameters of a node of this type; `rest` (or NULL) is the caller's to free. */
static CUresult node_ask_params(
	CUgraphNode node, CUgraphNodeType type, struct wire_node *a, uint8_t **rest, size_t *size)
{
	struct wire_node_get get = {.node = (uintptr_t)node, .type = type};

	if (handle_kind((uintptr_t)node) != HANDLE_CUgraphNode)
		return CUDA_ERROR_INVALID_VALUE;
	return call_fetch(WIRE_NODE_GET, &get, sizeof get, NULL, 0, a, sizeof *a, rest, size);
}

static CUresult kernel_params_store(
	CUgraphNode node, const struct wire_kernel_node *k, const uint8_t *bytes, size_t size, void ***pointers)
{
	CUresult r;
	struct function *f = function_find((CUfunction)(uintptr_t)k->function, &r);
	uint8_t *values;
	bool stored;

	if (!f)
		return r;
	if (k->params > size || k->params > f->info->head.bytes)
		return client_reject_reply();
	pthread_mutex_lock(&client->graph->nodes.lock);
	stored = node_storage_get((uintptr_t)node, f->info->head.bytes, f->info->head.params, &values, pointers);
	if (stored) {
		memcpy(values, bytes, k->params);
		for (unsigned i = 0; i < f->info->head.params; i++)
			(*pointers)[i] = values + f->info->param[i].offset;
	}
	pthread_mutex_unlock(&client->graph->nodes.lock);
	return stored ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult remote_cuGraphKernelNodeGetParams_v2(CUgraphNode node, CUDA_KERNEL_NODE_PARAMS *p)
{
	const struct wire_kernel_node *k;
	void **pointers = NULL;
	struct wire_node a;
	uint8_t *rest;
	size_t size;
	CUresult r = p ? node_ask_params(node, CU_GRAPH_NODE_TYPE_KERNEL, &a, &rest, &size) : CUDA_ERROR_INVALID_VALUE;

	if (r)
		return r;
	k = &a.u.kernel;
	r = kernel_params_store(node, k, rest, size, &pointers);
	free(rest);
	if (r)
		return r;
	*p = (CUDA_KERNEL_NODE_PARAMS){
		.gridDimX = k->grid[0],
		.gridDimY = k->grid[1],
		.gridDimZ = k->grid[2],
		.blockDimX = k->block[0],
		.blockDimY = k->block[1],
		.blockDimZ = k->block[2],
		.sharedMemBytes = k->shared,
		.kernelParams = pointers,
		.ctx = (CUcontext)(uintptr_t)k->context,
	};
	if (handle_kind(k->function) == HANDLE_CUkernel)
		p->kern = (CUkernel)(uintptr_t)k->function;
	else
		p->func = (CUfunction)(uintptr_t)k->function;
	return CUDA_SUCCESS;
}

CUresult remote_cuGraphKernelNodeGetParams(CUgraphNode node, CUDA_KERNEL_NODE_PARAMS_v1 *p)
{
	CUDA_KERNEL_NODE_PARAMS wide;
	CUresult r = p ? remote_cuGraphKernelNodeGetParams_v2(node, &wide) : CUDA_ERROR_INVALID_VALUE;

	if (!r) {
		memcpy(p, &wide, sizeof *p);
		if (!p->func)
			p->func = (CUfunction)wide.kern; /* CUDA accepts a kernel as a function */
	}
	return r;
}

CUresult remote_cuGraphMemcpyNodeGetParams(CUgraphNode node, CUDA_MEMCPY3D *p)
{
	struct wire_node a;
	CUresult r;

	if (p && node_copy_find((uintptr_t)node, p))
		return CUDA_SUCCESS;
	r = p ? node_ask_params(node, CU_GRAPH_NODE_TYPE_MEMCPY, &a, NULL, NULL) : CUDA_ERROR_INVALID_VALUE;
	if (r)
		return r;
	/* copies of memory that the server cannot reach are known here: any other answer with such memory is a lie */
	if (!copy_side_reachable(a.u.copy.copy.srcMemoryType, a.u.copy.copy.srcHost, a.u.copy.copy.srcDevice) ||
		!copy_side_reachable(a.u.copy.copy.dstMemoryType, a.u.copy.copy.dstHost, a.u.copy.copy.dstDevice))
		return client_reject_reply();
	*p = a.u.copy.copy;
	p->srcArray = (CUarray)(uintptr_t)a.u.copy.source;
	p->dstArray = (CUarray)(uintptr_t)a.u.copy.target;
	return CUDA_SUCCESS;
}

CUresult remote_cuGraphHostNodeGetParams(CUgraphNode node, CUDA_HOST_NODE_PARAMS *p)
{
	struct wire_node a;
	CUresult r = p ? node_ask_params(node, CU_GRAPH_NODE_TYPE_HOST, &a, NULL, NULL) : CUDA_ERROR_INVALID_VALUE;

	if (r)
		return r;
	return callback_find(a.u.host.id, &p->fn, &p->userData) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

/* Stores the first `need` of the bytes that came. */
static CUresult params_store(CUgraphNode node, const uint8_t *bytes, size_t size, size_t need, uint8_t **stored_bytes)
{
	void **none;
	bool stored;

	if (need > size)
		return client_reject_reply();
	pthread_mutex_lock(&client->graph->nodes.lock);
	stored = node_storage_get((uintptr_t)node, need, 0, stored_bytes, &none);
	if (stored)
		memcpy(*stored_bytes, bytes, need);
	pthread_mutex_unlock(&client->graph->nodes.lock);
	return stored ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult remote_cuGraphMemAllocNodeGetParams(CUgraphNode node, CUDA_MEM_ALLOC_NODE_PARAMS *p)
{
	struct wire_node a;
	uint8_t *rest, *stored_bytes = NULL;
	size_t size, need;
	CUresult r =
		p ? node_ask_params(node, CU_GRAPH_NODE_TYPE_MEM_ALLOC, &a, &rest, &size) : CUDA_ERROR_INVALID_VALUE;

	if (r)
		return r;
	need = wire_bytes(a.u.alloc.access, sizeof *p->accessDescs);
	r = memory_place(a.node) == PLACE_DEVICE ? params_store(node, rest, size, need, &stored_bytes)
						 : client_reject_reply();
	free(rest);
	if (r)
		return r;
	*p = (CUDA_MEM_ALLOC_NODE_PARAMS){.poolProps = a.u.alloc.pool,
		.accessDescCount = a.u.alloc.access,
		.bytesize = a.u.alloc.bytes,
		.dptr = a.node};
	p->accessDescs = need ? (const CUmemAccessDesc *)stored_bytes : NULL;
	return CUDA_SUCCESS;
}

CUresult remote_cuGraphBatchMemOpNodeGetParams(CUgraphNode node, CUDA_BATCH_MEM_OP_NODE_PARAMS *p)
{
	struct wire_node a;
	uint8_t *rest, *stored_bytes = NULL;
	size_t size;
	CUresult r =
		p ? node_ask_params(node, CU_GRAPH_NODE_TYPE_BATCH_MEM_OP, &a, &rest, &size) : CUDA_ERROR_INVALID_VALUE;

	if (r)
		return r;
	r = params_store(node, rest, size, wire_bytes(a.u.memop.count, sizeof *p->paramArray), &stored_bytes);
	free(rest);
	if (r)
		return r;
	*p = (CUDA_BATCH_MEM_OP_NODE_PARAMS){.ctx = (CUcontext)(uintptr_t)a.u.memop.context,
		.count = a.u.memop.count,
		.paramArray = (CUstreamBatchMemOpParams *)stored_bytes,
		.flags = a.u.memop.flags};
	return CUDA_SUCCESS;
}

static CUresult node_attribute(
	CUgraphNode node, CUkernelNodeAttrID id, const CUkernelNodeAttrValue *in, CUkernelNodeAttrValue *out)
{
	struct wire_node_attribute a = {.node = (uintptr_t)node, .id = id, .set = in != NULL};
	CUkernelNodeAttrValue unused;

	if (in)
		a.value = *in;
	return call_sync(WIRE_NODE_ATTRIBUTE, &a, sizeof a, NULL, 0,
		&(struct wire_piece){out ? out : &unused, sizeof unused}, 1);
}

CUresult remote_cuGraphKernelNodeGetAttribute(CUgraphNode node, CUkernelNodeAttrID id, CUkernelNodeAttrValue *value)
{
	return value ? node_attribute(node, id, NULL, value) : CUDA_ERROR_INVALID_VALUE;
}

CUresult remote_cuGraphKernelNodeSetAttribute(
	CUgraphNode node, CUkernelNodeAttrID id, const CUkernelNodeAttrValue *value)
{
	return value ? node_attribute(node, id, value, NULL) : CUDA_ERROR_INVALID_VALUE;
}
