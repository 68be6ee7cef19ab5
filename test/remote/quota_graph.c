/* Quota and graphs: memory that graph nodes allocate, and memory that stays allocated after a launch. */
#include "quota.h"

static CUgraphExec graph_exec(size_t size, int frees, CUdeviceptr *p)
{
	CUDA_MEM_ALLOC_NODE_PARAMS a = {.bytesize = size,
		.poolProps = {
			.allocType = CU_MEM_ALLOCATION_TYPE_PINNED, .location = {CU_MEM_LOCATION_TYPE_DEVICE, device}}};
	CUgraphNode alloc, give;
	CUgraphExec exec = NULL;
	CUgraph g;

	OK(cuGraphCreate(&g, 0));
	OK(cuGraphAddMemAllocNode(&alloc, g, NULL, 0, &a));
	if (frees)
		OK(cuGraphAddMemFreeNode(&give, g, &alloc, 1, a.dptr));
	OK(cuGraphInstantiateWithFlags(&exec, g, 0));
	OK(cuGraphDestroy(g));
	*p = a.dptr;
	return exec;
}

static void graph_nodes(void)
{
	CUdeviceptr p, q, d;
	CUgraphExec a = graph_exec(quota / 2, 0, &p), b = graph_exec(quota / 4 * 3, 1, &q),
		    c = graph_exec(quota + 1, 1, &q);

	LEFT(quota); /* only a launch allocates memory */
	CHECK_EQ(cuGraphLaunch(c, stream), CUDA_ERROR_OUT_OF_MEMORY);
	CHECK_EQ(cuGraphUpload(c, stream), CUDA_ERROR_OUT_OF_MEMORY);
	OK(cuGraphLaunch(b, stream));
	OK(cuStreamSynchronize(stream));
	OK(cuGraphLaunch(a, stream)); /* memory cached for b is available to a */
	OK(cuStreamSynchronize(stream));
	LEFT(quota / 2);
	CHECK_EQ(cuGraphLaunch(b, stream), CUDA_ERROR_OUT_OF_MEMORY);
	CHECK_EQ(cuMemAlloc_v2(&d, quota / 2 + 1), CUDA_ERROR_OUT_OF_MEMORY);
	OK(cuMemAlloc_v2(&d, quota / 2));
	LEFT(0);
	OK(cuMemFree_v2(d));
	OK(cuMemFreeAsync(p, stream));
	OK(cuStreamSynchronize(stream));
	OK(cuMemAlloc_v2(&d, quota));
	OK(cuMemFree_v2(d));
	for (int i = 0; i < 4; i++)
		OK(cuGraphLaunch(b, stream));
	OK(cuStreamSynchronize(stream));
	OK(cuGraphExecDestroy(a));
	OK(cuGraphExecDestroy(b));
	OK(cuGraphExecDestroy(c));
	OK(cuDeviceGraphMemTrim(device));
	LEFT(quota);
}

/* An allocation in a capture belongs to the graph: only a launch counts it. */
static void graph_captured(void)
{
	CUgraphExec exec = NULL;
	CUdeviceptr p, d;
	CUgraph g;

	OK(cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
	OK(cuMemAllocAsync(&p, quota / 2, stream));
	OK(cuMemsetD8Async(p, 1, 4096, stream));
	OK(cuMemFreeAsync(p, stream));
	OK(cuStreamEndCapture(stream, &g));
	LEFT(quota);
	OK(cuGraphInstantiateWithFlags(&exec, g, 0));
	OK(cuMemAlloc_v2(&d, quota / 2 + MB));
	CHECK_EQ(cuGraphLaunch(exec, stream), CUDA_ERROR_OUT_OF_MEMORY);
	OK(cuMemFree_v2(d));
	OK(cuMemAlloc_v2(&d, quota / 2));
	OK(cuGraphLaunch(exec, stream));
	OK(cuGraphLaunch(exec, stream));
	OK(cuStreamSynchronize(stream));
	OK(cuGraphExecDestroy(exec));
	OK(cuGraphDestroy(g));
	OK(cuMemFree_v2(d));
	OK(cuDeviceGraphMemTrim(device));
	LEFT(quota);
}

/* A captured allocation without a free node, and one larger than the quota. */
static void graph_left(void)
{
	CUgraphExec exec = NULL;
	CUdeviceptr p, d;
	CUgraph g;

	OK(cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
	OK(cuMemAllocAsync(&p, quota / 2, stream));
	OK(cuStreamEndCapture(stream, &g));
	LEFT(quota);
	OK(cuGraphInstantiateWithFlags(&exec, g, 0));
	OK(cuGraphDestroy(g));
	OK(cuGraphLaunch(exec, stream));
	OK(cuStreamSynchronize(stream));
	OK(cuGraphExecDestroy(exec)); /* its allocation stays */
	LEFT(quota / 2);
	CHECK_EQ(cuMemAlloc_v2(&d, quota / 2 + 1), CUDA_ERROR_OUT_OF_MEMORY);
	OK(cuMemFree_v2(p));
	OK(cuDeviceGraphMemTrim(device));
	LEFT(quota);
	OK(cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
	OK(cuMemAllocAsync(&p, quota + 1, stream));
	OK(cuMemFreeAsync(p, stream));
	OK(cuStreamEndCapture(stream, &g));
	OK(cuGraphInstantiateWithFlags(&exec, g, 0));
	CHECK_EQ(cuGraphLaunch(exec, stream), CUDA_ERROR_OUT_OF_MEMORY);
	OK(cuGraphExecDestroy(exec));
	CHECK_EQ(cuGraphInstantiateWithFlags(&exec, g, CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD), CUDA_ERROR_OUT_OF_MEMORY);
	OK(cuGraphDestroy(g));
	LEFT(quota);
}

int quota_graphs(void)
{
	graph_nodes();
	graph_captured();
	graph_left();
	return failures;
}
