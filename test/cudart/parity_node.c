/* Nodes of graphs: parameters in and out, in graphs and executable graphs. */
#include "test/cudart/parity.h"

static const dim3 one = {1, 1, 1}, block = {32, 1, 1};

static void host_function(void *data)
{
	(void)data;
}

static void try_kernels(cudaGraph_t g, int *out)
{
	int value = 5;
	void *args[] = {&out, &value};
	cudaKernelNodeParams p = {&parity_plus, one, block, 0, args, NULL}, q = {0};
	CUlaunchAttributeValue attribute;
	cudaGraphNode_t n = NULL, m = NULL;
	cudaGraphExec_t x = NULL;

	TRY(cudaGraphAddKernelNode, &n, g, NULL, 0, &p);
	TRY(cudaGraphAddKernelNode, &m, g, &n, 1, &p);
	TRY(cudaGraphAddKernelNode, NULL, g, NULL, 0, &p);
	TRY(cudaGraphAddKernelNode, &m, g, NULL, 0, NULL);
	TRY(cudaGraphKernelNodeGetParams, n, &q);
	SHOW(q.func == &parity_plus);
	SHOW(q.blockDim.x);
	TRY(cudaGraphKernelNodeGetParams, n, NULL);
	p.blockDim.x = 16;
	TRY(cudaGraphKernelNodeSetParams, n, &p);
	TRY(cudaGraphKernelNodeSetParams, n, NULL);
	p.func = &parity_missing;
	TRY(cudaGraphKernelNodeSetParams, n, &p);
	TRY(cudaGraphAddKernelNode, &m, g, NULL, 0, &p);
	p.func = &value;
	TRY(cudaGraphAddKernelNode, &m, g, NULL, 0, &p);
	p.func = NULL;
	TRY(cudaGraphAddKernelNode, &m, g, NULL, 0, &p);
	p.func = &parity_plus;
	memset(&attribute, 0, sizeof attribute);
	TRY(cudaGraphKernelNodeGetAttribute, n, 8, &attribute);
	TRY(cudaGraphKernelNodeSetAttribute, n, 8, &attribute);
	TRY(cudaGraphKernelNodeSetAttribute, n, 99, &attribute);
	TRY(cudaGraphKernelNodeCopyAttributes, n, n);
	TRY(cudaGraphInstantiate, &x, g, 0);
	TRY(cudaGraphExecKernelNodeSetParams, x, n, &p);
	TRY(cudaGraphNodeSetEnabled, x, n, 0);
	unsigned enabled = 9;
	TRY(cudaGraphNodeGetEnabled, x, n, &enabled);
	SHOW(enabled);
	TRY(cudaGraphLaunch, x, NULL);
	TRY(cudaDeviceSynchronize);
	TRY(cudaGraphExecDestroy, x);
}

static void try_copies(cudaGraph_t g, char *d)
{
	static char h[256];
	cudaMemcpy3DParms p = {.srcPtr = {h, 16, 16, 4}, .dstPtr = {d, 16, 16, 4}, .extent = {8, 4, 2}, .kind = 1}, q;
	cudaGraphNode_t n = NULL, m = NULL, t = NULL, f = NULL;
	cudaGraphExec_t x = NULL;

	memset(&q, 0, sizeof q);
	TRY(cudaGraphAddMemcpyNode, &n, g, NULL, 0, &p);
	TRY(cudaGraphAddMemcpyNode, &m, g, NULL, 0, NULL);
	TRY(cudaGraphMemcpyNodeGetParams, n, &q);
	printf("    %d %zu %zu %zu, %zu %zu\n", q.kind, q.extent.width, q.extent.height, q.extent.depth, q.srcPtr.pitch,
		q.dstPtr.ysize);
	SHOW(q.srcPtr.ptr == h);
	SHOW(q.dstPtr.ptr == d);
	SHOW(q.srcPtr.xsize);
	TRY(cudaGraphMemcpyNodeGetParams, n, NULL);
	TRY(cudaGraphMemcpyNodeSetParams, n, &p);
	p.kind = 9;
	TRY(cudaGraphMemcpyNodeSetParams, n, &p);
	p.kind = 1;
	TRY(cudaGraphAddMemcpyNode1D, &m, g, &n, 1, d, h, 16, 1);
	TRY(cudaGraphAddMemcpyNode1D, &t, g, &n, 1, d, h, 16, 8);
	TRY(cudaGraphAddMemcpyNode1D, &t, g, &n, 1, d, h, 0, 1);
	TRY(cudaGraphMemcpyNodeGetParams, m, &q);
	printf("    %d %zu %zu %zu, %zu %zu\n", q.kind, q.extent.width, q.extent.height, q.extent.depth, q.srcPtr.pitch,
		q.dstPtr.ysize);
	TRY(cudaGraphMemcpyNodeSetParams1D, m, d, h, 32, 1);
	TRY(cudaGraphAddMemcpyNodeToSymbol, &t, g, &m, 1, &parity_offset, h, 4, 4, 1);
	TRY(cudaGraphAddMemcpyNodeToSymbol, &t, g, &m, 1, &parity_offset, h, 40, 4, 1);
	TRY(cudaGraphAddMemcpyNodeToSymbol, &f, g, &m, 1, h, h, 4, 4, 1);
	TRY(cudaGraphAddMemcpyNodeFromSymbol, &f, g, &m, 1, h, &parity_offset, 4, 4, 2);
	TRY(cudaGraphAddMemcpyNodeFromSymbol, &f, g, &m, 1, h, &parity_offset, 4, 4, 1);
	TRY(cudaGraphMemcpyNodeSetParamsToSymbol, m, &parity_offset, h, 4, 0, 1);
	TRY(cudaGraphInstantiateWithFlags, &x, g, 0);
	TRY(cudaGraphExecMemcpyNodeSetParams, x, n, &p);
	TRY(cudaGraphExecMemcpyNodeSetParams1D, x, m, d, h, 16, 1);
	TRY(cudaGraphLaunch, x, NULL);
	TRY(cudaDeviceSynchronize);
	TRY(cudaGraphExecDestroy, x);
}

static void try_fills(cudaGraph_t g, char *d)
{
	cudaMemsetParams p = {d, 16, 7, 1, 8, 4}, q = {0};
	cudaGraphNode_t n = NULL, m = NULL;
	cudaGraphExec_t x = NULL;

	TRY(cudaGraphAddMemsetNode, &n, g, NULL, 0, &p);
	TRY(cudaGraphAddMemsetNode, &m, g, NULL, 0, NULL);
	TRY(cudaGraphMemsetNodeGetParams, n, &q);
	printf("    %zu %u %u %zu %zu\n", q.pitch, q.value, q.elementSize, q.width, q.height);
	p.elementSize = 3;
	TRY(cudaGraphMemsetNodeSetParams, n, &p);
	p.elementSize = 4;
	p.width = 2;
	TRY(cudaGraphMemsetNodeSetParams, n, &p);
	TRY(cudaGraphMemsetNodeSetParams, n, NULL);
	TRY(cudaGraphMemsetNodeGetParams, NULL, &q);
	TRY(cudaGraphInstantiateWithFlags, &x, g, 0);
	TRY(cudaGraphExecMemsetNodeSetParams, x, n, &p);
	TRY(cudaGraphExecMemsetNodeSetParams, x, n, NULL);
	TRY(cudaGraphLaunch, x, NULL);
	TRY(cudaDeviceSynchronize);
	TRY(cudaGraphExecDestroy, x);
}

static void try_others(cudaGraph_t g, char *d)
{
	CUDA_HOST_NODE_PARAMS p = {host_function, NULL}, q = {0};
	CUDA_MEM_ALLOC_NODE_PARAMS a = {.poolProps = {.allocType = 1, .location = {1, 0}}, .bytesize = 100}, b;
	cudaGraphNodeParams any = {0};
	cudaGraphNode_t n = NULL, m = NULL;
	cudaGraphConditionalHandle handle = 0;
	cudaEvent_t e = NULL, f = NULL;
	void *freed = NULL;

	TRY(cudaGraphAddHostNode, &n, g, NULL, 0, &p);
	TRY(cudaGraphAddHostNode, &m, g, NULL, 0, NULL);
	TRY(cudaGraphHostNodeGetParams, n, &q);
	SHOW(q.fn == host_function);
	TRY(cudaGraphHostNodeSetParams, n, &p);
	TRY(cudaGraphHostNodeSetParams, n, NULL);
	TRY(cudaEventCreate, &e);
	TRY(cudaGraphAddEventRecordNode, &n, g, NULL, 0, e);
	TRY(cudaGraphAddEventRecordNode, &m, g, NULL, 0, NULL);
	TRY(cudaGraphEventRecordNodeGetEvent, n, &f);
	SHOW(e == f);
	TRY(cudaGraphAddEventWaitNode, &n, g, NULL, 0, e);
	TRY(cudaGraphEventWaitNodeGetEvent, n, &f);
	TRY(cudaGraphEventWaitNodeSetEvent, n, e);
	TRY(cudaGraphAddMemAllocNode, &n, g, NULL, 0, &a);
	SHOW(!!a.dptr);
	TRY(cudaGraphAddMemAllocNode, &m, g, NULL, 0, NULL);
	TRY(cudaGraphMemAllocNodeGetParams, n, &b);
	SHOW(a.dptr == b.dptr);
	TRY(cudaGraphAddMemFreeNode, &m, g, &n, 1, (void *)a.dptr);
	TRY(cudaGraphMemFreeNodeGetParams, m, &freed);
	SHOW((CUdeviceptr)freed == a.dptr);
	any.type = CU_GRAPH_NODE_TYPE_MEMSET;
	any.memset = (cudaMemsetParams){d, 16, 7, 1, 8, 4};
#if CUDART_MAJOR == 12
	TRY(cudaGraphAddNode, &n, g, NULL, 0, &any);
	TRY(cudaGraphAddNode, &n, g, NULL, 0, NULL);
#else
	TRY(cudaGraphAddNode, &n, g, NULL, NULL, 0, &any);
	TRY(cudaGraphAddNode, &n, g, NULL, NULL, 0, NULL);
#endif
	TRY(cudaGraphNodeSetParams, n, &any);
	TRY(cudaGraphNodeSetParams, n, NULL);
	any.type = 77;
	TRY(cudaGraphNodeSetParams, n, &any);
	TRY(cudaGraphConditionalHandleCreate, &handle, g, 0, 0);
	TRY(cudaGraphConditionalHandleCreate, NULL, g, 0, 0);
	TRY(cudaEventDestroy, e);
}

static void with_graph(void (*try)(cudaGraph_t, char *), char *d)
{
	cudaGraph_t g = NULL;

	TRY(cudaGraphCreate, &g, 0);
	try(g, d);
	TRY(cudaGraphDestroy, g);
}

static void try_kernels_here(cudaGraph_t g, char *d)
{
	try_kernels(g, (int *)d);
}

void parity_node(void)
{
	char *d = NULL;

	TRY(cudaMalloc, (void **)&d, 4096);
	with_graph(try_kernels_here, d);
	with_graph(try_copies, d);
	with_graph(try_fills, d);
	with_graph(try_others, d);
	TRY(cudaFree, d);
}
