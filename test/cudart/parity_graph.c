/* Graphs: capture, topology, instantiation, update, user objects. */
#include "test/cudart/parity.h"

static const dim3 one = {1, 1, 1}, block = {32, 1, 1};

static void nothing(void *data)
{
	(void)data;
}

static void try_capture(cudaStream_t s, int *out)
{
	cudaStreamCaptureStatus status = 9;
	CUstreamCaptureMode mode = 1;
	cudaGraph_t g = NULL;
	cudaGraphExec_t x = NULL;
	int value = 7, result[32];
	void *args[] = {&out, &value};
	cuuint64_t flags = 9;

	TRY(cudaStreamIsCapturing, s, &status);
	SHOW(status);
	TRY(cudaStreamIsCapturing, s, NULL);
	TRY(cudaStreamEndCapture, s, &g);
	TRY(cudaStreamBeginCapture, NULL, 0);
	TRY(cudaStreamBeginCapture, s, 9);
	TRY(cudaStreamBeginCapture, s, 2);
	TRY(cudaStreamBeginCapture, s, 0);
	TRY(cudaStreamIsCapturing, s, &status);
	SHOW(status);
	TRY(cudaLaunchKernel, &parity_plus, one, block, args, 0, s);
	TRY(cudaMemsetAsync, out + 16, 0, 4, s);
	TRY(cudaLaunchHostFunc, s, nothing, NULL);
	TRY(cudaStreamEndCapture, s, &g);
	TRY(cudaGraphInstantiateWithFlags, &x, g, 0);
	TRY(cudaGraphLaunch, x, s);
	TRY(cudaGraphLaunch_ptsz, x, NULL);
	TRY(cudaStreamSynchronize, s);
	TRY(cudaMemcpy, result, out, sizeof result, cudaMemcpyDeviceToHost);
	SHOW(result[3]);
	SHOW(result[16]);
	TRY(cudaGraphExecGetFlags, x, &flags);
	SHOW(flags);
	TRY(cudaGraphUpload, x, s);
	TRY(cudaGraphLaunch, NULL, s);
	TRY(cudaGraphLaunch, x, BAD(cudaStream_t));
	TRY(cudaGraphExecDestroy, x);
	TRY(cudaGraphExecDestroy, NULL);
	TRY(cudaGraphDestroy, g);
	TRY(cudaGraphDestroy, NULL);
	TRY(cudaThreadExchangeStreamCaptureMode, &mode);
	SHOW(mode);
	TRY(cudaThreadExchangeStreamCaptureMode, &mode);
	TRY(cudaThreadExchangeStreamCaptureMode, NULL);
	TRY(cudaStreamBeginCapture, s, 2);
	TRY(cudaStreamSynchronize, s);
	TRY(cudaStreamIsCapturing, s, &status);
	SHOW(status);
	TRY(cudaMalloc, (void **)&out, 64);
	TRY(cudaStreamEndCapture, s, &g);
	SHOW(!!g);
}

static void try_topology(void)
{
	cudaGraph_t g = NULL, clone = NULL, child = NULL;
	cudaGraphNode_t a = NULL, b = NULL, c = NULL, list[4];
	CUgraphNodeType type = 99;
	size_t n = 4;

	TRY(cudaGraphCreate, &g, 0);
	TRY(cudaGraphCreate, &g, 5);
	TRY(cudaGraphCreate, NULL, 0);
	TRY(cudaGraphCreate, &child, 0);
	TRY(cudaGraphAddEmptyNode, &a, g, NULL, 0);
	TRY(cudaGraphAddEmptyNode, &b, g, &a, 1);
	TRY(cudaGraphAddEmptyNode, NULL, g, NULL, 0);
	TRY(cudaGraphAddEmptyNode, &c, NULL, NULL, 0);
	TRY(cudaGraphAddEmptyNode, &c, g, NULL, 1);
	TRY(cudaGraphAddChildGraphNode, &c, g, &b, 1, child);
	TRY(cudaGraphAddChildGraphNode, &c, g, &b, 1, NULL);
	TRY(cudaGraphChildGraphNodeGetGraph, c, &clone);
	TRY(cudaGraphChildGraphNodeGetGraph, a, &clone);
	TRY(cudaGraphNodeGetType, a, &type);
	SHOW(type);
	TRY(cudaGraphNodeGetType, c, &type);
	SHOW(type);
	TRY(cudaGraphNodeGetType, NULL, &type);
	TRY(cudaGraphGetNodes, g, list, &n);
	SHOW(n);
	TRY(cudaGraphGetNodes, g, NULL, &n);
	SHOW(n);
	TRY(cudaGraphGetNodes, g, list, NULL);
	TRY(cudaGraphGetRootNodes, g, NULL, &n);
	SHOW(n);
#if CUDART_MAJOR == 12
	TRY(cudaGraphGetEdges, g, NULL, NULL, &n);
	SHOW(n);
	TRY(cudaGraphNodeGetDependencies, b, NULL, &n);
	SHOW(n);
	TRY(cudaGraphNodeGetDependentNodes, a, NULL, &n);
	SHOW(n);
	TRY(cudaGraphAddDependencies, g, &a, &c, 1);
	TRY(cudaGraphAddDependencies, g, &c, &a, 1);
	TRY(cudaGraphRemoveDependencies, g, &a, &c, 1);
	TRY(cudaGraphRemoveDependencies, g, &a, &c, 1);
#else
	TRY(cudaGraphGetEdges, g, NULL, NULL, NULL, &n);
	SHOW(n);
	TRY(cudaGraphNodeGetDependencies, b, NULL, NULL, &n);
	SHOW(n);
	TRY(cudaGraphNodeGetDependentNodes, a, NULL, NULL, &n);
	SHOW(n);
	TRY(cudaGraphAddDependencies, g, &a, &c, NULL, 1);
	TRY(cudaGraphAddDependencies, g, &c, &a, NULL, 1);
	TRY(cudaGraphRemoveDependencies, g, &a, &c, NULL, 1);
	TRY(cudaGraphRemoveDependencies, g, &a, &c, NULL, 1);
#endif
	TRY(cudaGraphClone, &clone, g);
	TRY(cudaGraphClone, NULL, g);
	TRY(cudaGraphNodeFindInClone, &c, a, clone);
	TRY(cudaGraphNodeFindInClone, &c, a, g);
	TRY(cudaGraphDestroyNode, b);
	TRY(cudaGraphDestroyNode, b);
	TRY(cudaGraphDestroyNode, NULL);
	TRY(cudaGraphDebugDotPrint, g, "/nowhere/dot", 0);
	TRY(cudaGraphDestroy, clone);
	TRY(cudaGraphDestroy, child);
	TRY(cudaGraphDestroy, g);
}

static void try_objects(void)
{
	cudaUserObject_t o = NULL;
	cudaGraph_t g = NULL;
	int data = 0;

	TRY(cudaUserObjectCreate, &o, &data, nothing, 1, 1);
	TRY(cudaUserObjectCreate, &o, &data, nothing, 1, 0);
	TRY(cudaUserObjectCreate, &o, &data, NULL, 1, 1);
	TRY(cudaUserObjectCreate, &o, &data, nothing, 0, 1);
	TRY(cudaUserObjectRetain, o, 2);
	TRY(cudaUserObjectRetain, o, 0);
	TRY(cudaGraphCreate, &g, 0);
	TRY(cudaGraphRetainUserObject, g, o, 1, 0);
	TRY(cudaGraphReleaseUserObject, g, o, 1);
	TRY(cudaUserObjectRelease, o, 3);
	TRY(cudaUserObjectRelease, NULL, 1);
	TRY(cudaGraphDestroy, g);
}

void parity_graph(void)
{
	cudaStream_t s = NULL;
	int *out = NULL;

	TRY(cudaMalloc, (void **)&out, 4096);
	TRY(cudaStreamCreate, &s);
	try_capture(s, out);
	try_topology();
	try_objects();
	TRY(cudaStreamDestroy, s);
	TRY(cudaFree, out);
}
