/* Nodes of graphs that copy memory. */
#include "cudart/runtime.h"

/* Where a node goes: a new one into a graph, or new parameters for one in a graph or an executable graph. */
struct node_place {
	cudaGraphNode_t *added, node;
	cudaGraph_t graph;
	const cudaGraphNode_t *dependencies;
	size_t count;
	cudaGraphExec_t exec;
};

static cudaError_t node_put(const struct node_place *place, const CUDA_MEMCPY3D *c)
{
	CUcontext ctx = NULL;
	CUresult r = cuCtxGetCurrent(&ctx);

	if (r)
		return from_driver(r);
	if (place->added || place->graph)
		return from_driver(
			cuGraphAddMemcpyNode(place->added, place->graph, place->dependencies, place->count, c, ctx));
	if (place->exec)
		return from_driver(cuGraphExecMemcpyNodeSetParams(place->exec, place->node, c, ctx));
	return from_driver(cuGraphMemcpyNodeSetParams(place->node, c));
}

static cudaError_t node_put_3d(const struct node_place *place, const cudaMemcpy3DParms *p)
{
	CUDA_MEMCPY3D c;
	cudaError_t e = p ? copy_shape_3d(&c, p) : cudaErrorInvalidValue;

	return e ? e : node_put(place, &c);
}

static cudaError_t node_put_bytes(
	const struct node_place *place, void *dst, const void *src, size_t count, cudaMemcpyKind kind)
{
	struct copy_place from = {.memory = src}, to = {.memory = dst};
	CUDA_MEMCPY3D c;
	cudaError_t e = copy_shape(&c, &from, &to, count, 1, 1, kind);

	return e ? e : node_put(place, &c);
}

#define ADDED ((struct node_place){pGraphNode, NULL, graph, pDependencies, numDependencies, NULL})
#define SET   ((struct node_place){.node = node})
#define EXEC  ((struct node_place){.node = node, .exec = hGraphExec})

cudaError_t rt_cudaGraphAddMemcpyNode(cudaGraphNode_t *pGraphNode, cudaGraph_t graph,
	const cudaGraphNode_t *pDependencies, size_t numDependencies, const cudaMemcpy3DParms *pCopyParams)
{
	return node_put_3d(&ADDED, pCopyParams);
}

cudaError_t rt_cudaGraphAddMemcpyNode1D(cudaGraphNode_t *pGraphNode, cudaGraph_t graph,
	const cudaGraphNode_t *pDependencies, size_t numDependencies, void *dst, const void *src, size_t count,
	cudaMemcpyKind kind)
{
	return node_put_bytes(&ADDED, dst, src, count, kind);
}

cudaError_t rt_cudaGraphAddMemcpyNodeToSymbol(cudaGraphNode_t *pGraphNode, cudaGraph_t graph,
	const cudaGraphNode_t *pDependencies, size_t numDependencies, const void *symbol, const void *src, size_t count,
	size_t offset, cudaMemcpyKind kind)
{
	void *dst;
	cudaError_t e = symbol_target(symbol, count, offset, kind, &dst);

	return e ? e : node_put_bytes(&ADDED, dst, src, count, kind);
}

cudaError_t rt_cudaGraphAddMemcpyNodeFromSymbol(cudaGraphNode_t *pGraphNode, cudaGraph_t graph,
	const cudaGraphNode_t *pDependencies, size_t numDependencies, void *dst, const void *symbol, size_t count,
	size_t offset, cudaMemcpyKind kind)
{
	void *src;
	cudaError_t e = symbol_source(symbol, count, offset, kind, &src);

	return e ? e : node_put_bytes(&ADDED, dst, src, count, kind);
}

cudaError_t rt_cudaGraphMemcpyNodeGetParams(cudaGraphNode_t node, cudaMemcpy3DParms *pNodeParams)
{
	CUDA_MEMCPY3D c;
	CUresult r;

	if (!pNodeParams)
		return cudaErrorInvalidValue;
	r = cuGraphMemcpyNodeGetParams(node, &c);
	if (!r)
		copy_shape_to_3d(&c, pNodeParams);
	return from_driver(r);
}

cudaError_t rt_cudaGraphMemcpyNodeSetParams(cudaGraphNode_t node, const cudaMemcpy3DParms *pNodeParams)
{
	return node_put_3d(&SET, pNodeParams);
}

cudaError_t rt_cudaGraphMemcpyNodeSetParams1D(
	cudaGraphNode_t node, void *dst, const void *src, size_t count, cudaMemcpyKind kind)
{
	return node_put_bytes(&SET, dst, src, count, kind);
}

cudaError_t rt_cudaGraphMemcpyNodeSetParamsToSymbol(
	cudaGraphNode_t node, const void *symbol, const void *src, size_t count, size_t offset, cudaMemcpyKind kind)
{
	void *dst;
	cudaError_t e = symbol_target(symbol, count, offset, kind, &dst);

	return e ? e : node_put_bytes(&SET, dst, src, count, kind);
}

cudaError_t rt_cudaGraphMemcpyNodeSetParamsFromSymbol(
	cudaGraphNode_t node, void *dst, const void *symbol, size_t count, size_t offset, cudaMemcpyKind kind)
{
	void *src;
	cudaError_t e = symbol_source(symbol, count, offset, kind, &src);

	return e ? e : node_put_bytes(&SET, dst, src, count, kind);
}

cudaError_t rt_cudaGraphExecMemcpyNodeSetParams(
	cudaGraphExec_t hGraphExec, cudaGraphNode_t node, const cudaMemcpy3DParms *pNodeParams)
{
	return node_put_3d(&EXEC, pNodeParams);
}

cudaError_t rt_cudaGraphExecMemcpyNodeSetParams1D(
	cudaGraphExec_t hGraphExec, cudaGraphNode_t node, void *dst, const void *src, size_t count, cudaMemcpyKind kind)
{
	return node_put_bytes(&EXEC, dst, src, count, kind);
}

cudaError_t rt_cudaGraphExecMemcpyNodeSetParamsToSymbol(cudaGraphExec_t hGraphExec, cudaGraphNode_t node,
	const void *symbol, const void *src, size_t count, size_t offset, cudaMemcpyKind kind)
{
	void *dst;
	cudaError_t e = symbol_target(symbol, count, offset, kind, &dst);

	return e ? e : node_put_bytes(&EXEC, dst, src, count, kind);
}

cudaError_t rt_cudaGraphExecMemcpyNodeSetParamsFromSymbol(cudaGraphExec_t hGraphExec, cudaGraphNode_t node, void *dst,
	const void *symbol, size_t count, size_t offset, cudaMemcpyKind kind)
{
	void *src;
	cudaError_t e = symbol_source(symbol, count, offset, kind, &src);

	return e ? e : node_put_bytes(&EXEC, dst, src, count, kind);
}
