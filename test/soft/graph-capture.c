/*
 * Captured work becomes the right nodes, across streams forked and joined by events, and can be read back and run.
 * Each call that is not allowed during a capture returns its own error and invalidates the capture.
 */
#include "graphs.h"

static CUstream s1, s2;
static CUevent e1, e2;

static CUstreamCaptureStatus status(CUstream s)
{
	CUstreamCaptureStatus st = 77;

	OK(soft_cuStreamIsCapturing(s, &st));
	return st;
}

static void begin(CUstream s)
{
	OK(soft_cuStreamBeginCapture_v2(s, CU_STREAM_CAPTURE_MODE_GLOBAL));
}

/* End the capture in s, which must be invalid. */
static void end_invalidated(CUstream s)
{
	CUgraph g = (CUgraph)1;

	CHECK_EQ(status(s), CU_STREAM_CAPTURE_STATUS_INVALIDATED);
	CHECK_EQ(soft_cuStreamEndCapture(s, &g), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
	CHECK(!g);
	CHECK_EQ(status(s), CU_STREAM_CAPTURE_STATUS_NONE);
}

static CUgraphNodeType type_of(CUgraphNode n)
{
	CUgraphNodeType t = 99;

	OK(soft_cuGraphNodeGetType(n, &t));
	return t;
}

static void host_fn(void *arg)
{
	atomic_fetch_add((_Atomic int *)arg, 1);
}

static void kinds(void)
{
	unsigned char src[32] = "captured", out[32] = {0};
	_Atomic int called = 0;
	CUdeviceptr p;
	CUgraph g;
	CUgraphNode n[8];
	size_t count = 8;
	CUDA_KERNEL_NODE_PARAMS k;
	CUDA_MEMCPY3D m;
	CUDA_MEMSET_NODE_PARAMS ms;
	CUDA_HOST_NODE_PARAMS h;
	CUDA_BATCH_MEM_OP_NODE_PARAMS mo;

	reset_log();
	OK(soft_cuMemAlloc_v2(&p, 64));
	begin(s1);
	CHECK_EQ(status(s1), CU_STREAM_CAPTURE_STATUS_ACTIVE);
	OK(soft_cuMemsetD2D16Async(p, 32, 0x1111, 4, 2, s1));
	OK(soft_cuMemcpyHtoDAsync_v2(p, src, 8, s1));
	launch_step(s1, 5, p + 60);
	OK(soft_cuStreamWriteValue32_v2(s1, p + 8, 0x41424344, 0));
	OK(soft_cuMemcpyDtoHAsync_v2(out, p, 32, s1));
	OK(soft_cuLaunchHostFunc(s1, host_fn, &called));
	OK(soft_cuStreamEndCapture(s1, &g));
	CHECK_EQ(status(s1), CU_STREAM_CAPTURE_STATUS_NONE);
	CHECK(!called && !runs(5));
	OK(soft_cuGraphGetNodes(g, n, &count));
	CHECK_EQ(count, 6);
	OK(soft_cuGraphMemsetNodeGetParams(n[0], &ms));
	CHECK(ms.dst == p && ms.pitch == 32 && ms.value == 0x1111 && ms.elementSize == 2 && ms.width == 4 &&
		ms.height == 2);
	OK(soft_cuGraphMemcpyNodeGetParams(n[1], &m));
	CHECK(m.srcMemoryType == CU_MEMORYTYPE_HOST && m.srcHost == src && m.dstDevice == p && m.WidthInBytes == 8 &&
		m.Height == 1 && m.Depth == 1);
	OK(soft_cuGraphKernelNodeGetParams_v2(n[2], &k));
	CHECK(k.func == f_step && k.gridDimX == 1 && *(uint32_t *)k.kernelParams[0] == 5 &&
		*(uint64_t *)k.kernelParams[1] == p + 60);
	OK(soft_cuGraphBatchMemOpNodeGetParams(n[3], &mo));
	CHECK(mo.count == 1 && mo.paramArray[0].writeValue.value == 0x41424344);
	OK(soft_cuGraphHostNodeGetParams(n[5], &h));
	CHECK(h.fn == host_fn && h.userData == &called);
	OK(soft_cuMemsetD8_v2(p, 0, 64));
	run_once(g, s2);
	CHECK(called == 1 && runs(5) == 1);
	CHECK(!memcmp(out, "capturedDCBA", 12));
	memcpy(src, "again   ", 8); /* the source is read at launch, not at capture */
	run_once(g, s2);
	CHECK(!memcmp(out, "again   DCBA", 12));
	OK(soft_cuGraphDestroy(g));
	OK(soft_cuMemFree_v2(p));
}

static void fork_join(void)
{
	CUgraph g, g2;
	CUgraphNode n[8], d[4];
	size_t count = 8, nd;
	cuuint64_t id1 = 0, id2 = 0;
	CUstreamCaptureStatus st;
	const CUgraphNode *deps;
	const CUgraphEdgeData *data;

	reset_log();
	begin(s1);
	launch_step(s1, 1, 0);
	OK(soft_cuEventRecord(e1, s1));
	CHECK_EQ(status(s2), CU_STREAM_CAPTURE_STATUS_NONE);
	OK(soft_cuStreamWaitEvent(s2, e1, 0));
	CHECK_EQ(status(s2), CU_STREAM_CAPTURE_STATUS_ACTIVE);
	OK(soft_cuStreamGetCaptureInfo(s1, &st, &id1));
	OK(soft_cuStreamGetCaptureInfo_v3(s2, &st, &id2, &g2, &deps, &data, &nd));
	CHECK(id1 && id1 == id2 && nd == 1 && type_of(deps[0]) == CU_GRAPH_NODE_TYPE_KERNEL && data[0].type == 0);
	launch_step(s1, 2, 0);
	launch_step(s2, 3, 0);
	OK(soft_cuEventRecord(e2, s2));
	OK(soft_cuStreamWaitEvent(s1, e2, 0));
	launch_step(s1, 4, 0);
	OK(soft_cuStreamEndCapture(s1, &g));
	CHECK(g == g2);
	CHECK_EQ(status(s2), CU_STREAM_CAPTURE_STATUS_NONE);
	OK(soft_cuGraphGetNodes(g, n, &count));
	CHECK_EQ(count, 4);
	nd = 4;
	OK(soft_cuGraphNodeGetDependencies(n[3], d, &nd));
	CHECK(nd == 2 && d[0] == n[1] && d[1] == n[2]);
	run_once(g, s1);
	CHECK(stamp_of(1) < stamp_of(2) && stamp_of(1) < stamp_of(3) && stamp_of(4) > stamp_of(2) &&
		stamp_of(4) > stamp_of(3));
	CHECK_EQ(soft_cuStreamWaitEvent(s2, e2, 0), CUDA_ERROR_INVALID_VALUE); /* as on an H200 */
	CHECK_EQ(soft_cuEventQuery(e2), CUDA_ERROR_INVALID_VALUE);
	OK(soft_cuEventRecord(e2, s2)); /* an ordinary event again */
	OK(soft_cuEventSynchronize(e2));
	OK(soft_cuGraphDestroy(g));
}

/* A forked stream can be destroyed after it was joined; the stream in which the capture began cannot. */
static void destroy_forked_stream(void)
{
	CUstream side;
	CUgraph g;
	size_t count = 0;

	reset_log();
	OK(soft_cuStreamCreate(&side, CU_STREAM_NON_BLOCKING));
	begin(s1);
	launch_step(s1, 1, 0);
	OK(soft_cuEventRecord(e1, s1));
	OK(soft_cuStreamWaitEvent(side, e1, 0));
	launch_step(side, 2, 0);
	OK(soft_cuEventRecord(e2, side));
	OK(soft_cuStreamWaitEvent(s1, e2, 0));
	OK(soft_cuStreamDestroy_v2(side));
	launch_step(s1, 3, 0);
	OK(soft_cuStreamEndCapture(s1, &g));
	OK(soft_cuGraphGetNodes(g, NULL, &count));
	CHECK_EQ(count, 3);
	run_once(g, s1);
	CHECK(stamp_of(1) < stamp_of(2) && stamp_of(2) < stamp_of(3));
	OK(soft_cuGraphDestroy(g));
	begin(s1);
	CHECK_EQ(soft_cuStreamDestroy_v2(s1), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
	end_invalidated(s1);
}

static void errors(void)
{
	CUgraph g = NULL;
	CUdeviceptr p;
	CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
	CUstreamCaptureStatus st;
	CUevent own;
	CUstream blocking;

	OK(soft_cuEventCreate(&own, 0));
	OK(soft_cuEventRecord(own, s2));
	OK(soft_cuStreamSynchronize(s2));
	CHECK_EQ(soft_cuStreamEndCapture(s1, &g), CUDA_ERROR_ILLEGAL_STATE);
	CHECK_EQ(soft_cuStreamBeginCapture_v2(NULL, CU_STREAM_CAPTURE_MODE_GLOBAL),
		CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
	CHECK_EQ(soft_cuStreamBeginCapture_v2(s1, 3), CUDA_ERROR_INVALID_VALUE);
	begin(s1);
	CHECK_EQ(soft_cuStreamBeginCapture_v2(s1, CU_STREAM_CAPTURE_MODE_GLOBAL), CUDA_ERROR_ILLEGAL_STATE);
	OK(soft_cuStreamEndCapture(s1, &g));
	OK(soft_cuGraphDestroy(g));

	begin(s1); /* synchronising a captured stream */
	CHECK_EQ(soft_cuStreamSynchronize(s1), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
	CHECK_EQ(soft_cuStreamQuery(s1), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
	end_invalidated(s1);
	begin(s1);
	CHECK_EQ(soft_cuCtxSynchronize(), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
	end_invalidated(s1);
	begin(s1); /* unsafe calls */
	CHECK_EQ(soft_cuMemAlloc_v2(&p, 16), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
	end_invalidated(s1);
	begin(s1);
	CHECK_EQ(soft_cuEventQuery(own), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
	end_invalidated(s1);
	begin(s1);
	OK(soft_cuThreadExchangeStreamCaptureMode(&mode));
	CHECK_EQ(mode, CU_STREAM_CAPTURE_MODE_GLOBAL);
	OK(soft_cuMemAlloc_v2(&p, 16)); /* allowed: the thread is in relaxed mode */
	OK(soft_cuMemFree_v2(p));
	OK(soft_cuThreadExchangeStreamCaptureMode(&mode));
	CHECK_EQ(mode, CU_STREAM_CAPTURE_MODE_RELAXED);
	OK(soft_cuStreamEndCapture(s1, &g));
	OK(soft_cuGraphDestroy(g));
	OK(soft_cuStreamBeginCapture_v2(s1, CU_STREAM_CAPTURE_MODE_RELAXED));
	OK(soft_cuMemAlloc_v2(&p, 16));
	OK(soft_cuMemFree_v2(p));
	OK(soft_cuStreamEndCapture(s1, &g));
	OK(soft_cuGraphDestroy(g));

	begin(s1); /* captured events */
	launch_step(s1, 1, 0);
	OK(soft_cuEventRecord(e1, s1));
	CHECK_EQ(soft_cuEventSynchronize(e1), CUDA_ERROR_CAPTURED_EVENT);
	end_invalidated(s1);
	begin(s1); /* a dependency on uncaptured work */
	CHECK_EQ(soft_cuStreamWaitEvent(s1, own, 0), CUDA_ERROR_STREAM_CAPTURE_ISOLATION);
	end_invalidated(s1);

	begin(s1); /* forked, not joined */
	launch_step(s1, 1, 0);
	OK(soft_cuEventRecord(e1, s1));
	OK(soft_cuStreamWaitEvent(s2, e1, 0));
	launch_step(s2, 2, 0);
	CHECK_EQ(soft_cuStreamEndCapture(s1, &g), CUDA_ERROR_STREAM_CAPTURE_UNJOINED);
	CHECK(status(s1) == CU_STREAM_CAPTURE_STATUS_NONE && status(s2) == CU_STREAM_CAPTURE_STATUS_NONE);

	begin(s1); /* ended in another stream than it began in */
	launch_step(s1, 1, 0);
	OK(soft_cuEventRecord(e1, s1));
	OK(soft_cuStreamWaitEvent(s2, e1, 0));
	CHECK_EQ(soft_cuStreamEndCapture(s2, &g), CUDA_ERROR_STREAM_CAPTURE_UNMATCHED);
	end_invalidated(s1);

	begin(s1); /* two captures into one */
	begin(s2);
	launch_step(s1, 1, 0);
	OK(soft_cuEventRecord(e1, s1));
	CHECK_EQ(soft_cuStreamWaitEvent(s2, e1, 0), CUDA_ERROR_STREAM_CAPTURE_MERGE);
	end_invalidated(s1);
	end_invalidated(s2);

	OK(soft_cuStreamCreate(&blocking, CU_STREAM_DEFAULT));
	begin(blocking); /* the legacy stream would wait for it */
	CHECK_EQ(soft_cuStreamIsCapturing(NULL, &st), CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
	CHECK_EQ(soft_cuMemsetD8_v2(0x1000, 0, 1),
		CUDA_ERROR_INVALID_VALUE); /* an invalid address, so the call has no effect */
	CHECK_EQ(status(blocking), CU_STREAM_CAPTURE_STATUS_ACTIVE);
	CHECK_EQ(soft_cuLaunchHostFunc(NULL, host_fn, NULL), CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
	end_invalidated(blocking);
	begin(blocking);
	CHECK_EQ(soft_cuEventRecord(e1, NULL), CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
	end_invalidated(blocking);
	begin(blocking);
	CHECK_EQ(soft_cuStreamSynchronize(NULL), CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
	end_invalidated(blocking);
	OK(soft_cuStreamSynchronize(NULL));
	begin(s1); /* the legacy stream does not wait for a non-blocking stream */
	launch_step(NULL, 1, 0);
	OK(soft_cuStreamEndCapture(s1, &g));
	OK(soft_cuGraphDestroy(g));
	OK(soft_cuStreamDestroy_v2(blocking));
	OK(soft_cuEventDestroy_v2(own));
}

static void *other_thread(void *arg)
{
	CUgraph g;
	CUdeviceptr p;

	(void)arg;
	OK(soft_cuCtxSetCurrent(ctx));
	launch_step(s1, 7, 0); /* any thread may add to a capture */
	CHECK_EQ(soft_cuStreamEndCapture(s1, &g), CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD);
	OK(soft_cuMemAlloc_v2(&p, 16)); /* thread-local mode does not concern this thread */
	OK(soft_cuMemFree_v2(p));
	return NULL;
}

static void *relaxed_end(void *arg)
{
	OK(soft_cuCtxSetCurrent(ctx));
	OK(soft_cuStreamEndCapture(s1, arg));
	return NULL;
}

static void threads(void)
{
	pthread_t t;
	CUgraph g = NULL;
	size_t count;

	OK(soft_cuStreamBeginCapture_v2(s1, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
	pthread_create(&t, NULL, other_thread, NULL);
	pthread_join(t, NULL);
	OK(soft_cuStreamEndCapture(s1, &g));
	OK(soft_cuGraphGetNodes(g, NULL, &count));
	CHECK_EQ(count, 1);
	OK(soft_cuGraphDestroy(g));
	g = NULL;
	OK(soft_cuStreamBeginCapture_v2(s1, CU_STREAM_CAPTURE_MODE_RELAXED));
	pthread_create(&t, NULL, relaxed_end, &g);
	pthread_join(t, NULL);
	CHECK(g);
	OK(soft_cuGraphDestroy(g));
}

static void external(void)
{
	CUgraph g;
	CUgraphNode n[4];
	CUevent got;
	size_t count = 4;

	CHECK_EQ(soft_cuEventRecordWithFlags(e1, s1, CU_EVENT_RECORD_EXTERNAL), CUDA_ERROR_ILLEGAL_STATE);
	begin(s1);
	OK(soft_cuEventRecordWithFlags(e1, s1, CU_EVENT_RECORD_EXTERNAL));
	OK(soft_cuStreamWaitEvent(s1, e2, CU_EVENT_WAIT_EXTERNAL));
	OK(soft_cuStreamEndCapture(s1, &g));
	OK(soft_cuGraphGetNodes(g, n, &count));
	CHECK_EQ(count, 2);
	CHECK(type_of(n[0]) == CU_GRAPH_NODE_TYPE_EVENT_RECORD && type_of(n[1]) == CU_GRAPH_NODE_TYPE_WAIT_EVENT);
	OK(soft_cuGraphEventWaitNodeGetEvent(n[1], &got));
	CHECK(got == e2);
	run_once(g, s1);
	OK(soft_cuEventQuery(e1));
	OK(soft_cuGraphDestroy(g));
}

static void into_graph(void)
{
	CUgraph g, same;
	CUgraphNode a, b, n[8], d[4];
	size_t count = 8, nd = 4;

	OK(soft_cuGraphCreate(&g, 0));
	a = add_step(g, 1, 0, NULL, 0);
	OK(soft_cuStreamBeginCaptureToGraph(s1, g, &a, NULL, 1, CU_STREAM_CAPTURE_MODE_GLOBAL));
	CHECK_EQ(soft_cuGraphDestroy(g), CUDA_ERROR_ILLEGAL_STATE);
	launch_step(s1, 2, 0);
	b = add_step(g, 3, 0, NULL, 0); /* added explicitly, during the capture */
	OK(soft_cuStreamUpdateCaptureDependencies(s1, &b, 1, CU_STREAM_ADD_CAPTURE_DEPENDENCIES));
	launch_step(s1, 4, 0);
	OK(soft_cuStreamUpdateCaptureDependencies(s1, &a, 1, CU_STREAM_SET_CAPTURE_DEPENDENCIES));
	launch_step(s1, 5, 0);
	CHECK_EQ(soft_cuStreamUpdateCaptureDependencies(s1, &a, 1, 9), CUDA_ERROR_INVALID_VALUE);
	OK(soft_cuStreamEndCapture(s1, &same));
	CHECK(same == g);
	OK(soft_cuGraphGetNodes(g, n, &count));
	CHECK_EQ(count, 5);
	OK(soft_cuGraphNodeGetDependencies(n[3], d, &nd));
	CHECK(nd == 2 && d[0] == n[1] && d[1] == b);
	nd = 4;
	OK(soft_cuGraphNodeGetDependencies(n[4], d, &nd));
	CHECK(nd == 1 && d[0] == a);
	CHECK_EQ(soft_cuStreamUpdateCaptureDependencies(s1, &a, 1, 0), CUDA_ERROR_ILLEGAL_STATE);
	OK(soft_cuGraphDestroy(g));
}

/* A graph launched into a capture is a child node; stream-ordered allocations become alloc and free nodes. */
static void children_and_memory(void)
{
	CUgraph g, h;
	CUgraphExec x;
	CUgraphNode n[8];
	CUdeviceptr p = 0;
	CUDA_MEM_ALLOC_NODE_PARAMS ap;
	size_t count = 8;
	uint32_t out = 0;

	reset_log();
	begin(s1);
	launch_step(s1, 1, 0);
	OK(soft_cuStreamEndCapture(s1, &g));
	OK(soft_cuGraphInstantiateWithFlags(&x, g, 0));
	begin(s1);
	OK(soft_cuMemAllocAsync(&p, 4096, s1));
	CHECK(p);
	OK(soft_cuMemsetD32Async(p, 100, 1, s1));
	launch_step(s1, 2, p);
	OK(soft_cuMemcpyDtoHAsync_v2(&out, p, 4, s1));
	OK(soft_cuMemFreeAsync(p, s1));
	OK(soft_cuGraphLaunch(x, s1));
	OK(soft_cuStreamEndCapture(s1, &h));
	OK(soft_cuGraphGetNodes(h, n, &count));
	CHECK_EQ(count, 6);
	CHECK(type_of(n[0]) == CU_GRAPH_NODE_TYPE_MEM_ALLOC && type_of(n[4]) == CU_GRAPH_NODE_TYPE_MEM_FREE &&
		type_of(n[5]) == CU_GRAPH_NODE_TYPE_GRAPH);
	OK(soft_cuGraphMemAllocNodeGetParams(n[0], &ap));
	CHECK(ap.dptr == p && ap.bytesize == 4096);
	run_once(h, s1);
	CHECK(out == 102 && runs(1) == 1);
	OK(soft_cuGraphExecDestroy(x));
	OK(soft_cuGraphDestroy(g));
	OK(soft_cuGraphDestroy(h));
}

/* A node for a launch by CUkernel reports the CUkernel, as the CUDA runtime expects. */
static void by_kernel(void)
{
	uint32_t id = 9;
	uint64_t ptr = 0;
	void *args[] = {&id, &ptr};
	CUDA_KERNEL_NODE_PARAMS k;
	CUDA_KERNEL_NODE_PARAMS_v1 old;
	CUlibrary lib;
	CUkernel kern;
	CUgraph g;
	CUgraphNode n;
	size_t count = 1;

	reset_log();
	OK(soft_cuLibraryLoadData(&lib, ptx, NULL, NULL, 0, NULL, NULL, 0));
	OK(soft_cuLibraryGetKernel(&kern, lib, "step"));
	begin(s1);
	OK(soft_cuLaunchKernel((CUfunction)kern, 1, 1, 1, 1, 1, 1, 0, s1, args, NULL));
	OK(soft_cuStreamEndCapture(s1, &g));
	OK(soft_cuGraphGetNodes(g, &n, &count));
	OK(soft_cuGraphKernelNodeGetParams_v2(n, &k));
	CHECK(k.kern == kern && !k.func && k.ctx == ctx && *(uint32_t *)k.kernelParams[0] == 9);
	OK(soft_cuGraphKernelNodeSetParams_v2(n, &k)); /* parameters that were read can be set */
	OK(soft_cuGraphKernelNodeGetParams(n, &old));
	CHECK(old.func);
	OK(soft_cuGraphKernelNodeSetParams(n, &old));
	run_once(g, s1);
	CHECK_EQ(runs(9), 1);
	OK(soft_cuGraphDestroy(g));
	OK(soft_cuLibraryUnload(lib));
}

/* A context that ends also ends its captures. */
static void context_destroyed(void)
{
	CUcontext c;
	CUstream s;
	CUevent e;

	OK(soft_cuCtxCreate_v2(&c, 0, 0));
	OK(soft_cuStreamCreate(&s, CU_STREAM_DEFAULT));
	OK(soft_cuEventCreate(&e, 0));
	begin(s);
	OK(soft_cuLaunchHostFunc(s, host_fn, NULL));
	OK(soft_cuEventRecord(e, s));
	OK(soft_cuCtxDestroy_v2(c));
	OK(soft_cuCtxSetCurrent(ctx));
}

int main(void)
{
	setup();
	OK(soft_cuStreamCreate(&s1, CU_STREAM_NON_BLOCKING));
	OK(soft_cuStreamCreate(&s2, CU_STREAM_NON_BLOCKING));
	OK(soft_cuEventCreate(&e1, 0));
	OK(soft_cuEventCreate(&e2, 0));
	kinds();
	fork_join();
	destroy_forked_stream();
	errors();
	threads();
	external();
	into_graph();
	children_and_memory();
	by_kernel();
	context_destroyed();
	OK(soft_cuEventDestroy_v2(e1));
	OK(soft_cuEventDestroy_v2(e2));
	OK(soft_cuStreamDestroy_v2(s1));
	OK(soft_cuStreamDestroy_v2(s2));
	OK(soft_cuCtxDestroy_v2(ctx));
	return RESULT();
}
