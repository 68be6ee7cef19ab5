/* Counts host memory and objects, and refuses what exceeds the client's limits. */
#include <stdlib.h>
#include "server/code/code.h"
#include "server/quota/account.h"
#include "server/quota/quota.h"
#include "server/session/session.h"
#include "wire/graph.h"

/* ---- Host memory ---- */

void account_host_hold(struct account *a, int64_t more)
{
	uint64_t now;

	stats_add(&a->stats->host_memory, (uint64_t)more);
	now = stats_read(&a->stats->host_memory);
	if (now > stats_read(&a->stats->host_peak))
		atomic_store_explicit(&a->stats->host_peak, now, memory_order_relaxed);
}

/* Bytes that the client may still take; memory that pools keep counts as used. */
static uint64_t host_left(struct account *a)
{
	uint64_t used = stats_read(&a->stats->host_memory) + quota_pools_keep(a, NULL), limit = a->stats->host_quota;

	return used < limit ? limit - used : 0;
}

CUresult account_host_room(struct account *a, uint64_t size)
{
	if (!a->stats->host_quota || size <= host_left(a))
		return CUDA_SUCCESS;
	quota_pools_trim(a, NULL);
	if (size > host_left(a))
		images_trim(worker_session);
	return size <= host_left(a) ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult account_host_take(struct account *a, uint64_t size)
{
	CUresult r = account_host_room(a, size);

	if (!r)
		account_host_hold(a, (int64_t)size);
	return r;
}

void account_host_give(struct account *a, uint64_t size)
{
	account_host_hold(a, -(int64_t)size);
}

/* ---- Objects ---- */

bool account_objects_full(const struct account *a)
{
	return a->stats->object_quota && stats_read(&a->stats->objects) >= a->stats->object_quota;
}

void account_objects(struct account *a, int more)
{
	atomic_fetch_add_explicit(&a->stats->objects, (uint64_t)(int64_t)more, memory_order_relaxed);
}

/* The dispatcher refuses new objects at the limit; a call in progress may still need a few. */
uint64_t account_objects_most(const struct account *a)
{
	return a->stats->object_quota ? a->stats->object_quota + ACCOUNT_OBJECTS_SLACK : UINT64_MAX;
}

/* ---- Things without a handle ---- */

static CUresult address_reserve(CUdeviceptr *p, size_t size, size_t alignment, CUdeviceptr at, unsigned long long flags)
{
	struct account *a = worker_account();
	CUresult r = a->real.cuMemAddressReserve(p, size, alignment, at, flags);

	if (!r)
		account_objects(a, 1);
	return r;
}

static CUresult address_free(CUdeviceptr p, size_t size)
{
	struct account *a = worker_account();
	CUresult r = a->real.cuMemAddressFree(p, size);

	if (!r)
		account_objects(a, -1);
	return r;
}

/* Opening memory twice yields the same address. */
static CUresult ipc_open(CUdeviceptr *p, CUipcMemHandle handle, unsigned flags)
{
	struct account *a = worker_account();
	CUresult r = account_item_ready(a);

	if (!r)
		r = a->real.cuIpcOpenMemHandle_v2(p, handle, flags);
	return r ? r : account_made(a, ACCOUNT_OPENED, *p, 0);
}

static CUresult ipc_close(CUdeviceptr p)
{
	struct account *a = worker_account();

	return account_freed(a, a->real.cuIpcCloseMemHandle(p), ACCOUNT_OPENED, p);
}

/* ---- Nodes end with their graph ---- */

struct graph_handles {
	struct {
		enum handle_kind kind;
		uint64_t id;
	} *at;
	size_t count, room;
};

/* Without memory the handle stays until the session ends. */
static void graph_handle_add(struct graph_handles *g, enum handle_kind kind, void *real)
{
	uint64_t id = handles_known(worker_session->handles, kind, real);

	if (id && g->count == g->room) {
		size_t room = g->room ? 2 * g->room : 64;
		void *more = realloc(g->at, room * sizeof *g->at);
		if (!more)
			return;
		g->at = more;
		g->room = room;
	}
	if (!id)
		return;
	g->at[g->count].kind = kind;
	g->at[g->count++].id = id;
}

/* The client's handles of all nodes of a graph, and of graphs inside it. */
static void graph_handles_find(struct account *a, CUgraph graph, struct graph_handles *g, int depth)
{
	CUgraphNode *nodes;
	size_t n = 0;

	if (depth > WIRE_GRAPH_DEPTH || a->real.cuGraphGetNodes(graph, NULL, &n) || !n)
		return;
	nodes = calloc(n, sizeof *nodes);
	if (!nodes || a->real.cuGraphGetNodes(graph, nodes, &n))
		n = 0;
	for (size_t i = 0; i < n; i++) {
		CUgraphNodeType type = CU_GRAPH_NODE_TYPE_EMPTY;
		CUgraph child;
		graph_handle_add(g, HANDLE_CUgraphNode, nodes[i]);
		if (a->real.cuGraphNodeGetType(nodes[i], &type) || type != CU_GRAPH_NODE_TYPE_GRAPH ||
			a->real.cuGraphChildGraphNodeGetGraph(nodes[i], &child))
			continue;
		graph_handle_add(g, HANDLE_CUgraph, child);
		graph_handles_find(a, child, g, depth + 1);
	}
	free(nodes);
}

static CUresult graph_destroy(CUgraph graph)
{
	struct account *a = worker_account();
	struct graph_handles g = {0};
	CUresult r;

	if (handles_any(worker_session->handles, HANDLE_CUgraphNode))
		graph_handles_find(a, graph, &g, 0);
	r = a->real.cuGraphDestroy(graph);
	for (size_t i = 0; i < g.count && !r; i++)
		handles_drop(worker_session->handles, g.at[i].kind, g.at[i].id);
	free(g.at);
	return r;
}

void account_host_wrap(struct cuda_ops *t)
{
	t->cuMemAddressReserve = address_reserve;
	t->cuMemAddressFree = address_free;
	t->cuIpcOpenMemHandle_v2 = ipc_open;
	t->cuIpcCloseMemHandle = ipc_close;
	t->cuGraphDestroy = graph_destroy;
}
