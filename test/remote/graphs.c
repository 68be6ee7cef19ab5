/*
 * Graphs: nodes of all kinds and their parameters, clones, updates, captures that fork and join; host functions and
 * destructors run in this process, wherever the device is.
 */
#include <stdatomic.h>
#include "driver.h"

static atomic_int ran, destroyed;

static void count(void *arg)
{
	ran += (int)(intptr_t)arg;
}

static void destroy(void *arg)
{
	destroyed += (int)(intptr_t)arg;
}

static CUDA_KERNEL_NODE_PARAMS kernel(CUfunction f, void **params)
{
	return (CUDA_KERNEL_NODE_PARAMS){.func = f,
		.gridDimX = 1,
		.gridDimY = 1,
		.gridDimZ = 1,
		.blockDimX = 1,
		.blockDimY = 1,
		.blockDimZ = 1,
		.kernelParams = params};
}

static CUDA_MEMCPY3D copy(CUdeviceptr to, CUdeviceptr from, size_t bytes)
{
	return (CUDA_MEMCPY3D){.srcMemoryType = CU_MEMORYTYPE_DEVICE,
		.srcDevice = from,
		.dstMemoryType = CU_MEMORYTYPE_DEVICE,
		.dstDevice = to,
		.WidthInBytes = bytes,
		.Height = 1,
		.Depth = 1};
}

static void test_explicit_nodes(void)
{
	CUdeviceptr p = memory(64), q = memory(64);
	unsigned five = 5, six = 6;
	void *params[] = {&p, &five}, *other[] = {&p, &six};
	CUDA_KERNEL_NODE_PARAMS k = kernel(add, params), back;
	CUDA_MEMSET_NODE_PARAMS zero = {.dst = p, .value = 1, .elementSize = 4, .width = 1, .height = 1}, zero_back;
	CUDA_MEMCPY3D c = copy(q, p, 4), c_back;
	CUDA_HOST_NODE_PARAMS h = {count, (void *)1}, h_back;
	CUgraphNode n[6], found, nodes[8];
	CUgraphNodeType type;
	CUgraph g, clone;
	CUgraphExec exec;
	CUevent event;
	size_t many = 8;

	OK(cuGraphCreate(&g, 0));
	OK(cuEventCreate(&event, 0));
	OK(cuGraphAddMemsetNode(&n[0], g, NULL, 0, &zero, context));
	OK(cuGraphAddKernelNode_v2(&n[1], g, &n[0], 1, &k));
	OK(cuGraphAddMemcpyNode(&n[2], g, &n[1], 1, &c, context));
	OK(cuGraphAddHostNode(&n[3], g, &n[2], 1, &h));
	OK(cuGraphAddEventRecordNode(&n[4], g, &n[3], 1, event));
	OK(cuGraphAddEmptyNode(&n[5], g, &n[4], 1));
	OK(cuGraphGetNodes(g, nodes, &many));
	CHECK_EQ(many, 6);
	OK(cuGraphNodeGetType(n[3], &type));
	CHECK_EQ(type, CU_GRAPH_NODE_TYPE_HOST);

	OK(cuGraphKernelNodeGetParams_v2(n[1], &back));
	CHECK(back.func == add && back.blockDimX == 1 && back.kernelParams);
	CHECK(back.kernelParams && *(CUdeviceptr *)back.kernelParams[0] == p && *(unsigned *)back.kernelParams[1] == 5);
	OK(cuGraphMemsetNodeGetParams(n[0], &zero_back));
	CHECK(zero_back.dst == p && zero_back.value == 1);
	OK(cuGraphMemcpyNodeGetParams(n[2], &c_back));
	CHECK(c_back.dstDevice == q && c_back.srcDevice == p && c_back.WidthInBytes == 4);
	OK(cuGraphHostNodeGetParams(n[3], &h_back));
	CHECK(h_back.fn == count && h_back.userData == (void *)1);

	OK(cuGraphInstantiateWithFlags(&exec, g, 0));
	ran = 0;
	OK(cuGraphLaunch(exec, NULL));
	OK(cuGraphLaunch(exec, NULL));
	OK(cuStreamSynchronize(NULL));
	CHECK_EQ(ran, 2);
	OK(cuEventQuery(event));
	if (results())
		CHECK_EQ(word_at(q), 6);
	k = kernel(add, other);
	h.userData = (void *)10;
	OK(cuGraphExecKernelNodeSetParams_v2(exec, n[1], &k));
	OK(cuGraphExecHostNodeSetParams(exec, n[3], &h));
	OK(cuGraphLaunch(exec, NULL));
	OK(cuCtxSynchronize());
	CHECK_EQ(ran, 12);
	if (results())
		CHECK_EQ(word_at(q), 7);

	OK(cuGraphClone(&clone, g));
	OK(cuGraphNodeFindInClone(&found, n[1], clone));
	OK(cuGraphKernelNodeSetParams_v2(found, &k));
	CUgraphExecUpdateResultInfo info;
	OK(cuGraphExecUpdate_v2(exec, clone, &info));
	CHECK_EQ(info.result, CU_GRAPH_EXEC_UPDATE_SUCCESS);
	OK(cuGraphDestroyNode(found));
	CHECK(cuGraphExecUpdate_v2(exec, clone, &info) != CUDA_SUCCESS);
	CHECK(info.result != CU_GRAPH_EXEC_UPDATE_SUCCESS);
	CHECK(cuGraphAddKernelNode_v2(&n[0], (CUgraph)(uintptr_t)0x1230, NULL, 0, &k) != CUDA_SUCCESS);

	OK(cuGraphExecDestroy(exec));
	OK(cuGraphDestroy(clone));
	OK(cuGraphDestroy(g));
	OK(cuEventDestroy_v2(event));
}

static void test_general_nodes(void)
{
	CUdeviceptr p = memory(64);
	unsigned value = 3;
	void *params[] = {&p, &value};
	CUgraphNodeParams k = {.type = CU_GRAPH_NODE_TYPE_KERNEL}, h = {.type = CU_GRAPH_NODE_TYPE_HOST},
			  child = {.type = CU_GRAPH_NODE_TYPE_GRAPH};
	CUDA_MEM_ALLOC_NODE_PARAMS a = {.poolProps = {.allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
						.location = {CU_MEM_LOCATION_TYPE_DEVICE, 0}},
					   .bytesize = 4096},
				   a_back;
	CUDA_GRAPH_INSTANTIATE_PARAMS how = {0};
	CUgraphNode n, m, s, f;
	CUgraph inner, outer;
	CUgraphExec exec;

	CUDA_KERNEL_NODE_PARAMS one = kernel(add, params);
	memcpy(&k.kernel, &one, sizeof one);
	h.host.fn = count;
	h.host.userData = (void *)1;
	OK(cuGraphCreate(&inner, 0));
	OK(cuGraphCreate(&outer, 0));
	OK(cuGraphAddNode_v2(&n, inner, NULL, NULL, 0, &k));
	OK(cuGraphAddNode_v2(&m, inner, &n, NULL, 1, &h));
	child.graph.graph = inner;
	OK(cuGraphAddNode(&n, outer, NULL, 0, &child));
	OK(cuGraphAddMemAllocNode(&m, outer, &n, 1, &a));
	CHECK(a.dptr != 0);
	OK(cuGraphMemAllocNodeGetParams(m, &a_back));
	CHECK(a_back.dptr == a.dptr && a_back.bytesize == 4096);
	CUDA_MEMSET_NODE_PARAMS set = {.dst = a.dptr, .value = 1, .elementSize = 1, .width = 16, .height = 1};
	OK(cuGraphAddMemsetNode(&s, outer, &m, 1, &set, context));
	OK(cuGraphAddMemFreeNode(&f, outer, &s, 1, a.dptr));
	OK(cuGraphInstantiateWithParams(&exec, outer, &how));
	CHECK_EQ(how.result_out, CUDA_GRAPH_INSTANTIATE_SUCCESS);
	ran = 0;
	for (int i = 0; i < 3; i++)
		OK(cuGraphLaunch(exec, NULL));
	OK(cuCtxSynchronize());
	CHECK_EQ(ran, 3);
	if (results())
		CHECK_EQ(word_at(p), 9);
	char path[] = "/tmp/gangway-dot-XXXXXX", line[64] = "";
	int fd = mkstemp(path);
	OK(cuGraphDebugDotPrint(outer, path, CU_GRAPH_DEBUG_DOT_FLAGS_VERBOSE));
	CHECK(read(fd, line, sizeof line - 1) > 7 && strstr(line, "digraph"));
	close(fd);
	unlink(path);
	OK(cuGraphExecDestroy(exec));
	OK(cuGraphDestroy(outer));
	OK(cuGraphDestroy(inner));
}

static void test_capture(void)
{
	CUdeviceptr p = memory(64);
	unsigned value = 2;
	void *params[] = {&p, &value};
	CUstreamCaptureStatus status;
	CUstream a, b;
	CUevent fork, join;
	CUgraph g = NULL, now = NULL;
	CUgraphExec exec;
	const CUgraphNode *deps = NULL;
	cuuint64_t id = 0;
	size_t n = 0;

	OK(cuStreamCreate(&a, CU_STREAM_NON_BLOCKING));
	OK(cuStreamCreate(&b, CU_STREAM_NON_BLOCKING));
	OK(cuEventCreate(&fork, CU_EVENT_DISABLE_TIMING));
	OK(cuEventCreate(&join, CU_EVENT_DISABLE_TIMING));
	OK(cuStreamIsCapturing(a, &status));
	CHECK_EQ(status, CU_STREAM_CAPTURE_STATUS_NONE);
	OK(cuStreamBeginCapture_v2(a, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
	OK(cuLaunchKernel(add, 1, 1, 1, 1, 1, 1, 0, a, params, NULL));
	OK(cuEventRecord(fork, a));
	OK(cuStreamWaitEvent(b, fork, 0));
	OK(cuStreamIsCapturing(b, &status));
	CHECK_EQ(status, CU_STREAM_CAPTURE_STATUS_ACTIVE);
	OK(cuLaunchHostFunc(b, count, (void *)1));
	OK(cuEventRecord(join, b));
	OK(cuStreamWaitEvent(a, join, 0));
	OK(cuStreamGetCaptureInfo_v2(a, &status, &id, &now, &deps, &n));
	CHECK_EQ(status, CU_STREAM_CAPTURE_STATUS_ACTIVE);
	CHECK(now && n >= 1 && deps && deps[0]);
	OK(cuLaunchKernel(add, 1, 1, 1, 1, 1, 1, 0, a, params, NULL));
	OK(cuStreamEndCapture(a, &g));
	CHECK(g == now);
	OK(cuStreamIsCapturing(b, &status));
	CHECK_EQ(status, CU_STREAM_CAPTURE_STATUS_NONE);
	OK(cuGraphGetNodes(g, NULL, &n));
	CHECK_EQ(n, 3);
	OK(cuGraphInstantiateWithFlags(&exec, g, 0));
	ran = 0;
	for (int i = 0; i < 10; i++)
		OK(cuGraphLaunch(exec, b));
	OK(cuStreamSynchronize(b));
	CHECK_EQ(ran, 10);
	if (results())
		CHECK_EQ(word_at(p), 40);
	/* Synchronizing a captured stream invalidates the capture. */
	OK(cuStreamBeginCapture_v2(a, CU_STREAM_CAPTURE_MODE_RELAXED));
	CHECK(cuStreamSynchronize(a) != CUDA_SUCCESS);
	CHECK_EQ(cuStreamEndCapture(a, &g), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
	OK(cuStreamSynchronize(a));
	CHECK(cuStreamEndCapture(a, &g) != CUDA_SUCCESS);
	OK(cuGraphExecDestroy(exec));
	OK(cuEventDestroy_v2(fork));
	OK(cuEventDestroy_v2(join));
	OK(cuStreamDestroy_v2(a));
	OK(cuStreamDestroy_v2(b));
}

/* A stream of another context takes part in a capture, and is an ordinary stream again afterwards. */
static void test_capture_across_contexts(void)
{
	unsigned value = 0x05050505;
	CUdeviceptr p = 0;
	CUcontext other;
	CUevent fork, join;
	CUstream a, b;
	CUgraph g;

	OK(cuStreamCreate(&a, CU_STREAM_NON_BLOCKING));
	OK(cuEventCreate(&fork, CU_EVENT_DISABLE_TIMING));
	OK(cuCtxCreate_v2(&other, 0, 0));
	OK(cuStreamCreate(&b, CU_STREAM_NON_BLOCKING));
	OK(cuEventCreate(&join, CU_EVENT_DISABLE_TIMING));
	OK(cuMemAlloc_v2(&p, 64));
	OK(cuStreamBeginCapture_v2(a, CU_STREAM_CAPTURE_MODE_RELAXED));
	OK(cuEventRecord(fork, a));
	OK(cuStreamWaitEvent(b, fork, 0));
	OK(cuMemsetD8Async(p, 1, 64, b));
	OK(cuEventRecord(join, b));
	OK(cuStreamWaitEvent(a, join, 0));
	OK(cuStreamEndCapture(a, &g));
	OK(cuMemcpyHtoDAsync_v2(p, &value, sizeof value, b));
	OK(cuStreamSynchronize(b));
	CHECK_EQ(word_at(p), value);
	OK(cuGraphDestroy(g));
	OK(cuCtxDestroy_v2(other));
	OK(cuCtxSetCurrent(context));
	OK(cuEventDestroy_v2(fork));
	OK(cuStreamDestroy_v2(a));
}

static void test_user_objects(void)
{
	CUuserObject object;
	CUgraph g;

	OK(cuGraphCreate(&g, 0));
	OK(cuUserObjectCreate(&object, (void *)7, destroy, 1, CU_USER_OBJECT_NO_DESTRUCTOR_SYNC));
	OK(cuGraphRetainUserObject(g, object, 1, CU_GRAPH_USER_OBJECT_MOVE));
	CHECK_EQ(destroyed, 0);
	OK(cuGraphDestroy(g));
	for (int i = 0; i < 100000 && !destroyed; i++)
		usleep(1000);
	CHECK_EQ(destroyed, 7);
}

/* More nodes than fit into a short reply. */
static void test_many_nodes(void)
{
	static CUgraphNode nodes[2000], back[2000];
	size_t count = 2000;
	CUgraph g;

	OK(cuGraphCreate(&g, 0));
	for (size_t i = 0; i < count; i++)
		OK(cuGraphAddEmptyNode(&nodes[i], g, NULL, 0));
	OK(cuGraphGetNodes(g, back, &count));
	CHECK(count == 2000 && !memcmp(nodes, back, sizeof nodes));
	OK(cuGraphDestroy(g));
}

int main(void)
{
	start();
	test_many_nodes();
	test_explicit_nodes();
	test_general_nodes();
	test_capture();
	test_capture_across_contexts();
	test_user_objects();
	return RESULT();
}
