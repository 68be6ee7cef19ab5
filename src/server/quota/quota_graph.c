/*
 * Memory that graphs allocate when they run.  The need of a graph is known when it is instantiated: all that its
 * nodes allocate.  It counts from the first launch on, because the driver keeps the memory, until the graph is
 * destroyed or the driver has given memory back.  Two graphs that could share memory both count until then.
 */
#include <stdlib.h>
#include "server/quota/account.h"
#include "server/quota/quota.h"
#include "wire/graph.h"

struct graph_need {
	uint64_t bytes[STATS_DEVICES];
	bool any; /* the graph allocates */
};

/* An executable graph that allocates. */
struct graph_exec {
	struct map_node node; /* key: the CUgraphExec */
	struct graph_need need;
	uint64_t counted[STATS_DEVICES]; /* the round in which it was counted, plus 1; 0: never */
};

static struct graph_exec *exec_find(struct account *a, CUgraphExec handle)
{
	return (struct graph_exec *)map_find(&a->graph_execs, (uintptr_t)handle);
}

/* ---- The need of a graph ---- */

static CUresult graph_need_add(struct account *a, CUgraph graph, struct graph_need *need, int depth);

static CUresult node_need_add(struct account *a, CUgraphNode node, struct graph_need *need, int depth)
{
	CUgraphNodeType type = CU_GRAPH_NODE_TYPE_EMPTY;
	CUDA_MEM_ALLOC_NODE_PARAMS p;
	CUgraph child;
	CUresult r = a->real.cuGraphNodeGetType(node, &type);

	if (!r && type == CU_GRAPH_NODE_TYPE_GRAPH && !(r = a->real.cuGraphChildGraphNodeGetGraph(node, &child)))
		return graph_need_add(a, child, need, depth + 1);
	if (r || type != CU_GRAPH_NODE_TYPE_MEM_ALLOC || (r = a->real.cuGraphMemAllocNodeGetParams(node, &p)))
		return r;
	int device = p.poolProps.location.id;
	if (p.poolProps.location.type != CU_MEM_LOCATION_TYPE_DEVICE || device < 0 || device >= STATS_DEVICES)
		return CUDA_SUCCESS;
	need->any = true;
	return __builtin_add_overflow(need->bytes[device], p.bytesize, &need->bytes[device]) ? CUDA_ERROR_OUT_OF_MEMORY
											     : CUDA_SUCCESS;
}

static CUresult graph_need_add(struct account *a, CUgraph graph, struct graph_need *need, int depth)
{
	CUgraphNode *nodes;
	size_t n = 0;
	CUresult r = depth > WIRE_GRAPH_DEPTH ? CUDA_ERROR_NOT_SUPPORTED : a->real.cuGraphGetNodes(graph, NULL, &n);

	if (r || !n)
		return r;
	nodes = calloc(n, sizeof *nodes);
	r = nodes ? a->real.cuGraphGetNodes(graph, nodes, &n) : CUDA_ERROR_OUT_OF_MEMORY;
	for (size_t i = 0; i < n && !r; i++)
		r = node_need_add(a, nodes[i], need, depth);
	free(nodes);
	return r;
}

/* ---- Counting ---- */

static bool exec_is_counted(struct account *a, const struct graph_exec *x, int device)
{
	return x->counted[device] == a->graphs[device].round + 1;
}

static void exec_uncount(struct account *a, struct graph_exec *x)
{
	for (int i = 0; i < STATS_DEVICES; i++) {
		if (!exec_is_counted(a, x, i))
			continue;
		account_hold(a, &a->stats->device[i], -(int64_t)x->need.bytes[i]);
		a->graphs[i].counted -= x->need.bytes[i];
		x->counted[i] = 0;
	}
}

static CUresult need_room(struct account *a, const struct graph_need *need, const struct graph_exec *x)
{
	CUresult r = CUDA_SUCCESS;

	for (int i = 0; i < STATS_DEVICES && !r; i++)
		if (need->bytes[i] && !(x && exec_is_counted(a, x, i)))
			r = quota_room(a, &a->stats->device[i], need->bytes[i]);
	return r;
}

static CUresult exec_count(struct account *a, struct graph_exec *x)
{
	CUresult r = need_room(a, &x->need, x);

	for (int i = 0; i < STATS_DEVICES && !r; i++) {
		if (!x->need.bytes[i] || exec_is_counted(a, x, i))
			continue;
		account_hold(a, &a->stats->device[i], (int64_t)x->need.bytes[i]);
		a->graphs[i].counted += x->need.bytes[i];
		a->graphs[i].asked = true;
		x->counted[i] = a->graphs[i].round + 1;
	}
	return r;
}

/* Bytes that the driver keeps for graphs. */
static uint64_t driver_keeps(struct account *a, unsigned device)
{
	cuuint64_t bytes = 0;
	CUresult r =
		a->real.cuDeviceGetGraphMemAttribute((CUdevice)device, CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT, &bytes);

	return r ? 0 : bytes;
}

uint64_t quota_graphs_keep(struct account *a, const struct stats_device *d)
{
	unsigned device = account_device_number(a, d);
	uint64_t bytes = a->graphs[device].asked ? driver_keeps(a, device) : 0;

	return bytes > a->graphs[device].counted ? bytes - a->graphs[device].counted : 0;
}

/* If the driver has given memory back: only what it still keeps counts from now on, until graphs are launched again. */
static void device_settle(struct account *a, unsigned device)
{
	if (!a->graphs[device].counted || driver_keeps(a, device) >= a->graphs[device].counted)
		return;
	account_hold(a, &a->stats->device[device], -(int64_t)a->graphs[device].counted);
	a->graphs[device].counted = 0;
	a->graphs[device].round++;
}

void quota_graphs_settle(struct account *a)
{
	for (unsigned i = 0; i < STATS_DEVICES; i++)
		device_settle(a, i);
}

void quota_graphs_trim(struct account *a, const struct stats_device *d)
{
	unsigned device = account_device_number(a, d);

	if (!a->graphs[device].asked)
		return;
	a->real.cuDeviceGraphMemTrim((CUdevice)device);
	device_settle(a, device);
}

/* ---- Instantiating ---- */

static CUresult exec_keep(struct account *a, CUgraphExec handle, const struct graph_need *need)
{
	struct graph_exec *x = exec_find(a, handle);

	if (x) { /* the handle of a graph that ended with its context */
		exec_uncount(a, x);
	} else {
		x = calloc(1, sizeof *x);
		if (!x)
			return CUDA_ERROR_OUT_OF_MEMORY;
		x->node.key = (uintptr_t)handle;
		map_insert(&a->graph_execs, &x->node);
	}
	x->need = *need;
	return CUDA_SUCCESS;
}

static CUresult exec_instantiated(
	struct account *a, CUresult r, CUgraphExec *handle, const struct graph_need *need, bool uploaded)
{
	struct graph_exec *old = r ? NULL : exec_find(a, *handle);

	if (!r && !need->any && old) {
		exec_uncount(a, old);
		map_remove(&a->graph_execs, &old->node);
		free(old);
	}
	if (r || !need->any)
		return r;
	r = exec_keep(a, *handle, need);
	if (!r && uploaded)
		r = exec_count(a, exec_find(a, *handle));
	if (r)
		a->real.cuGraphExecDestroy(*handle);
	return r;
}

static CUresult graph_instantiate(CUgraphExec *exec, CUgraph graph, CUgraphNode *node, char *log, size_t size)
{
	struct account *a = worker_account();
	struct graph_need need = {0};
	CUresult r = graph_need_add(a, graph, &need, 0);

	return r ? r
		 : exec_instantiated(
			   a, a->real.cuGraphInstantiate_v2(exec, graph, node, log, size), exec, &need, false);
}

static CUresult graph_instantiate_flags(CUgraphExec *exec, CUgraph graph, unsigned long long flags)
{
	struct account *a = worker_account();
	struct graph_need need = {0};
	bool uploads = flags & CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD;
	CUresult r = graph_need_add(a, graph, &need, 0);

	if (!r && uploads)
		r = need_room(a, &need, NULL);
	return r ? r
		 : exec_instantiated(a, a->real.cuGraphInstantiateWithFlags(exec, graph, flags), exec, &need, uploads);
}

static CUresult graph_instantiate_params(CUgraphExec *exec, CUgraph graph, CUDA_GRAPH_INSTANTIATE_PARAMS *p)
{
	struct account *a = worker_account();
	struct graph_need need = {0};
	bool uploads = p->flags & CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD;
	CUresult r = graph_need_add(a, graph, &need, 0);

	if (!r && uploads)
		r = need_room(a, &need, NULL);
	return r ? r : exec_instantiated(a, a->real.cuGraphInstantiateWithParams(exec, graph, p), exec, &need, uploads);
}

/* ---- Launching and destroying ---- */

static CUresult graph_launch(CUgraphExec handle, CUstream stream)
{
	struct account *a = worker_account();
	struct graph_exec *x = exec_find(a, handle);
	CUresult r = x ? exec_count(a, x) : CUDA_SUCCESS;

	return r ? r : a->real.cuGraphLaunch(handle, stream);
}

static CUresult graph_upload(CUgraphExec handle, CUstream stream)
{
	struct account *a = worker_account();
	struct graph_exec *x = exec_find(a, handle);
	CUresult r = x ? exec_count(a, x) : CUDA_SUCCESS;

	return r ? r : a->real.cuGraphUpload(handle, stream);
}

static CUresult graph_exec_destroy(CUgraphExec handle)
{
	struct account *a = worker_account();
	CUresult r = a->real.cuGraphExecDestroy(handle);
	struct graph_exec *x = r ? NULL : exec_find(a, handle);

	if (!x)
		return r;
	exec_uncount(a, x);
	map_remove(&a->graph_execs, &x->node);
	free(x);
	return r;
}

/* An update keeps the kinds of nodes: a graph that allocates does so before and after. */
static CUresult graph_exec_update(CUgraphExec handle, CUgraph graph, CUgraphExecUpdateResultInfo *info)
{
	struct account *a = worker_account();
	CUresult r = a->real.cuGraphExecUpdate_v2(handle, graph, info);
	struct graph_need need = {0};

	if (r || !exec_find(a, handle))
		return r;
	r = graph_need_add(a, graph, &need, 0);
	return r ? r : exec_keep(a, handle, &need);
}

static CUresult graph_mem_trim(CUdevice device)
{
	struct account *a = worker_account();
	CUresult r = a->real.cuDeviceGraphMemTrim(device);

	if (!r && device >= 0 && device < STATS_DEVICES)
		device_settle(a, (unsigned)device);
	return r;
}

void quota_graphs_wrap(struct cuda_ops *table)
{
	table->cuGraphInstantiate_v2 = graph_instantiate;
	table->cuGraphInstantiateWithFlags = graph_instantiate_flags;
	table->cuGraphInstantiateWithParams = graph_instantiate_params;
	table->cuGraphLaunch = graph_launch;
	table->cuGraphUpload = graph_upload;
	table->cuGraphExecUpdate_v2 = graph_exec_update;
	table->cuGraphExecDestroy = graph_exec_destroy;
	table->cuDeviceGraphMemTrim = graph_mem_trim;
}
