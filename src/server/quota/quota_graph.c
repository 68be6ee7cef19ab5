/*
 * Memory that graphs allocate when they run.  What one needs is known when it is made ready: all that its nodes
 * allocate.  It is counted from its first launch on, as the driver keeps it, until the graph is destroyed or the driver
 * has given it back; two that could share memory count both until then.
 */
#include <stdlib.h>
#include "server/quota/account.h"
#include "server/quota/quota.h"
#include "util/map.h"
#include "wire/graph.h"

struct need {
	uint64_t bytes[STATS_DEVICES];
	bool some;
};

struct exec {
	struct map_node node; /* key: the CUgraphExec */
	struct need need;
	uint64_t counted[STATS_DEVICES]; /* in which round; 0: it is not */
};

static const struct cuda_ops *real;
static struct stats *stats;
static struct map execs; /* those that allocate */
static struct {
	uint64_t counted, round;
	bool asked; /* the driver may keep what nobody counts */
} devices[STATS_DEVICES];

static struct exec *find(CUgraphExec handle)
{
	return (struct exec *)map_find(&execs, (uintptr_t)handle);
}

/* ---- what a graph needs ---- */

static CUresult add_need(CUgraph graph, struct need *need, int depth);

static CUresult add_node(CUgraphNode node, struct need *need, int depth)
{
	CUgraphNodeType type = CU_GRAPH_NODE_TYPE_EMPTY;
	CUDA_MEM_ALLOC_NODE_PARAMS p;
	CUgraph child;
	CUresult r = real->cuGraphNodeGetType(node, &type);

	if (!r && type == CU_GRAPH_NODE_TYPE_GRAPH && !(r = real->cuGraphChildGraphNodeGetGraph(node, &child)))
		return add_need(child, need, depth + 1);
	if (r || type != CU_GRAPH_NODE_TYPE_MEM_ALLOC || (r = real->cuGraphMemAllocNodeGetParams(node, &p)))
		return r;
	int device = p.poolProps.location.id;
	if (p.poolProps.location.type != CU_MEM_LOCATION_TYPE_DEVICE || device < 0 || device >= STATS_DEVICES)
		return CUDA_SUCCESS;
	need->some = true;
	return __builtin_add_overflow(need->bytes[device], p.bytesize, &need->bytes[device]) ? CUDA_ERROR_OUT_OF_MEMORY
											     : CUDA_SUCCESS;
}

static CUresult add_need(CUgraph graph, struct need *need, int depth)
{
	CUgraphNode *nodes;
	size_t n = 0;
	CUresult r = depth > WIRE_GRAPH_DEPTH ? CUDA_ERROR_NOT_SUPPORTED : real->cuGraphGetNodes(graph, NULL, &n);

	if (r || !n)
		return r;
	nodes = calloc(n, sizeof *nodes);
	r = nodes ? real->cuGraphGetNodes(graph, nodes, &n) : CUDA_ERROR_OUT_OF_MEMORY;
	for (size_t i = 0; i < n && !r; i++)
		r = add_node(nodes[i], need, depth);
	free(nodes);
	return r;
}

/* ---- counting ---- */

static bool is_counted(const struct exec *x, int device)
{
	return x->counted[device] == devices[device].round + 1;
}

static void uncount(struct exec *x)
{
	for (int i = 0; i < STATS_DEVICES; i++) {
		if (!is_counted(x, i))
			continue;
		account_hold(&stats->device[i], -(int64_t)x->need.bytes[i]);
		devices[i].counted -= x->need.bytes[i];
		x->counted[i] = 0;
	}
}

static CUresult room(const struct need *need, const struct exec *x)
{
	CUresult r = CUDA_SUCCESS;

	for (int i = 0; i < STATS_DEVICES && !r; i++)
		if (need->bytes[i] && !(x && is_counted(x, i)))
			r = quota_room(&stats->device[i], need->bytes[i]);
	return r;
}

static CUresult count(struct exec *x)
{
	CUresult r = room(&x->need, x);

	for (int i = 0; i < STATS_DEVICES && !r; i++) {
		if (!x->need.bytes[i] || is_counted(x, i))
			continue;
		account_hold(&stats->device[i], (int64_t)x->need.bytes[i]);
		devices[i].counted += x->need.bytes[i];
		devices[i].asked = true;
		x->counted[i] = devices[i].round + 1;
	}
	return r;
}

static uint64_t kept(unsigned device)
{
	cuuint64_t bytes = 0;
	CUresult r =
		real->cuDeviceGetGraphMemAttribute((CUdevice)device, CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT, &bytes);

	return r ? 0 : bytes;
}

uint64_t quota_graphs_keep(const struct stats_device *d)
{
	unsigned device = (unsigned)(d - stats->device);
	uint64_t bytes = devices[device].asked ? kept(device) : 0;

	return bytes > devices[device].counted ? bytes - devices[device].counted : 0;
}

/* The driver has given some of it back: what is left is its word from now on, and who is launched counts anew. */
static void settle(unsigned device)
{
	if (!devices[device].counted || kept(device) >= devices[device].counted)
		return;
	account_hold(&stats->device[device], -(int64_t)devices[device].counted);
	devices[device].counted = 0;
	devices[device].round++;
}

void quota_graphs_settle(void)
{
	for (unsigned i = 0; i < STATS_DEVICES; i++)
		settle(i);
}

void quota_graphs_trim(const struct stats_device *d)
{
	unsigned device = (unsigned)(d - stats->device);

	if (!devices[device].asked)
		return;
	real->cuDeviceGraphMemTrim((CUdevice)device);
	settle(device);
}

/* ---- making ready ---- */

static CUresult keep(CUgraphExec handle, const struct need *need)
{
	struct exec *x = find(handle);

	if (x) { /* one that ended with its context */
		uncount(x);
	} else {
		x = calloc(1, sizeof *x);
		if (!x)
			return CUDA_ERROR_OUT_OF_MEMORY;
		x->node.key = (uintptr_t)handle;
		map_insert(&execs, &x->node);
	}
	x->need = *need;
	return CUDA_SUCCESS;
}

static CUresult ready(CUresult r, CUgraphExec *handle, const struct need *need, bool uploaded)
{
	struct exec *old = r ? NULL : find(*handle);

	if (!r && !need->some && old) {
		uncount(old);
		map_remove(&execs, &old->node);
		free(old);
	}
	if (r || !need->some)
		return r;
	r = keep(*handle, need);
	if (!r && uploaded)
		r = count(find(*handle));
	if (r)
		real->cuGraphExecDestroy(*handle);
	return r;
}

static CUresult instantiate(CUgraphExec *exec, CUgraph graph, CUgraphNode *node, char *log, size_t size)
{
	struct need need = {0};
	CUresult r = add_need(graph, &need, 0);

	return r ? r : ready(real->cuGraphInstantiate_v2(exec, graph, node, log, size), exec, &need, false);
}

static CUresult instantiate_flags(CUgraphExec *exec, CUgraph graph, unsigned long long flags)
{
	struct need need = {0};
	bool uploads = flags & CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD;
	CUresult r = add_need(graph, &need, 0);

	if (!r && uploads)
		r = room(&need, NULL);
	return r ? r : ready(real->cuGraphInstantiateWithFlags(exec, graph, flags), exec, &need, uploads);
}

static CUresult instantiate_params(CUgraphExec *exec, CUgraph graph, CUDA_GRAPH_INSTANTIATE_PARAMS *p)
{
	struct need need = {0};
	bool uploads = p->flags & CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD;
	CUresult r = add_need(graph, &need, 0);

	if (!r && uploads)
		r = room(&need, NULL);
	return r ? r : ready(real->cuGraphInstantiateWithParams(exec, graph, p), exec, &need, uploads);
}

/* ---- using ---- */

/* Only graphs that allocate are looked for, and those that are counted go on at once. */
static CUresult launch(CUgraphExec handle, CUstream stream)
{
	struct exec *x = find(handle);
	CUresult r = x ? count(x) : CUDA_SUCCESS;

	return r ? r : real->cuGraphLaunch(handle, stream);
}

static CUresult upload(CUgraphExec handle, CUstream stream)
{
	struct exec *x = find(handle);
	CUresult r = x ? count(x) : CUDA_SUCCESS;

	return r ? r : real->cuGraphUpload(handle, stream);
}

static CUresult destroy(CUgraphExec handle)
{
	CUresult r = real->cuGraphExecDestroy(handle);
	struct exec *x = r ? NULL : find(handle);

	if (!x)
		return r;
	uncount(x);
	map_remove(&execs, &x->node);
	free(x);
	return r;
}

/* A graph that fits has nodes of the same kinds: one that allocates does so before and after. */
static CUresult update(CUgraphExec handle, CUgraph graph, CUgraphExecUpdateResultInfo *info)
{
	CUresult r = real->cuGraphExecUpdate_v2(handle, graph, info);
	struct need need = {0};

	if (r || !find(handle))
		return r;
	r = add_need(graph, &need, 0);
	return r ? r : keep(handle, &need);
}

static CUresult trim(CUdevice device)
{
	CUresult r = real->cuDeviceGraphMemTrim(device);

	if (!r && device >= 0 && device < STATS_DEVICES)
		settle((unsigned)device);
	return r;
}

void quota_graphs_wrap(struct cuda_ops *table, const struct cuda_ops *ops, struct stats *s)
{
	real = ops;
	stats = s;
	table->cuGraphInstantiate_v2 = instantiate;
	table->cuGraphInstantiateWithFlags = instantiate_flags;
	table->cuGraphInstantiateWithParams = instantiate_params;
	table->cuGraphLaunch = launch;
	table->cuGraphUpload = upload;
	table->cuGraphExecUpdate_v2 = update;
	table->cuGraphExecDestroy = destroy;
	table->cuDeviceGraphMemTrim = trim;
}
