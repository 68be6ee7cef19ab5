/*
 * Graphs built node by node: their structure can be queried and changed; they run in the order of their edges, with
 * branches in parallel; launches of one instance run one after the other; errors are those that CUDA documents.
 */
#include "graphs.h"

static void shape(void)
{
	CUgraph g;
	CUgraphNode a, b, c, d, n[8], from[8], to[8];
	CUgraphEdgeData data[8];
	CUgraphNodeType type;
	size_t count = 0;

	OK(soft_cuGraphCreate(&g, 0));
	CHECK_EQ(soft_cuGraphCreate(&g, 1), CUDA_ERROR_INVALID_VALUE);
	a = add_step(g, 1, 0, NULL, 0);
	b = add_step(g, 2, 0, &a, 1);
	c = add_step(g, 3, 0, &a, 1);
	d = add_step(g, 4, 0, (CUgraphNode[]){b, c}, 2);
	OK(soft_cuGraphGetNodes(g, NULL, &count));
	CHECK_EQ(count, 4);
	count = 8;
	OK(soft_cuGraphGetNodes(g, n, &count));
	CHECK(count == 4 && n[0] == a && n[3] == d && !n[4] && !n[7]);
	count = 8;
	OK(soft_cuGraphGetRootNodes(g, n, &count));
	CHECK(count == 1 && n[0] == a);
	OK(soft_cuGraphGetEdges(g, NULL, NULL, &count));
	CHECK_EQ(count, 4);
	count = 3;
	OK(soft_cuGraphGetEdges_v2(g, from, to, data, &count));
	CHECK(count == 3 && from[0] == a && to[0] == b && data[0].type == 0);
	count = 8;
	OK(soft_cuGraphNodeGetDependencies(d, n, &count));
	CHECK(count == 2 && n[0] == b && n[1] == c);
	count = 8;
	OK(soft_cuGraphNodeGetDependentNodes(a, n, &count));
	CHECK(count == 2 && n[0] == b && n[1] == c);
	OK(soft_cuGraphNodeGetType(a, &type));
	CHECK_EQ(type, CU_GRAPH_NODE_TYPE_KERNEL);

	CHECK_EQ(soft_cuGraphAddDependencies(g, &a, &b, 1), CUDA_ERROR_INVALID_VALUE); /* exists already */
	CHECK_EQ(soft_cuGraphAddDependencies(g, &a, &a, 1), CUDA_ERROR_INVALID_VALUE);
	OK(soft_cuGraphAddDependencies(g, &b, &c, 1));
	OK(soft_cuGraphRemoveDependencies(g, &b, &c, 1));
	CHECK_EQ(soft_cuGraphRemoveDependencies(g, &b, &c, 1), CUDA_ERROR_INVALID_VALUE);
	CUgraphEdgeData programmatic = {.type = CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC, .from_port = 1};
	OK(soft_cuGraphAddDependencies_v2(g, &b, &c, &programmatic, 1));
	count = 8;
	CHECK_EQ(soft_cuGraphNodeGetDependencies(c, n, &count), CUDA_ERROR_LOSSY_QUERY);
	count = 8;
	OK(soft_cuGraphNodeGetDependencies_v2(c, n, data, &count));
	CHECK(count == 2 && data[1].type == CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC);
	OK(soft_cuGraphRemoveDependencies_v2(g, &b, &c, &programmatic, 1));

	OK(soft_cuGraphDestroyNode(b));
	CHECK_EQ(soft_cuGraphDestroyNode(b), CUDA_ERROR_INVALID_VALUE);
	count = 8;
	OK(soft_cuGraphNodeGetDependencies(d, n, &count));
	CHECK(count == 1 && n[0] == c);
	OK(soft_cuGraphDestroy(g));
	CHECK_EQ(soft_cuGraphDestroy(g), CUDA_ERROR_INVALID_VALUE);
	CHECK_EQ(soft_cuGraphNodeGetType(a, &type), CUDA_ERROR_INVALID_VALUE); /* destroyed with its graph */
}

static void order(void)
{
	CUgraph g;
	CUgraphNode a, b, c;
	CUgraphExec x;
	CUstream s;

	reset_log();
	OK(soft_cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
	OK(soft_cuGraphCreate(&g, 0));
	a = add_step(g, 1, 0, NULL, 0);
	b = add_step(g, 2, 0, &a, 1);
	c = add_step(g, 3, 0, &a, 1);
	add_step(g, 4, 0, (CUgraphNode[]){b, c}, 2);
	OK(soft_cuGraphInstantiateWithFlags(&x, g, 0));
	shut_gate(2); /* b waits, c does not: they run in parallel */
	launch_step(s, 10, 0);
	OK(soft_cuGraphLaunch(x, s));
	launch_step(s, 11, 0);
	for (int i = 0; i < 1000000 && !stamp_of(3); i++)
		usleep(100);
	CHECK(stamp_of(3) && !stamp_of(2) && !stamp_of(4) && !stamp_of(11));
	open_gate(2);
	OK(soft_cuStreamSynchronize(s));
	CHECK(stamp_of(10) < stamp_of(1) && stamp_of(1) < stamp_of(2) && stamp_of(1) < stamp_of(3));
	CHECK(stamp_of(4) > stamp_of(2) && stamp_of(4) > stamp_of(3) && stamp_of(11) > stamp_of(4));
	OK(soft_cuGraphDestroy(g)); /* the instance is independent of the graph */
	OK(soft_cuGraphLaunch(x, s));
	OK(soft_cuGraphExecDestroy(x)); /* the launch completes all the same */
	OK(soft_cuStreamSynchronize(s));
	CHECK_EQ(runs(4), 2);
	CHECK_EQ(soft_cuGraphLaunch(x, s), CUDA_ERROR_INVALID_VALUE);
	OK(soft_cuStreamDestroy_v2(s));
}

/* Random graphs: each node runs once, after all its dependencies. */
static void many(void)
{
	enum { N = 200 };
	static bool edge[N][N];
	CUgraphNode n[N], deps[N];
	CUgraph g;

	for (int seed = 1; seed <= 8; seed++) {
		unsigned rng = seed * 7919;

		reset_log();
		memset(edge, 0, sizeof edge);
		OK(soft_cuGraphCreate(&g, 0));
		for (int i = 0; i < N; i++) {
			size_t ndeps = 0;

			for (int k = 0; k < i; k++) {
				rng = rng * 1103515245 + 12345;
				if ((rng >> 16) % (seed * 12) == 0) {
					edge[k][i] = true;
					deps[ndeps++] = n[k];
				}
			}
			n[i] = add_step(g, i, 0, deps, ndeps);
		}
		run_once(g, CU_STREAM_PER_THREAD);
		for (int i = 0; i < N; i++) {
			CHECK_EQ(runs(i), 1);
			for (int k = 0; k < i; k++)
				CHECK(!edge[k][i] || stamp_of(k) < stamp_of(i));
		}
		OK(soft_cuGraphDestroy(g));
	}
}

/* One instance in two streams: the second launch waits for the first. */
static void serial(void)
{
	CUgraph g;
	CUgraphNode a;
	CUgraphExec x;
	CUstream s1, s2;

	reset_log();
	OK(soft_cuStreamCreate(&s1, CU_STREAM_NON_BLOCKING));
	OK(soft_cuStreamCreate(&s2, CU_STREAM_NON_BLOCKING));
	OK(soft_cuGraphCreate(&g, 0));
	a = add_step(g, 1, 0, NULL, 0);
	add_step(g, 2, 0, &a, 1);
	OK(soft_cuGraphInstantiateWithFlags(&x, g, 0));
	shut_gate(1);
	OK(soft_cuGraphLaunch(x, s1));
	OK(soft_cuGraphLaunch(x, s2));
	usleep(3000);
	CHECK_EQ(runs(1), 0);
	CHECK_EQ(soft_cuStreamQuery(s2), CUDA_ERROR_NOT_READY);
	open_gate(1);
	OK(soft_cuStreamSynchronize(s2));
	CHECK(runs(1) == 2 && runs(2) == 2);
	OK(soft_cuGraphExecDestroy(x));
	OK(soft_cuGraphDestroy(g));
	OK(soft_cuStreamDestroy_v2(s1));
	OK(soft_cuStreamDestroy_v2(s2));
}

static void host_fn(void *arg)
{
	atomic_fetch_add((_Atomic int *)arg, 1);
}

/* Copies, fills, host functions, memory operations and events as nodes, and reading their parameters back. */
static void kinds(void)
{
	CUdeviceptr p;
	unsigned char out[64] = {0};
	_Atomic int called = 0;
	CUgraph g;
	CUgraphNode set, copy, host, op, record, wait, empty;
	CUevent e, got = NULL;
	CUstreamBatchMemOpParams word;

	OK(soft_cuMemAlloc_v2(&p, 64));
	OK(soft_cuEventCreate(&e, 0));
	OK(soft_cuGraphCreate(&g, 0));
	CUDA_MEMSET_NODE_PARAMS ms = {.dst = p, .value = 0x5a, .elementSize = 1, .width = 64, .height = 1}, ms2;
	OK(soft_cuGraphAddMemsetNode(&set, g, NULL, 0, &ms, ctx));
	memset(&word, 0, sizeof word);
	word.writeValue.operation = CU_STREAM_MEM_OP_WRITE_VALUE_32;
	word.writeValue.address = p;
	word.writeValue.value = 0x01020304;
	CUDA_BATCH_MEM_OP_NODE_PARAMS mo = {ctx, 1, &word, 0}, mo2;
	OK(soft_cuGraphAddBatchMemOpNode(&op, g, &set, 1, &mo));
	CUDA_MEMCPY3D mc = {.srcMemoryType = CU_MEMORYTYPE_DEVICE,
			      .srcDevice = p,
			      .dstMemoryType = CU_MEMORYTYPE_HOST,
			      .dstHost = out,
			      .WidthInBytes = 64,
			      .Height = 1,
			      .Depth = 1},
		      mc2;
	OK(soft_cuGraphAddMemcpyNode(&copy, g, &op, 1, &mc, ctx));
	CUDA_HOST_NODE_PARAMS hp = {host_fn, &called}, hp2;
	OK(soft_cuGraphAddHostNode(&host, g, &copy, 1, &hp));
	OK(soft_cuGraphAddEmptyNode(&empty, g, &host, 1));
	OK(soft_cuGraphAddEventRecordNode(&record, g, &empty, 1, e));
	OK(soft_cuGraphAddEventWaitNode(&wait, g, &record, 1, e));
	run_once(g, CU_STREAM_PER_THREAD);
	CHECK(out[0] == 4 && out[3] == 1 && out[4] == 0x5a && out[63] == 0x5a);
	CHECK_EQ(called, 1);
	OK(soft_cuEventQuery(e));

	OK(soft_cuGraphMemsetNodeGetParams(set, &ms2));
	CHECK(ms2.dst == p && ms2.value == 0x5a && ms2.width == 64);
	OK(soft_cuGraphMemcpyNodeGetParams(copy, &mc2));
	CHECK(mc2.srcDevice == p && mc2.dstHost == out && mc2.WidthInBytes == 64);
	OK(soft_cuGraphHostNodeGetParams(host, &hp2));
	CHECK(hp2.fn == host_fn && hp2.userData == &called);
	OK(soft_cuGraphBatchMemOpNodeGetParams(op, &mo2));
	CHECK(mo2.count == 1 && mo2.paramArray != &word && mo2.paramArray->writeValue.value == 0x01020304);
	OK(soft_cuGraphEventRecordNodeGetEvent(record, &got));
	CHECK(got == e);
	CHECK_EQ(soft_cuGraphEventWaitNodeGetEvent(record, &got), CUDA_ERROR_INVALID_VALUE);

	ms.value = 7;
	OK(soft_cuGraphMemsetNodeSetParams(set, &ms));
	mc.WidthInBytes = 8;
	OK(soft_cuGraphMemcpyNodeSetParams(copy, &mc));
	hp.fn = NULL;
	CHECK_EQ(soft_cuGraphHostNodeSetParams(host, &hp), CUDA_ERROR_INVALID_VALUE);
	run_once(g, CU_STREAM_PER_THREAD);
	CHECK(out[7] == 7 && out[8] == 0x5a);
	CHECK_EQ(called, 2);

	ms.elementSize = 3;
	CHECK_EQ(soft_cuGraphAddMemsetNode(&set, g, NULL, 0, &ms, ctx), CUDA_ERROR_INVALID_VALUE);
	ms.elementSize = 1;
	ms.width = 65;
	CHECK_EQ(soft_cuGraphAddMemsetNode(&set, g, NULL, 0, &ms, ctx), CUDA_ERROR_INVALID_VALUE);
	CUDA_EXT_SEM_WAIT_NODE_PARAMS sem = {0};
	CHECK_EQ(soft_cuGraphAddExternalSemaphoresWaitNode(&set, g, NULL, 0, &sem), CUDA_ERROR_NOT_SUPPORTED);
	OK(soft_cuGraphDestroy(g));
	OK(soft_cuEventDestroy_v2(e));
	OK(soft_cuMemFree_v2(p));
}

static void kernels(void)
{
	uint32_t id = 7;
	uint64_t ptr = 0;
	void *params[] = {&id, &ptr};
	struct {
		uint32_t id;
		uint64_t ptr;
	} packed = {9, 0};
	size_t size = sizeof packed;
	void *extra[] = {
		CU_LAUNCH_PARAM_BUFFER_POINTER, &packed, CU_LAUNCH_PARAM_BUFFER_SIZE, &size, CU_LAUNCH_PARAM_END};
	CUDA_KERNEL_NODE_PARAMS_v1 p = {f_step, 2, 1, 1, 32, 1, 1, 16, params, NULL};
	CUDA_KERNEL_NODE_PARAMS q;
	CUkernelNodeAttrValue v = {.priority = -3};
	CUgraphNode a, b;
	CUgraph g;

	reset_log();
	OK(soft_cuGraphCreate(&g, 0));
	OK(soft_cuGraphAddKernelNode(&a, g, NULL, 0, &p));
	id = 8; /* the node has a copy of the parameters */
	OK(soft_cuGraphKernelNodeGetParams_v2(a, &q));
	CHECK(q.func == f_step && q.gridDimX == 2 && q.blockDimX == 32 && q.sharedMemBytes == 16 && q.ctx == ctx);
	CHECK(q.kernelParams != params && *(uint32_t *)q.kernelParams[0] == 7 && !q.extra);
	run_once(g, CU_STREAM_PER_THREAD);
	CHECK(runs(7) == 1 && !runs(8));
	OK(soft_cuGraphKernelNodeSetParams(a, &p));
	run_once(g, CU_STREAM_PER_THREAD);
	CHECK(runs(7) == 1 && runs(8) == 1);
	p.kernelParams = NULL;
	p.extra = extra;
	OK(soft_cuGraphKernelNodeSetParams(a, &p));
	run_once(g, CU_STREAM_PER_THREAD);
	CHECK(runs(9) == 1);

	OK(soft_cuGraphKernelNodeSetAttribute(a, CU_LAUNCH_ATTRIBUTE_PRIORITY, &v));
	OK(soft_cuGraphAddKernelNode(&b, g, NULL, 0, &p));
	OK(soft_cuGraphKernelNodeCopyAttributes(b, a));
	v.priority = 0;
	OK(soft_cuGraphKernelNodeGetAttribute(b, CU_LAUNCH_ATTRIBUTE_PRIORITY, &v));
	CHECK_EQ(v.priority, -3);
	CHECK_EQ(soft_cuGraphKernelNodeGetAttribute(b, CU_LAUNCH_ATTRIBUTE_MAX, &v), CUDA_ERROR_INVALID_VALUE);

	p.blockDimX = 4096;
	CHECK_EQ(soft_cuGraphAddKernelNode(&b, g, NULL, 0, &p), CUDA_ERROR_INVALID_VALUE);
	p.blockDimX = 1;
	p.func = (CUfunction)(uintptr_t)0x123450;
	CHECK(soft_cuGraphAddKernelNode(&b, g, NULL, 0, &p) != CUDA_SUCCESS);
	p.func = NULL;
	CHECK_EQ(soft_cuGraphAddKernelNode(&b, g, NULL, 0, &p), CUDA_ERROR_INVALID_VALUE);
	OK(soft_cuGraphDestroy(g));
}

static void any_kind(void)
{
	uint32_t id = 20;
	uint64_t ptr = 0;
	void *args[] = {&id, &ptr};
	CUgraphNodeParams p = {.type = CU_GRAPH_NODE_TYPE_KERNEL};
	CUgraphNode n, m;
	CUgraph g;

	reset_log();
	OK(soft_cuGraphCreate(&g, 0));
	p.kernel = (CUDA_KERNEL_NODE_PARAMS_v3){f_step, 1, 1, 1, 1, 1, 1, 0, args, NULL, NULL, NULL};
	OK(soft_cuGraphAddNode_v2(&n, g, NULL, NULL, 0, &p));
	OK(soft_cuGraphAddNode(&m, g, &n, 1, &p));
	id = 21;
	OK(soft_cuGraphNodeSetParams(m, &p));
	run_once(g, CU_STREAM_PER_THREAD);
	CHECK(runs(20) == 1 && runs(21) == 1 && stamp_of(20) < stamp_of(21));
	p.reserved2 = 1;
	CHECK_EQ(soft_cuGraphAddNode(&m, g, NULL, 0, &p), CUDA_ERROR_INVALID_VALUE);
	p.reserved2 = 0;
	p.type = 77;
	CHECK_EQ(soft_cuGraphAddNode(&m, g, NULL, 0, &p), CUDA_ERROR_INVALID_VALUE);
	OK(soft_cuGraphDestroy(g));
}

static void mistakes(void)
{
	CUDA_GRAPH_INSTANTIATE_PARAMS ip = {0};
	char log[64];
	CUgraph g, h;
	CUgraphNode a, b, c, bad = NULL;
	CUgraphExec x;
	cuuint64_t flags;

	OK(soft_cuGraphCreate(&g, 0));
	OK(soft_cuGraphCreate(&h, 0));
	a = add_step(g, 1, 0, NULL, 0);
	b = add_step(g, 2, 0, &a, 1);
	c = add_step(h, 3, 0, NULL, 0);
	CHECK_EQ(soft_cuGraphAddEmptyNode(&bad, g, &c, 1), CUDA_ERROR_INVALID_VALUE); /* a node of another graph */
	CHECK_EQ(soft_cuGraphAddEmptyNode(&bad, g, (CUgraphNode[]){a, a}, 2), CUDA_ERROR_INVALID_VALUE);
	CHECK_EQ(soft_cuGraphAddEmptyNode(&bad, NULL, NULL, 0), CUDA_ERROR_INVALID_VALUE);
	CHECK_EQ(soft_cuGraphAddEmptyNode(NULL, g, NULL, 0), CUDA_ERROR_INVALID_VALUE);
	OK(soft_cuGraphAddDependencies(g, &b, &a, 1)); /* a cycle is detected at instantiation */
	CHECK_EQ(soft_cuGraphInstantiate_v2(&x, g, &bad, log, sizeof log), CUDA_ERROR_INVALID_VALUE);
	CHECK(bad == a && log[0]);
	CHECK_EQ(soft_cuGraphInstantiateWithParams(&x, g, &ip), CUDA_ERROR_INVALID_VALUE);
	CHECK_EQ(ip.result_out, CUDA_GRAPH_INSTANTIATE_INVALID_STRUCTURE);
	CHECK_EQ(soft_cuGraphInstantiateWithFlags(&x, h, 64), CUDA_ERROR_INVALID_VALUE);
	CHECK_EQ(soft_cuGraphInstantiateWithFlags(&x, h, CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH),
		CUDA_ERROR_NOT_SUPPORTED);
	ip.flags = CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD | CUDA_GRAPH_INSTANTIATE_FLAG_USE_NODE_PRIORITY;
	ip.hUploadStream = CU_STREAM_PER_THREAD;
	OK(soft_cuGraphInstantiateWithParams(&x, h, &ip));
	CHECK_EQ(ip.result_out, CUDA_GRAPH_INSTANTIATE_SUCCESS);
	OK(soft_cuGraphExecGetFlags(x, &flags));
	CHECK_EQ(flags, ip.flags);
	OK(soft_cuGraphExecDestroy(x));
	CHECK_EQ(soft_cuGraphExecDestroy(x), CUDA_ERROR_INVALID_VALUE);
	OK(soft_cuGraphDestroy(g));
	OK(soft_cuGraphDestroy(h));
	OK(soft_cuGraphCreate(&g, 0)); /* an empty graph can be launched */
	run_once(g, CU_STREAM_PER_THREAD);
	OK(soft_cuGraphDestroy(g));
}

/* An event recorded by a node is visible while the rest of the graph still runs. */
static void events(void)
{
	CUgraph g;
	CUgraphNode a, r, w;
	CUgraphExec x;
	CUevent e, e2;
	CUstream s, s2;

	reset_log();
	OK(soft_cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
	OK(soft_cuStreamCreate(&s2, CU_STREAM_NON_BLOCKING));
	OK(soft_cuEventCreate(&e, 0));
	OK(soft_cuEventCreate(&e2, 0));
	OK(soft_cuGraphCreate(&g, 0));
	a = add_step(g, 1, 0, NULL, 0);
	OK(soft_cuGraphAddEventRecordNode(&r, g, &a, 1, e));
	OK(soft_cuGraphAddEventWaitNode(&w, g, &r, 1, e2));
	add_step(g, 2, 0, &w, 1);
	OK(soft_cuGraphInstantiateWithFlags(&x, g, 0));
	shut_gate(1);
	shut_gate(30);
	launch_step(s2, 30, 0);
	OK(soft_cuEventRecord(e2, s2));
	OK(soft_cuGraphLaunch(x, s));
	CHECK_EQ(soft_cuEventQuery(e),
		CUDA_ERROR_NOT_READY); /* the event belongs to this launch from the time of the call */
	open_gate(1);
	OK(soft_cuEventSynchronize(e));
	CHECK(stamp_of(1) && !stamp_of(2));
	CHECK_EQ(soft_cuStreamQuery(s), CUDA_ERROR_NOT_READY);
	open_gate(30);
	OK(soft_cuStreamSynchronize(s));
	CHECK(stamp_of(2) > stamp_of(30));
	OK(soft_cuGraphExecDestroy(x));
	OK(soft_cuGraphDestroy(g));
	OK(soft_cuEventDestroy_v2(e));
	OK(soft_cuEventDestroy_v2(e2));
	OK(soft_cuStreamDestroy_v2(s));
	OK(soft_cuStreamDestroy_v2(s2));
}

/* The legacy stream waits for a graph with branches, and a graph in the legacy stream waits for other streams. */
static void legacy(void)
{
	CUgraph g;
	CUgraphNode a;
	CUgraphExec x;
	CUstream s;

	reset_log();
	OK(soft_cuStreamCreate(&s, CU_STREAM_DEFAULT));
	OK(soft_cuGraphCreate(&g, 0));
	a = add_step(g, 1, 0, NULL, 0);
	add_step(g, 2, 0, &a, 1);
	add_step(g, 3, 0, &a, 1);
	OK(soft_cuGraphInstantiateWithFlags(&x, g, 0));
	shut_gate(2);
	OK(soft_cuGraphLaunch(x, s));
	launch_step(NULL, 10, 0);
	launch_step(s, 11, 0);
	OK(soft_cuGraphLaunch(x, NULL));
	usleep(2000);
	CHECK(!stamp_of(10) && !stamp_of(11));
	open_gate(2);
	OK(soft_cuStreamSynchronize(NULL));
	CHECK(runs(3) == 2 && stamp_of(10) < stamp_of(11) && stamp_of(11) < stamp_of(1));
	OK(soft_cuGraphExecDestroy(x));
	OK(soft_cuGraphDestroy(g));
	OK(soft_cuStreamDestroy_v2(s));
}

static void *hammer(void *arg)
{
	CUgraphExec x = arg;
	CUstream s;

	OK(soft_cuCtxSetCurrent(ctx));
	OK(soft_cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
	for (int i = 0; i < 50; i++)
		OK(soft_cuGraphLaunch(x, s));
	OK(soft_cuStreamSynchronize(s));
	OK(soft_cuStreamDestroy_v2(s));
	return NULL;
}

static void threads(void)
{
	pthread_t t[4];
	CUgraph g;
	CUgraphNode a, b[2];
	CUgraphExec x;
	CUdeviceptr p;
	uint32_t sum = 0;

	reset_log();
	OK(soft_cuMemAlloc_v2(&p, 4));
	OK(soft_cuMemsetD32_v2(p, 0, 1));
	OK(soft_cuGraphCreate(&g, 0));
	a = add_step(g, 1, p, NULL, 0);
	b[0] = add_step(g, 2, p, &a, 1);
	b[1] = add_step(g, 3, p, &a, 1);
	add_step(g, 4, p, b, 2);
	OK(soft_cuGraphInstantiateWithFlags(&x, g, 0));
	for (int i = 0; i < 4; i++)
		pthread_create(&t[i], NULL, hammer, x);
	for (int i = 0; i < 4; i++)
		pthread_join(t[i], NULL);
	OK(soft_cuMemcpyDtoH_v2(&sum, p, 4));
	CHECK_EQ(sum, 200 * 10);
	OK(soft_cuGraphExecDestroy(x));
	OK(soft_cuGraphDestroy(g));
	OK(soft_cuMemFree_v2(p));
}

/* An error in a node becomes the context's sticky error, as for any launch. */
static void failure(void)
{
	CUDA_KERNEL_NODE_PARAMS p = {f_fail, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL, NULL};
	CUgraph g;
	CUgraphNode n;
	CUgraphExec x;

	reset_log();
	OK(soft_cuGraphCreate(&g, 0));
	OK(soft_cuGraphAddKernelNode_v2(&n, g, NULL, 0, &p));
	add_step(g, 1, 0, &n, 1);
	OK(soft_cuGraphInstantiateWithFlags(&x, g, 0));
	OK(soft_cuGraphLaunch(x, CU_STREAM_PER_THREAD));
	CHECK_EQ(soft_cuStreamSynchronize(CU_STREAM_PER_THREAD), CUDA_ERROR_ILLEGAL_ADDRESS);
	CHECK_EQ(soft_cuGraphLaunch(x, CU_STREAM_PER_THREAD), CUDA_ERROR_ILLEGAL_ADDRESS);
	CHECK_EQ(runs(1), 0);
	OK(soft_cuGraphExecDestroy(x));
	OK(soft_cuGraphDestroy(g));
}

int main(void)
{
	setup();
	shape();
	order();
	many();
	serial();
	kinds();
	kernels();
	any_kind();
	mistakes();
	events();
	legacy();
	threads();
	failure();
	OK(soft_cuCtxDestroy_v2(ctx));
	return RESULT();
}
