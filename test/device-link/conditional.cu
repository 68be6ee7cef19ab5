/*
 * Conditional graph nodes. A kernel calls cudaGraphSetConditional to decide whether (IF) and how often (WHILE) a body runs.
 * cudaStreamEndCapture accepts a null graph pointer after a capture into a body.
 */
#include <cstdio>
#include "../check.h"

__global__ void decide(const int *p, cudaGraphConditionalHandle handle)
{
	cudaGraphSetConditional(handle, *p & 1);
}

__global__ void count(int *p)
{
	p[1]++;
}

__global__ void count_down(int *p, cudaGraphConditionalHandle handle)
{
	p[1]++;
	if (--p[0] == 0)
		cudaGraphSetConditional(handle, 0);
}

static int run(cudaGraph_t graph, int *d, int first, int want)
{
	cudaGraphExec_t exec;
	int values[2] = {first, 0};

	OK(cudaGraphInstantiate(&exec, graph, 0));
	OK(cudaMemcpy(d, values, sizeof values, cudaMemcpyHostToDevice));
	OK(cudaGraphLaunch(exec, 0));
	OK(cudaDeviceSynchronize());
	OK(cudaMemcpy(values, d, sizeof values, cudaMemcpyDeviceToHost));
	OK(cudaGraphExecDestroy(exec));
	if (values[1] != want)
		printf("initial value %d: got %d, expected %d\n", first, values[1], want);
	return values[1] != want;
}

static int once(int *d)
{
	cudaGraph_t graph;
	cudaGraphNode_t first, second, body;
	cudaGraphConditionalHandle handle;
	cudaGraphNodeParams kernel = {cudaGraphNodeTypeKernel}, node = {cudaGraphNodeTypeConditional};
	void *args[] = {&d, &handle};

	OK(cudaGraphCreate(&graph, 0));
	OK(cudaGraphConditionalHandleCreate(&handle, graph));
	kernel.kernel.func = (void *)decide;
	kernel.kernel.gridDim = kernel.kernel.blockDim = dim3(1);
	kernel.kernel.kernelParams = args;
	OK(cudaGraphAddNode(&first, graph, NULL, NULL, 0, &kernel));
	node.conditional.handle = handle;
	node.conditional.type = cudaGraphCondTypeIf;
	node.conditional.size = 1;
	OK(cudaGraphAddNode(&second, graph, &first, NULL, 1, &node));
	kernel.kernel.func = (void *)count;
	OK(cudaGraphAddNode(&body, node.conditional.phGraph_out[0], NULL, NULL, 0, &kernel));
	return run(graph, d, 2, 0) || run(graph, d, 3, 1);
}

static int loop(int *d)
{
	cudaGraph_t graph;
	cudaGraphNode_t only;
	cudaGraphConditionalHandle handle;
	cudaGraphNodeParams node = {cudaGraphNodeTypeConditional};
	cudaStream_t stream;

	OK(cudaGraphCreate(&graph, 0));
	OK(cudaGraphConditionalHandleCreate(&handle, graph, 1, cudaGraphCondAssignDefault));
	node.conditional.handle = handle;
	node.conditional.type = cudaGraphCondTypeWhile;
	node.conditional.size = 1;
	OK(cudaGraphAddNode(&only, graph, NULL, NULL, 0, &node));
	OK(cudaStreamCreate(&stream));
	OK(cudaStreamBeginCaptureToGraph(stream, node.conditional.phGraph_out[0], NULL, NULL, 0,
					 cudaStreamCaptureModeRelaxed));
	count_down<<<1, 1, 0, stream>>>(d, handle);
	OK(cudaStreamEndCapture(stream, NULL));
	return run(graph, d, 10, 10) || run(graph, d, 1, 1);
}

int main()
{
	int *d;

	OK(cudaMalloc(&d, 2 * sizeof *d));
	return once(d) || loop(d) || RESULT();
}
