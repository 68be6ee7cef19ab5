/*
 * Changing instances node by node or as a whole, without disturbing running launches; clones, child graphs, user
 * objects, memory of alloc nodes, conditional nodes and DOT output.
 */
#include "graphs.h"

static CUstream s;

static void set_params(void)
{
	uint32_t id = 5;
	uint64_t ptr = 0;
	void *args[] = {&id, &ptr};
	CUDA_KERNEL_NODE_PARAMS p = {f_step, 1, 1, 1, 1, 1, 1, 0, args, NULL, NULL, NULL};
	CUgraphNode a, b;
	CUgraph g;
	CUgraphExec x;
	unsigned enabled = 9;

	reset_log();
	OK(soft_cuGraphCreate(&g, 0));
	a = add_step(g, 1, 0, NULL, 0);
	b = add_step(g, 2, 0, &a, 1);
	OK(soft_cuGraphInstantiateWithFlags(&x, g, 0));
	shut_gate(1);
	OK(soft_cuGraphLaunch(x, s));
	OK(soft_cuGraphExecKernelNodeSetParams_v2(x, b, &p)); /* for later launches */
	OK(soft_cuGraphLaunch(x, s));
	open_gate(1);
	OK(soft_cuStreamSynchronize(s));
	CHECK(runs(1) == 2 && runs(2) == 1 && runs(5) == 1);
	id = 6;
	OK(soft_cuGraphExecKernelNodeSetParams(x, a, (CUDA_KERNEL_NODE_PARAMS_v1 *)&p)); /* no launch is running */
	OK(soft_cuGraphLaunch(x, s));
	OK(soft_cuStreamSynchronize(s));
	CHECK(runs(6) == 1 && runs(5) == 2 && stamp_of(6) < stamp_of(5));

	OK(soft_cuGraphNodeGetEnabled(x, b, &enabled));
	CHECK_EQ(enabled, 1);
	OK(soft_cuGraphNodeSetEnabled(x, b, 0));
	OK(soft_cuGraphLaunch(x, s));
	OK(soft_cuStreamSynchronize(s));
	CHECK(runs(6) == 2 && runs(5) == 2);
	OK(soft_cuGraphNodeSetEnabled(x, b, 1));
	OK(soft_cuGraphNodeGetEnabled(x, b, &enabled));
	CHECK_EQ(enabled, 1);
	CUDA_HOST_NODE_PARAMS h = {(CUhostFn)1, NULL};
	CHECK_EQ(soft_cuGraphExecHostNodeSetParams(x, b, &h), CUDA_ERROR_INVALID_VALUE);
	CHECK_EQ(soft_cuGraphExecKernelNodeSetParams_v2(x, NULL, &p), CUDA_ERROR_INVALID_VALUE);
	p.blockDimX = 0;
	CHECK_EQ(soft_cuGraphExecKernelNodeSetParams_v2(x, b, &p), CUDA_ERROR_INVALID_VALUE);
	OK(soft_cuGraphExecDestroy(x));
	OK(soft_cuGraphDestroy(g));
}

static CUgraph diamond(int first, bool extra_edge)
{
	CUgraph g;
	CUgraphNode n[4];

	OK(soft_cuGraphCreate(&g, 0));
	n[0] = add_step(g, first, 0, NULL, 0);
	n[1] = add_step(g, first + 1, 0, n, 1);
	n[2] = add_step(g, first + 2, 0, extra_edge ? (CUgraphNode[]){n[0], n[1]} : n, extra_edge ? 2 : 1);
	n[3] = add_step(g, first + 3, 0, n + 1, 2);
	return g;
}

static void whole_update(void)
{
	CUgraph g = diamond(10, false), same = diamond(20, false), edge = diamond(30, true), more = diamond(40, false),
		kind = diamond(50, false);
	CUgraphExecUpdateResultInfo info;
	CUgraphExecUpdateResult result;
	CUgraphExec x;
	CUgraphNode n[4], extra, bad;
	size_t count = 4;

	reset_log();
	OK(soft_cuGraphInstantiateWithFlags(&x, g, 0));
	OK(soft_cuGraphExecUpdate_v2(x, same, &info));
	CHECK_EQ(info.result, CU_GRAPH_EXEC_UPDATE_SUCCESS);
	OK(soft_cuGraphLaunch(x, s));
	OK(soft_cuStreamSynchronize(s));
	CHECK(!runs(10) && runs(20) && runs(23) && stamp_of(20) < stamp_of(22) && stamp_of(22) < stamp_of(23));
	CHECK_EQ(soft_cuGraphExecUpdate_v2(x, edge, &info), CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE);
	OK(soft_cuGraphGetNodes(edge, n, &count));
	CHECK(info.result == CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED && info.errorNode == n[2] &&
		info.errorFromNode == n[1]);
	OK(soft_cuGraphAddEmptyNode(&extra, more, NULL, 0));
	CHECK_EQ(soft_cuGraphExecUpdate(x, more, &bad, &result), CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE);
	CHECK_EQ(result, CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED);
	OK(soft_cuGraphGetNodes(kind, n, &count));
	OK(soft_cuGraphDestroyNode(n[3]));
	OK(soft_cuGraphAddEmptyNode(&extra, kind, n + 1, 2));
	CHECK_EQ(soft_cuGraphExecUpdate_v2(x, kind, &info), CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE);
	CHECK(info.result == CU_GRAPH_EXEC_UPDATE_ERROR_NODE_TYPE_CHANGED && info.errorNode == extra);
	OK(soft_cuGraphLaunch(x, s)); /* unchanged */
	OK(soft_cuStreamSynchronize(s));
	CHECK(runs(20) == 2 && !runs(30) && !runs(50));
	OK(soft_cuGraphExecDestroy(x));
	for (int i = 0; i < 5; i++)
		OK(soft_cuGraphDestroy((CUgraph[]){g, same, edge, more, kind}[i]));
}

static void clone_and_child(void)
{
	CUgraph g = diamond(10, false), copy, parent, child, changed = diamond(60, false);
	CUgraphNode n[4], m, found, before, sub[4];
	CUgraphExec x;
	size_t count = 4;
	uint32_t id = 70;
	uint64_t ptr = 0;
	void *args[] = {&id, &ptr};
	CUDA_KERNEL_NODE_PARAMS p = {f_other, 1, 1, 1, 1, 1, 1, 0, args, NULL, NULL, NULL};

	reset_log();
	OK(soft_cuGraphGetNodes(g, n, &count));
	OK(soft_cuGraphClone(&copy, g));
	OK(soft_cuGraphNodeFindInClone(&found, n[2], copy));
	CHECK(found && found != n[2]);
	CHECK_EQ(soft_cuGraphNodeFindInClone(&found, found, copy), CUDA_ERROR_INVALID_VALUE);
	OK(soft_cuGraphDestroy(g));
	run_once(copy, s);
	CHECK(runs(10) == 1 && stamp_of(13) > stamp_of(12) && stamp_of(13) > stamp_of(11) &&
		stamp_of(10) < stamp_of(11));

	OK(soft_cuGraphCreate(&parent, 0));
	before = add_step(parent, 1, 0, NULL, 0);
	OK(soft_cuGraphAddChildGraphNode(&m, parent, &before, 1, copy));
	add_step(parent, 2, 0, &m, 1);
	add_step(parent, 3, 0, &before, 1);
	OK(soft_cuGraphDestroy(copy)); /* the node has a copy of the graph */
	OK(soft_cuGraphChildGraphNodeGetGraph(m, &child));
	CHECK_EQ(soft_cuGraphDestroy(child), CUDA_ERROR_INVALID_VALUE);
	reset_log();
	OK(soft_cuGraphInstantiateWithFlags(&x, parent, 0));
	OK(soft_cuGraphLaunch(x, s));
	OK(soft_cuStreamSynchronize(s));
	CHECK(stamp_of(1) < stamp_of(10) && stamp_of(13) < stamp_of(2) && runs(11) == 1 && runs(12) == 1 &&
		runs(3) == 1);
	count = 4;
	OK(soft_cuGraphGetNodes(child, sub, &count));
	OK(soft_cuGraphExecKernelNodeSetParams_v2(x, sub[1], &p)); /* a node of the child graph */
	OK(soft_cuGraphLaunch(x, s));
	OK(soft_cuStreamSynchronize(s));
	CHECK(runs(70) == 1 && runs(11) == 1 && runs(12) == 2);
	OK(soft_cuGraphExecChildGraphNodeSetParams(x, m, changed));
	OK(soft_cuGraphLaunch(x, s));
	OK(soft_cuStreamSynchronize(s));
	CHECK(runs(60) == 1 && runs(63) == 1 && runs(12) == 2);
	CHECK_EQ(soft_cuGraphExecChildGraphNodeSetParams(x, m, parent), CUDA_ERROR_INVALID_VALUE);
	OK(soft_cuGraphExecDestroy(x));
	OK(soft_cuGraphDestroy(parent));
	OK(soft_cuGraphDestroy(changed));
}

static void count_destruction(void *arg)
{
	atomic_fetch_add((_Atomic int *)arg, 1);
}

/* Wait for destructors, which run on a thread of the driver, possibly after a message from the server. */
static void wait_for_destructions(_Atomic int *ended, int want)
{
	for (int i = 0; i < 1000000 && *ended < want; i++)
		usleep(100);
	CHECK_EQ(*ended, want);
}

static void user_objects(void)
{
	_Atomic int ended = 0;
	CUuserObject u, v;
	CUgraph g, copy;
	CUgraphExec x;

	reset_log();
	CHECK_EQ(soft_cuUserObjectCreate(&u, &ended, count_destruction, 1, 0), CUDA_ERROR_INVALID_VALUE);
	OK(soft_cuUserObjectCreate(&u, &ended, count_destruction, 1, CU_USER_OBJECT_NO_DESTRUCTOR_SYNC));
	OK(soft_cuUserObjectRetain(u, 2));
	OK(soft_cuUserObjectRelease(u, 2));
	CHECK_EQ(ended, 0);
	OK(soft_cuGraphCreate(&g, 0));
	add_step(g, 1, 0, NULL, 0);
	OK(soft_cuGraphRetainUserObject(g, u, 1, CU_GRAPH_USER_OBJECT_MOVE));
	OK(soft_cuGraphClone(&copy, g));
	OK(soft_cuGraphInstantiateWithFlags(&x, g, 0));
	OK(soft_cuGraphDestroy(g));
	OK(soft_cuGraphDestroy(copy));
	CHECK_EQ(ended, 0);
	shut_gate(1);
	OK(soft_cuGraphLaunch(x, s));
	OK(soft_cuGraphExecDestroy(x));
	CHECK_EQ(ended, 0); /* still running */
	open_gate(1);
	OK(soft_cuStreamSynchronize(s));
	wait_for_destructions(&ended, 1);
	CHECK_EQ(soft_cuUserObjectRetain(u, 1), CUDA_ERROR_INVALID_VALUE);

	OK(soft_cuUserObjectCreate(&v, &ended, count_destruction, 1, CU_USER_OBJECT_NO_DESTRUCTOR_SYNC));
	OK(soft_cuGraphCreate(&g, 0));
	OK(soft_cuGraphRetainUserObject(g, v, 3, 0));
	OK(soft_cuUserObjectRelease(v, 1));
	OK(soft_cuGraphReleaseUserObject(g, v, 1));
	CHECK_EQ(ended, 1);
	CHECK_EQ(soft_cuGraphReleaseUserObject(g, v, 3), CUDA_ERROR_INVALID_VALUE);
	OK(soft_cuGraphReleaseUserObject(g, v, 2));
	wait_for_destructions(&ended, 2);
	OK(soft_cuGraphDestroy(g));
}

static uint64_t graph_memory(CUgraphMem_attribute a)
{
	uint64_t v = ~0ull;

	OK(soft_cuDeviceGetGraphMemAttribute(0, a, &v));
	return v;
}

static void memory(void)
{
	CUDA_MEM_ALLOC_NODE_PARAMS p = {.bytesize = 1 << 20};
	CUgraph g, f;
	CUgraphNode a, b, n;
	CUgraphExec x, y, fx;
	uint64_t zero = 0;
	uint32_t out = 0;
	CUdeviceptr ptr;

	reset_log();
	p.poolProps.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
	p.poolProps.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
	OK(soft_cuGraphCreate(&g, 0));
	OK(soft_cuGraphAddMemAllocNode(&a, g, NULL, 0, &p));
	ptr = p.dptr;
	CHECK(ptr);
	CUDA_MEMSET_NODE_PARAMS ms = {.dst = ptr, .value = 3, .elementSize = 4, .width = 1 << 18, .height = 1};
	OK(soft_cuGraphAddMemsetNode(&b, g, &a, 1, &ms, ctx));
	CHECK_EQ(soft_cuGraphClone(&f, g), CUDA_ERROR_NOT_SUPPORTED);
	CHECK_EQ(soft_cuGraphDestroyNode(b), CUDA_ERROR_NOT_SUPPORTED);
	CHECK_EQ(soft_cuGraphRemoveDependencies(g, &a, &b, 1), CUDA_ERROR_NOT_SUPPORTED);
	OK(soft_cuGraphInstantiateWithFlags(&x, g, 0));
	CHECK_EQ(soft_cuGraphInstantiateWithFlags(&y, g, 0), CUDA_ERROR_NOT_SUPPORTED);
	CHECK_EQ(graph_memory(CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT), 0);
	OK(soft_cuGraphLaunch(x, s));
	CHECK_EQ(graph_memory(CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT), 1 << 20);
	OK(soft_cuMemcpyDtoHAsync_v2(&out, ptr + 4, 4, s)); /* valid in stream order */
	OK(soft_cuStreamSynchronize(s));
	CHECK_EQ(out, 3);
	CHECK_EQ(soft_cuGraphLaunch(x, s), CUDA_ERROR_INVALID_VALUE); /* not freed yet */
	OK(soft_cuMemFreeAsync(ptr, s));
	OK(soft_cuGraphLaunch(x, s));
	OK(soft_cuMemFree_v2(ptr));
	OK(soft_cuGraphLaunch(x, s));
	OK(soft_cuGraphCreate(&f, 0));
	OK(soft_cuGraphAddMemFreeNode(&n, f, NULL, 0, ptr));
	CHECK_EQ(soft_cuGraphAddMemFreeNode(&n, f, NULL, 0, ptr), CUDA_ERROR_INVALID_VALUE);
	CHECK_EQ(soft_cuGraphAddMemFreeNode(&n, f, NULL, 0, ptr + 4), CUDA_ERROR_INVALID_VALUE);
	OK(soft_cuGraphInstantiateWithFlags(&fx, f, 0));
	OK(soft_cuGraphLaunch(fx, s));
	CHECK_EQ(soft_cuGraphLaunch(fx, s), CUDA_ERROR_INVALID_VALUE);
	CHECK_EQ(graph_memory(CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT), 0);
	CHECK_EQ(graph_memory(CU_GRAPH_MEM_ATTR_USED_MEM_HIGH), 1 << 20);
	OK(soft_cuDeviceSetGraphMemAttribute(0, CU_GRAPH_MEM_ATTR_USED_MEM_HIGH, &zero));
	CHECK_EQ(graph_memory(CU_GRAPH_MEM_ATTR_USED_MEM_HIGH), 0);
	CHECK_EQ(soft_cuDeviceSetGraphMemAttribute(0, CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT, &zero),
		CUDA_ERROR_INVALID_VALUE);
	OK(soft_cuStreamSynchronize(s));
	CHECK_EQ(graph_memory(CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT), 1 << 20);
	OK(soft_cuDeviceGraphMemTrim(0));
	CHECK_EQ(graph_memory(CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT), 0);
	OK(soft_cuGraphExecDestroy(fx));
	OK(soft_cuGraphExecDestroy(x));
	OK(soft_cuGraphInstantiateWithFlags(&x, g, CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH));
	OK(soft_cuGraphLaunch(x, s));
	OK(soft_cuGraphLaunch(x, s));
	OK(soft_cuStreamSynchronize(s));
	OK(soft_cuGraphExecDestroy(x));
	OK(soft_cuGraphDestroy(f));
	OK(soft_cuGraphDestroy(g));
	OK(soft_cuMemcpyDtoH_v2(&out, ptr, 4)); /* the memory outlives its graph */
	OK(soft_cuMemFree_v2(ptr));
	CHECK_EQ(soft_cuMemFree_v2(ptr), CUDA_ERROR_INVALID_VALUE);
}

/* A node with kernel set(handle, 1), which counts down. */
static CUgraphNode add_set(CUgraph g, CUgraphConditionalHandle handle, uint32_t value, CUgraphNode *deps, size_t n)
{
	void *args[] = {&handle, &value};
	CUDA_KERNEL_NODE_PARAMS p = {f_set, 1, 1, 1, 1, 1, 1, 0, args, NULL, NULL, NULL};
	CUgraphNode node = NULL;

	OK(soft_cuGraphAddKernelNode_v2(&node, g, deps, n, &p));
	return node;
}

static CUgraphNode conditional(CUgraph g, CUgraphConditionalHandle h, CUgraphConditionalNodeType type, unsigned size,
	CUgraph *bodies, CUgraphNode *deps, size_t ndeps)
{
	CUgraphNodeParams p = {.type = CU_GRAPH_NODE_TYPE_CONDITIONAL};
	CUgraphNode n = NULL;

	p.conditional.handle = h;
	p.conditional.type = type;
	p.conditional.size = size;
	p.conditional.ctx = ctx;
	OK(soft_cuGraphAddNode_v2(&n, g, deps, NULL, ndeps, &p));
	memcpy(bodies, p.conditional.phGraph_out, size * sizeof *bodies);
	return n;
}

static void conditions(void)
{
	CUgraphConditionalHandle h, h2, h3;
	CUgraph g, loop, choice[3], either[2];
	CUgraphNode n;
	CUgraphExec x;
	CUDA_GRAPH_INSTANTIATE_PARAMS ip = {0};

	reset_log();
	OK(soft_cuGraphCreate(&g, 0));
	OK(soft_cuGraphConditionalHandleCreate(&h, g, ctx, 1, CU_GRAPH_COND_ASSIGN_DEFAULT));
	CHECK_EQ(soft_cuGraphInstantiateWithParams(&x, g, &ip), CUDA_ERROR_INVALID_VALUE);
	CHECK_EQ(ip.result_out, CUDA_GRAPH_INSTANTIATE_CONDITIONAL_HANDLE_UNUSED);
	OK(soft_cuGraphConditionalHandleCreate(&h2, g, ctx, 1, CU_GRAPH_COND_ASSIGN_DEFAULT));
	OK(soft_cuGraphConditionalHandleCreate(&h3, g, ctx, 0, CU_GRAPH_COND_ASSIGN_DEFAULT));
	n = conditional(g, h, CU_GRAPH_COND_TYPE_WHILE, 1, &loop, NULL, 0);
	add_step(loop, 1, 0, NULL, 0);
	add_set(loop, h, 1, NULL, 0);
	n = conditional(g, h2, CU_GRAPH_COND_TYPE_SWITCH, 3, choice, &n, 1);
	for (int i = 0; i < 3; i++)
		add_step(choice[i], 10 + i, 0, NULL, 0);
	n = conditional(g, h3, CU_GRAPH_COND_TYPE_IF, 2, either, &n, 1);
	add_step(either[0], 20, 0, NULL, 0);
	add_step(either[1], 21, 0, NULL, 0);
	add_step(g, 30, 0, &n, 1);
	OK(soft_cuGraphInstantiateWithParams(&x, g, &ip));
	for (int i = 1; i <= 2; i++) {
		count_down(5);
		OK(soft_cuGraphLaunch(x, s));
		OK(soft_cuStreamSynchronize(s));
		CHECK(runs(1) == 5 * i && runs(10) == 0 && runs(11) == i && runs(12) == 0);
		CHECK(runs(20) == 0 && runs(21) == i && runs(30) == i && stamp_of(30) > stamp_of(21) &&
			stamp_of(11) > stamp_of(1));
	}
	OK(soft_cuGraphExecDestroy(x));
	CUgraphNodeParams p = {.type = CU_GRAPH_NODE_TYPE_CONDITIONAL};
	p.conditional.handle = h + 4096;
	p.conditional.size = 1;
	CHECK_EQ(soft_cuGraphAddNode(&n, g, NULL, 0, &p), CUDA_ERROR_INVALID_VALUE);
	p.conditional.handle = h; /* used already */
	CHECK_EQ(soft_cuGraphAddNode(&n, g, NULL, 0, &p), CUDA_ERROR_INVALID_VALUE);
	OK(soft_cuGraphDestroy(g));
}

static void dot_output(void)
{
	char path[] = "/tmp/graph-dot-XXXXXX", text[8192] = {0};
	int fd = mkstemp(path);
	CUgraph g = diamond(1, false);

	CHECK(fd >= 0);
	OK(soft_cuGraphDebugDotPrint(g, path, CU_GRAPH_DEBUG_DOT_FLAGS_VERBOSE));
	CHECK(read(fd, text, sizeof text - 1) > 0);
	CHECK(!strncmp(text, "digraph dot {", 13) && strstr(text, "KERNEL") && strstr(text, "step"));
	CHECK(strstr(text, "_node_0\" -> \"graph_") && strstr(text, "grid 1,1,1"));
	CHECK_EQ(soft_cuGraphDebugDotPrint(g, "/nowhere/at/all", 0), CUDA_ERROR_OPERATING_SYSTEM);
	CHECK_EQ(soft_cuGraphDebugDotPrint(NULL, path, 0), CUDA_ERROR_INVALID_VALUE);
	OK(soft_cuGraphDestroy(g));
	close(fd);
	unlink(path);
}

int main(void)
{
	setup();
	OK(soft_cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
	set_params();
	whole_update();
	clone_and_child();
	user_objects();
	memory();
	conditions();
	dot_output();
	OK(soft_cuStreamDestroy_v2(s));
	OK(soft_cuCtxDestroy_v2(ctx));
	return RESULT();
}
