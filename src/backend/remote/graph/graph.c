/* What nodes were given, told back; and graphs as a whole. */
#include <stdio.h>
#include <stdlib.h>
#include "backend/remote/code/code.h"
#include "backend/remote/graph/graph.h"
#include "backend/remote/session/fetch.h"
#include "util/handle.h"

/*
 * What a node's parameters point to: stays where it is, for the application holds pointers to it and only the server
 * knows how long.  When a slot (util/handle.h) has another node, and that one is looked at, it holds that one's.
 */
struct room {
	struct room *older; /* smaller ones: somebody may still look at them */
	size_t size;
	_Alignas(8) uint8_t bytes[];
};

struct node {
	struct map_node at; /* key: the slot */
	uint64_t id;
	struct room *values, *pointers;
	bool copies; /* it is a copy, to the application: */
	CUDA_MEMCPY3D copy;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct map nodes;

static uint64_t slot_of(uint64_t id)
{
	return id >> 4 & 0xffffff;
}

static struct node *lookup(uint64_t id)
{
	return (struct node *)map_find(&nodes, slot_of(id));
}

static struct node *node_of(uint64_t id)
{
	struct node *n = lookup(id);

	if (!n && (n = calloc(1, sizeof *n))) {
		n->at.key = slot_of(id);
		map_insert(&nodes, &n->at);
	}
	if (n && n->id != id) {
		n->id = id;
		n->copies = false;
	}
	return n;
}

/* Twice what there was, at least: all that are older are no more than this one. */
static void *widen(struct room **r, size_t size)
{
	struct room *old = *r, *fresh;

	if (old && size <= old->size)
		return old->bytes;
	if (old && size < 2 * old->size)
		size = 2 * old->size;
	fresh = calloc(1, sizeof *fresh + size);
	if (!fresh)
		return NULL;
	fresh->older = old;
	fresh->size = size;
	*r = fresh;
	return fresh->bytes;
}

/* Room of the node's own for `size` bytes and `count` pointers, that end with NULL. */
static bool room(uint64_t id, size_t size, unsigned count, uint8_t **bytes, void ***pointers)
{
	struct node *n = node_of(id);

	if (!n)
		return false;
	*bytes = widen(&n->values, size + 8);
	*pointers = widen(&n->pointers, (count + 1) * sizeof **pointers);
	if (*bytes && *pointers)
		(*pointers)[count] = NULL;
	return *bytes && *pointers;
}

CUresult node_copy_set(uint64_t id, const CUDA_MEMCPY3D *p)
{
	struct node *n;

	pthread_mutex_lock(&lock);
	n = node_of(id);
	if (n) {
		n->copies = true;
		n->copy = *p;
	}
	pthread_mutex_unlock(&lock);
	return n ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

bool node_copy_find(uint64_t id, CUDA_MEMCPY3D *p)
{
	struct node *n;
	bool is;

	pthread_mutex_lock(&lock);
	n = lookup(id);
	is = n && n->id == id && n->copies;
	if (is && p)
		*p = n->copy;
	pthread_mutex_unlock(&lock);
	return is;
}

CUresult remote_cuGraphNodeGetType(CUgraphNode node, CUgraphNodeType *type)
{
	if (!type || !node_copy_find((uintptr_t)node, NULL))
		return call_cuGraphNodeGetType(node, type);
	CUresult r = call_cuGraphNodeGetType(node, type); /* it may be gone */
	if (!r)
		*type = CU_GRAPH_NODE_TYPE_MEMCPY;
	return r;
}

CUresult remote_cuGraphChildGraphNodeGetGraph(CUgraphNode node, CUgraph *graph)
{
	return node_copy_find((uintptr_t)node, NULL) ? CUDA_ERROR_INVALID_VALUE
						     : call_cuGraphChildGraphNodeGetGraph(node, graph);
}

/* How many there are is the server's word: memory is taken for as many as an answer can hold. */
CUresult graph_list_nodes(CUgraph graph, CUgraphNode **nodes, size_t *count)
{
	struct lane *lane = call_lane();
	CUresult r = call_cuGraphGetNodes(graph, NULL, count);

	*nodes = NULL;
	if (r || !*count)
		return r;
	if (*count > lane_payload_max(lane) / sizeof **nodes)
		return CUDA_ERROR_OUT_OF_MEMORY;
	*nodes = calloc(*count, sizeof **nodes);
	if (!*nodes)
		return CUDA_ERROR_OUT_OF_MEMORY;
	r = call_cuGraphGetNodes(graph, *nodes, count);
	if (r) {
		free(*nodes);
		*nodes = NULL;
	}
	return r;
}

/* What a clone's nodes are to the application. */
static void know_clone(CUgraph original, CUgraph clone)
{
	CUgraphNode *nodes, twin;
	CUDA_MEMCPY3D copy;
	size_t n = 0;

	if (graph_list_nodes(original, &nodes, &n))
		n = 0;
	for (size_t i = 0; i < n; i++)
		if (node_copy_find((uintptr_t)nodes[i], &copy) && !call_cuGraphNodeFindInClone(&twin, nodes[i], clone))
			node_copy_set((uintptr_t)twin, &copy);
	free(nodes);
}

CUresult remote_cuGraphClone(CUgraph *clone, CUgraph original)
{
	CUresult r = call_cuGraphClone(clone, original);

	if (!r)
		know_clone(original, *clone);
	return r;
}

static CUresult ask(CUgraphNode node, CUgraphNodeType type, struct wire_node *a, uint8_t **rest, size_t *size)
{
	struct wire_node_get get = {.node = (uintptr_t)node, .type = type};

	if (handle_kind((uintptr_t)node) != HANDLE_CUgraphNode)
		return CUDA_ERROR_INVALID_VALUE;
	return call_fetch(WIRE_NODE_GET, &get, sizeof get, NULL, 0, a, sizeof *a, rest, size);
}

static CUresult show_params(
	CUgraphNode node, const struct wire_kernel_node *k, const uint8_t *bytes, size_t size, void ***pointers)
{
	CUresult r;
	struct function *f = function_find((CUfunction)(uintptr_t)k->function, &r);
	uint8_t *values;
	bool fine;

	if (!f)
		return r;
	if (k->params > size || k->params > f->info->head.bytes)
		return call_nonsense();
	pthread_mutex_lock(&lock);
	fine = room((uintptr_t)node, f->info->head.bytes, f->info->head.params, &values, pointers);
	if (fine) {
		memcpy(values, bytes, k->params);
		for (unsigned i = 0; i < f->info->head.params; i++)
			(*pointers)[i] = values + f->info->param[i].offset;
	}
	pthread_mutex_unlock(&lock);
	return fine ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult remote_cuGraphKernelNodeGetParams_v2(CUgraphNode node, CUDA_KERNEL_NODE_PARAMS *p)
{
	const struct wire_kernel_node *k;
	void **pointers = NULL;
	struct wire_node a;
	uint8_t *rest;
	size_t size;
	CUresult r = p ? ask(node, CU_GRAPH_NODE_TYPE_KERNEL, &a, &rest, &size) : CUDA_ERROR_INVALID_VALUE;

	if (r)
		return r;
	k = &a.u.kernel;
	r = show_params(node, k, rest, size, &pointers);
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
			p->func = (CUfunction)wide.kern; /* as good as one */
	}
	return r;
}

static bool strange(CUmemorytype type, const void *host, CUdeviceptr device)
{
	if (type == CU_MEMORYTYPE_HOST)
		return !hostmem_shared(host, 1);
	return type == CU_MEMORYTYPE_UNIFIED && memory_place(device) == PLACE_HOST;
}

CUresult remote_cuGraphMemcpyNodeGetParams(CUgraphNode node, CUDA_MEMCPY3D *p)
{
	struct wire_node a;
	CUresult r;

	if (p && node_copy_find((uintptr_t)node, p))
		return CUDA_SUCCESS;
	r = p ? ask(node, CU_GRAPH_NODE_TYPE_MEMCPY, &a, NULL, NULL) : CUDA_ERROR_INVALID_VALUE;
	if (r)
		return r;
	/* a copy of the application's own memory is known here: the server names memory that it sees itself, or lies */
	if (strange(a.u.copy.copy.srcMemoryType, a.u.copy.copy.srcHost, a.u.copy.copy.srcDevice) ||
		strange(a.u.copy.copy.dstMemoryType, a.u.copy.copy.dstHost, a.u.copy.copy.dstDevice))
		return call_nonsense();
	*p = a.u.copy.copy;
	p->srcArray = (CUarray)(uintptr_t)a.u.copy.source;
	p->dstArray = (CUarray)(uintptr_t)a.u.copy.target;
	return CUDA_SUCCESS;
}

CUresult remote_cuGraphHostNodeGetParams(CUgraphNode node, CUDA_HOST_NODE_PARAMS *p)
{
	struct wire_node a;
	CUresult r = p ? ask(node, CU_GRAPH_NODE_TYPE_HOST, &a, NULL, NULL) : CUDA_ERROR_INVALID_VALUE;

	if (r)
		return r;
	return listen_known(a.u.host.id, &p->fn, &p->userData) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

/* `need` of the bytes that came, where they stay. */
static CUresult show(CUgraphNode node, const uint8_t *bytes, size_t size, size_t need, uint8_t **shown)
{
	void **none;
	bool fine;

	if (need > size)
		return call_nonsense();
	pthread_mutex_lock(&lock);
	fine = room((uintptr_t)node, need, 0, shown, &none);
	if (fine)
		memcpy(*shown, bytes, need);
	pthread_mutex_unlock(&lock);
	return fine ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult remote_cuGraphMemAllocNodeGetParams(CUgraphNode node, CUDA_MEM_ALLOC_NODE_PARAMS *p)
{
	struct wire_node a;
	uint8_t *rest, *shown = NULL;
	size_t size, need;
	CUresult r = p ? ask(node, CU_GRAPH_NODE_TYPE_MEM_ALLOC, &a, &rest, &size) : CUDA_ERROR_INVALID_VALUE;

	if (r)
		return r;
	need = wire_bytes(a.u.alloc.access, sizeof *p->accessDescs);
	r = memory_place(a.node) == PLACE_DEVICE ? show(node, rest, size, need, &shown) : call_nonsense();
	free(rest);
	if (r)
		return r;
	*p = (CUDA_MEM_ALLOC_NODE_PARAMS){.poolProps = a.u.alloc.pool,
		.accessDescCount = a.u.alloc.access,
		.bytesize = a.u.alloc.bytes,
		.dptr = a.node};
	p->accessDescs = need ? (const CUmemAccessDesc *)shown : NULL;
	return CUDA_SUCCESS;
}

CUresult remote_cuGraphBatchMemOpNodeGetParams(CUgraphNode node, CUDA_BATCH_MEM_OP_NODE_PARAMS *p)
{
	struct wire_node a;
	uint8_t *rest, *shown = NULL;
	size_t size;
	CUresult r = p ? ask(node, CU_GRAPH_NODE_TYPE_BATCH_MEM_OP, &a, &rest, &size) : CUDA_ERROR_INVALID_VALUE;

	if (r)
		return r;
	r = show(node, rest, size, wire_bytes(a.u.memop.count, sizeof *p->paramArray), &shown);
	free(rest);
	if (r)
		return r;
	*p = (CUDA_BATCH_MEM_OP_NODE_PARAMS){.ctx = (CUcontext)(uintptr_t)a.u.memop.context,
		.count = a.u.memop.count,
		.paramArray = (CUstreamBatchMemOpParams *)shown,
		.flags = a.u.memop.flags};
	return CUDA_SUCCESS;
}

static CUresult attribute(
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
	return value ? attribute(node, id, NULL, value) : CUDA_ERROR_INVALID_VALUE;
}

CUresult remote_cuGraphKernelNodeSetAttribute(
	CUgraphNode node, CUkernelNodeAttrID id, const CUkernelNodeAttrValue *value)
{
	return value ? attribute(node, id, value, NULL) : CUDA_ERROR_INVALID_VALUE;
}

/* ---- graphs as a whole ---- */

CUresult remote_cuGraphDebugDotPrint(CUgraph graph, const char *path, unsigned int flags)
{
	struct wire_dot a = {.graph = (uintptr_t)graph, .flags = flags};
	struct wire_dotted head = {.size = 1};
	CUresult r = CUDA_SUCCESS;
	FILE *f = NULL;
	uint8_t *rest;
	size_t size;

	if (!path)
		return CUDA_ERROR_INVALID_VALUE;
	while (!r && a.offset < head.size) {
		r = call_fetch(WIRE_DOT, &a, sizeof a, NULL, 0, &head, sizeof head, &rest, &size);
		if (r)
			break;
		if (!f && !(f = fopen(path, "we")))
			r = CUDA_ERROR_OPERATING_SYSTEM;
		else if (head.bytes > size || (!head.bytes && a.offset < head.size))
			r = call_nonsense();
		else if (fwrite(rest, 1, head.bytes, f) != head.bytes)
			r = CUDA_ERROR_OPERATING_SYSTEM;
		a.offset += head.bytes;
		free(rest);
	}
	if (f && fclose(f) && !r)
		r = CUDA_ERROR_OPERATING_SYSTEM;
	return r;
}
