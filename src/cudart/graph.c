/* Graphs: nodes that run kernels or fill memory, nodes of any type, and instantiation. */
#include <string.h>

#include "cudart/runtime.h"

static cudaError_t context_current(CUcontext *ctx)
{
	return from_driver(cuCtxGetCurrent(ctx));
}

/* ---- kernels ---- */

static cudaError_t kernel_to_driver(const cudaKernelNodeParams *from, CUDA_KERNEL_NODE_PARAMS *to)
{
	CUkernel kernel;
	cudaError_t e = from ? symbol_kernel(from->func, &kernel) : cudaErrorInvalidValue;

	if (e == cudaErrorSymbolNotFound && CUDART_MAJOR >= 13)
		return cudaErrorInvalidResourceHandle;
	if (e)
		return e;
	*to = (CUDA_KERNEL_NODE_PARAMS){.func = (CUfunction)kernel,
		.gridDimX = from->gridDim.x,
		.gridDimY = from->gridDim.y,
		.gridDimZ = from->gridDim.z,
		.blockDimX = from->blockDim.x,
		.blockDimY = from->blockDim.y,
		.blockDimZ = from->blockDim.z,
		.sharedMemBytes = from->sharedMemBytes,
		.kernelParams = from->kernelParams,
		.extra = from->extra};
	return cudaSuccess;
}

static void kernel_from_driver(const CUDA_KERNEL_NODE_PARAMS *from, cudaKernelNodeParams *to)
{
	CUkernel kernel = from->kern ? from->kern : (CUkernel)from->func;

	*to = (cudaKernelNodeParams){symbol_of_kernel(kernel), {from->gridDimX, from->gridDimY, from->gridDimZ},
		{from->blockDimX, from->blockDimY, from->blockDimZ}, from->sharedMemBytes, from->kernelParams,
		from->extra};
}

cudaError_t rt_cudaGraphAddKernelNode(cudaGraphNode_t *pGraphNode, cudaGraph_t graph,
	const cudaGraphNode_t *pDependencies, size_t numDependencies, const cudaKernelNodeParams *pNodeParams)
{
	CUDA_KERNEL_NODE_PARAMS p;
	cudaError_t e = kernel_to_driver(pNodeParams, &p);

	return e ? e : from_driver(cuGraphAddKernelNode_v2(pGraphNode, graph, pDependencies, numDependencies, &p));
}

cudaError_t rt_cudaGraphKernelNodeGetParams(cudaGraphNode_t node, cudaKernelNodeParams *pNodeParams)
{
	CUDA_KERNEL_NODE_PARAMS p;
	CUresult r;

	if (!pNodeParams)
		return cudaErrorInvalidValue;
	r = cuGraphKernelNodeGetParams_v2(node, &p);
	if (!r)
		kernel_from_driver(&p, pNodeParams);
	return from_driver(r);
}

cudaError_t rt_cudaGraphKernelNodeSetParams(cudaGraphNode_t node, const cudaKernelNodeParams *pNodeParams)
{
	CUDA_KERNEL_NODE_PARAMS p;
	cudaError_t e = kernel_to_driver(pNodeParams, &p);

	return e ? e : from_driver(cuGraphKernelNodeSetParams_v2(node, &p));
}

cudaError_t rt_cudaGraphExecKernelNodeSetParams(
	cudaGraphExec_t hGraphExec, cudaGraphNode_t node, const cudaKernelNodeParams *pNodeParams)
{
	CUDA_KERNEL_NODE_PARAMS p;
	cudaError_t e = kernel_to_driver(pNodeParams, &p);

	return e ? e : from_driver(cuGraphExecKernelNodeSetParams_v2(hGraphExec, node, &p));
}

/* Release 12 has the source first, the driver and release 13 the destination. */
cudaError_t rt_cudaGraphKernelNodeCopyAttributes(cudaGraphNode_t hSrc, cudaGraphNode_t hDst)
{
	return from_driver(cuGraphKernelNodeCopyAttributes(hDst, hSrc));
}

/* ---- fills: the two structs differ in the type of the address only ---- */

static CUDA_MEMSET_NODE_PARAMS fill_to_driver(const cudaMemsetParams *p)
{
	return (CUDA_MEMSET_NODE_PARAMS){(CUdeviceptr)p->dst, p->pitch, p->value, p->elementSize, p->width, p->height};
}

cudaError_t rt_cudaGraphAddMemsetNode(cudaGraphNode_t *pGraphNode, cudaGraph_t graph,
	const cudaGraphNode_t *pDependencies, size_t numDependencies, const cudaMemsetParams *pMemsetParams)
{
	CUDA_MEMSET_NODE_PARAMS p;
	CUcontext ctx;
	cudaError_t e;

	if (!pMemsetParams)
		return cudaErrorInvalidValue;
	p = fill_to_driver(pMemsetParams);
	e = context_current(&ctx);
	return e ? e : from_driver(cuGraphAddMemsetNode(pGraphNode, graph, pDependencies, numDependencies, &p, ctx));
}

cudaError_t rt_cudaGraphMemsetNodeGetParams(cudaGraphNode_t node, cudaMemsetParams *pNodeParams)
{
	CUDA_MEMSET_NODE_PARAMS p;
	CUresult r;

	if (!pNodeParams)
		return cudaErrorInvalidValue;
	r = cuGraphMemsetNodeGetParams(node, &p);
	if (!r)
		*pNodeParams = (cudaMemsetParams){(void *)p.dst, p.pitch, p.value, p.elementSize, p.width, p.height};
	return from_driver(r);
}

cudaError_t rt_cudaGraphMemsetNodeSetParams(cudaGraphNode_t node, const cudaMemsetParams *pNodeParams)
{
	CUDA_MEMSET_NODE_PARAMS p;

	if (!pNodeParams)
		return cudaErrorInvalidValue;
	p = fill_to_driver(pNodeParams);
	return from_driver(cuGraphMemsetNodeSetParams(node, &p));
}

cudaError_t rt_cudaGraphExecMemsetNodeSetParams(
	cudaGraphExec_t hGraphExec, cudaGraphNode_t node, const cudaMemsetParams *pNodeParams)
{
	CUDA_MEMSET_NODE_PARAMS p;
	CUcontext ctx;
	cudaError_t e;

	if (!pNodeParams)
		return cudaErrorInvalidValue;
	p = fill_to_driver(pNodeParams);
	e = context_current(&ctx);
	return e ? e : from_driver(cuGraphExecMemsetNodeSetParams(hGraphExec, node, &p, ctx));
}

/* ---- events ---- */

cudaError_t rt_cudaGraphAddEventRecordNode(cudaGraphNode_t *pGraphNode, cudaGraph_t graph,
	const cudaGraphNode_t *pDependencies, size_t numDependencies, cudaEvent_t event)
{
	if (!event)
		return cudaErrorInvalidValue;
	return from_driver(cuGraphAddEventRecordNode(pGraphNode, graph, pDependencies, numDependencies, event));
}

cudaError_t rt_cudaGraphAddEventWaitNode(cudaGraphNode_t *pGraphNode, cudaGraph_t graph,
	const cudaGraphNode_t *pDependencies, size_t numDependencies, cudaEvent_t event)
{
	if (!event)
		return cudaErrorInvalidValue;
	return from_driver(cuGraphAddEventWaitNode(pGraphNode, graph, pDependencies, numDependencies, event));
}

/* ---- freed memory ---- */

cudaError_t rt_cudaGraphAddMemFreeNode(cudaGraphNode_t *pGraphNode, cudaGraph_t graph,
	const cudaGraphNode_t *pDependencies, size_t numDependencies, void *dptr)
{
	return from_driver(cuGraphAddMemFreeNode(pGraphNode, graph, pDependencies, numDependencies, (CUdeviceptr)dptr));
}

cudaError_t rt_cudaGraphMemFreeNodeGetParams(cudaGraphNode_t node, void *dptr_out)
{
	return from_driver(cuGraphMemFreeNodeGetParams(node, dptr_out));
}

/* ---- nodes of any type ---- */

static cudaError_t node_memcpy_to_driver(const cudaMemcpyNodeParams *from, CUDA_MEMCPY_NODE_PARAMS *to)
{
	memset(to, 0, sizeof *to);
	to->flags = from->flags;
	cudaError_t e = copy_shape_3d(&to->copyParams, &from->copyParams);
	return e ? e : context_current(&to->copyCtx);
}

static cudaError_t node_memset_to_driver(const cudaMemsetParams *from, CUDA_MEMSET_NODE_PARAMS_v2 *to)
{
	*to = (CUDA_MEMSET_NODE_PARAMS_v2){
		(CUdeviceptr)from->dst, from->pitch, from->value, from->elementSize, from->width, from->height, NULL};
	return context_current(&to->ctx);
}

static cudaError_t node_kernel_to_driver(const cudaKernelNodeParams *from, CUDA_KERNEL_NODE_PARAMS_v3 *to)
{
	CUDA_KERNEL_NODE_PARAMS p;
	cudaError_t e = kernel_to_driver(from, &p);

	if (!e)
		memcpy(to, &p, sizeof *to);
	return e;
}

/* The parameters of the other types have the driver's layout. */
static cudaError_t node_to_driver(const cudaGraphNodeParams *from, CUgraphNodeParams *to)
{
	if (!from)
		return cudaErrorInvalidValue;
	_Static_assert(sizeof *from == sizeof *to, "node parameters differ in size");
	memcpy(to, from, sizeof *to);
	switch (from->type) {
	case CU_GRAPH_NODE_TYPE_KERNEL:
		return node_kernel_to_driver(&from->kernel, &to->kernel);
	case CU_GRAPH_NODE_TYPE_MEMCPY:
		return node_memcpy_to_driver(&from->memcpy, &to->memcpy);
	case CU_GRAPH_NODE_TYPE_MEMSET:
		return node_memset_to_driver(&from->memset, &to->memset);
	case CU_GRAPH_NODE_TYPE_CONDITIONAL:
		return context_current(&to->conditional.ctx);
	default:
		return cudaSuccess;
	}
}

/* Copies the results of the driver in the parameters: the address of an allocation, the bodies of a conditional node. */
static void node_results(const CUgraphNodeParams *from, cudaGraphNodeParams *to)
{
	if (from->type == CU_GRAPH_NODE_TYPE_MEM_ALLOC)
		to->alloc.dptr = from->alloc.dptr;
	if (from->type == CU_GRAPH_NODE_TYPE_CONDITIONAL)
		to->conditional.phGraph_out = from->conditional.phGraph_out;
}

cudaError_t rt_cudaGraphAddNode_v2(cudaGraphNode_t *pGraphNode, cudaGraph_t graph, const cudaGraphNode_t *pDependencies,
	const cudaGraphEdgeData *dependencyData, size_t numDependencies, cudaGraphNodeParams *nodeParams)
{
	CUgraphNodeParams p;
	cudaError_t e = node_to_driver(nodeParams, &p);

	if (!e)
		e = from_driver(
			cuGraphAddNode_v2(pGraphNode, graph, pDependencies, dependencyData, numDependencies, &p));
	if (!e)
		node_results(&p, nodeParams);
	return e;
}

cudaError_t rt_cudaGraphAddNode(cudaGraphNode_t *pGraphNode, cudaGraph_t graph, const cudaGraphNode_t *pDependencies,
	size_t numDependencies, cudaGraphNodeParams *nodeParams)
{
	return rt_cudaGraphAddNode_v2(pGraphNode, graph, pDependencies, NULL, numDependencies, nodeParams);
}

cudaError_t rt_cudaGraphNodeSetParams(cudaGraphNode_t node, cudaGraphNodeParams *nodeParams)
{
	CUgraphNodeParams p;
	cudaError_t e = node_to_driver(nodeParams, &p);

	return e ? e : from_driver(cuGraphNodeSetParams(node, &p));
}

cudaError_t rt_cudaGraphExecNodeSetParams(
	cudaGraphExec_t graphExec, cudaGraphNode_t node, cudaGraphNodeParams *nodeParams)
{
	CUgraphNodeParams p;
	cudaError_t e = node_to_driver(nodeParams, &p);

	return e ? e : from_driver(cuGraphExecNodeSetParams(graphExec, node, &p));
}

cudaError_t rt_cudaGraphConditionalHandleCreate(
	cudaGraphConditionalHandle *pHandle_out, cudaGraph_t graph, unsigned int defaultLaunchValue, unsigned int flags)
{
	CUcontext ctx;
	cudaError_t e = context_current(&ctx);

	return e ? e : from_driver(cuGraphConditionalHandleCreate(pHandle_out, graph, ctx, defaultLaunchValue, flags));
}

cudaError_t rt_cudaGraphInstantiateWithParams(
	cudaGraphExec_t *pGraphExec, cudaGraph_t graph, cudaGraphInstantiateParams *instantiateParams, bool per_thread)
{
	return from_driver(per_thread ? cuGraphInstantiateWithParams_ptsz(pGraphExec, graph, instantiateParams)
				      : cuGraphInstantiateWithParams(pGraphExec, graph, instantiateParams));
}
