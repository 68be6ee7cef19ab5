/*
 * Clears memory of the device before its client gets it (gangway serve --clear).
 *
 * Every entry point that allocates is wrapped once more, around the one that counts.  Memory is cleared in a stream of
 * its own, except for stream-ordered allocations, which are cleared in their stream: during capture, in the graph.
 * Allocation nodes are refused, because the nodes that depend on one would not wait for the clearing.
 */
#include <stdlib.h>
#include "cuda/format.h"
#include "server/quota/account.h"

#define ROWS_BYTES (4u << 20) /* an array is cleared in pieces of at most this size */

static CUresult linear_clear(struct account *a, CUdeviceptr p, size_t size)
{
	CUstream stream;
	CUresult r = a->real.cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING), waited;

	if (r)
		return r;
	r = a->real.cuMemsetD8Async(p, 0, size, stream);
	waited = a->real.cuStreamSynchronize(stream);
	a->real.cuStreamDestroy_v2(stream);
	return r ? r : waited;
}

static CUresult mem_alloc(CUdeviceptr *p, size_t size)
{
	struct account *a = worker_account();
	CUresult r = a->counted->cuMemAlloc_v2(p, size);

	if (!r && (r = linear_clear(a, *p, size)))
		a->counted->cuMemFree_v2(*p);
	return r;
}

static CUresult mem_alloc_pitch(CUdeviceptr *p, size_t *pitch, size_t width, size_t height, unsigned element)
{
	struct account *a = worker_account();
	CUresult r = a->counted->cuMemAllocPitch_v2(p, pitch, width, height, element);

	if (!r && (r = linear_clear(a, *p, *pitch * height)))
		a->counted->cuMemFree_v2(*p);
	return r;
}

static CUresult async_clear(struct account *a, CUresult r, CUdeviceptr *p, size_t size, CUstream stream)
{
	if (!r && (r = a->real.cuMemsetD8Async(*p, 0, size, stream)))
		a->counted->cuMemFreeAsync(*p, stream);
	return r;
}

static CUresult mem_alloc_async(CUdeviceptr *p, size_t size, CUstream stream)
{
	struct account *a = worker_account();

	return async_clear(a, a->counted->cuMemAllocAsync(p, size, stream), p, size, stream);
}

static CUresult mem_alloc_from_pool(CUdeviceptr *p, size_t size, CUmemoryPool pool, CUstream stream)
{
	struct account *a = worker_account();

	return async_clear(a, a->counted->cuMemAllocFromPoolAsync(p, size, pool, stream), p, size, stream);
}

/* ---- Physical memory ---- */

/* Maps the memory for a moment. */
static CUresult physical_clear(struct account *a, CUmemGenericAllocationHandle h, size_t size, int device)
{
	CUmemAccessDesc access = {{CU_MEM_LOCATION_TYPE_DEVICE, device}, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
	CUdeviceptr at;
	CUresult r = a->real.cuMemAddressReserve(&at, size, 0, 0, 0);

	if (r)
		return r;
	r = a->real.cuMemMap(at, size, 0, h, 0);
	if (!r) {
		r = a->real.cuMemSetAccess(at, size, &access, 1);
		if (!r)
			r = linear_clear(a, at, size);
		a->real.cuMemUnmap(at, size);
	}
	a->real.cuMemAddressFree(at, size);
	return r;
}

static CUresult physical_create(
	CUmemGenericAllocationHandle *h, size_t size, const CUmemAllocationProp *p, unsigned long long flags)
{
	struct account *a = worker_account();
	CUresult r = a->counted->cuMemCreate(h, size, p, flags);

	if (!r && p->location.type == CU_MEM_LOCATION_TYPE_DEVICE && (r = physical_clear(a, *h, size, p->location.id)))
		a->counted->cuMemRelease(*h);
	return r;
}

/* ---- Arrays ---- */

/* Copies zeros into `rows` rows of one slice at a time. */
static CUresult slices_clear(
	struct account *a, CUarray array, const CUDA_ARRAY3D_DESCRIPTOR *d, size_t row, const void *zeros)
{
	size_t height = d->Height ? d->Height : 1, depth = d->Depth ? d->Depth : 1, rows = ROWS_BYTES / row;
	CUresult r = CUDA_SUCCESS;

	rows = rows ? rows : 1;
	for (size_t z = 0; z < depth && !r; z++)
		for (size_t y = 0; y < height && !r; y += rows) {
			CUDA_MEMCPY3D c = {.srcMemoryType = CU_MEMORYTYPE_HOST,
				.srcHost = zeros,
				.srcPitch = row,
				.dstMemoryType = CU_MEMORYTYPE_ARRAY,
				.dstArray = array,
				.dstY = y,
				.dstZ = z,
				.WidthInBytes = row,
				.Height = height - y < rows ? height - y : rows,
				.Depth = 1};
			r = a->real.cuMemcpy3D_v2(&c);
		}
	return r;
}

static CUresult array_clear(struct account *a, CUarray array, const CUDA_ARRAY3D_DESCRIPTOR *d)
{
	size_t row = d->Width * d->NumChannels * format_channel(d->Format);
	void *zeros;
	CUresult r;

	if (d->Flags & (CUDA_ARRAY3D_SPARSE | CUDA_ARRAY3D_DEFERRED_MAPPING))
		return CUDA_SUCCESS; /* it has no memory yet */
	if (!row)
		return CUDA_ERROR_NOT_SUPPORTED; /* a format that is not made of channels */
	zeros = calloc(1, row > ROWS_BYTES ? row : ROWS_BYTES);
	r = zeros ? slices_clear(a, array, d, row, zeros) : CUDA_ERROR_OUT_OF_MEMORY;
	free(zeros);
	return r;
}

static CUresult array_create(CUarray *array, const CUDA_ARRAY_DESCRIPTOR *d)
{
	struct account *a = worker_account();
	CUresult r = a->counted->cuArrayCreate_v2(array, d);

	if (r)
		return r;
	CUDA_ARRAY3D_DESCRIPTOR as3d = {
		.Width = d->Width, .Height = d->Height, .Format = d->Format, .NumChannels = d->NumChannels};
	r = array_clear(a, *array, &as3d);
	if (r)
		a->counted->cuArrayDestroy(*array);
	return r;
}

static CUresult array3d_create(CUarray *array, const CUDA_ARRAY3D_DESCRIPTOR *d)
{
	struct account *a = worker_account();
	CUresult r = a->counted->cuArray3DCreate_v2(array, d);

	if (!r && (r = array_clear(a, *array, d)))
		a->counted->cuArrayDestroy(*array);
	return r;
}

static CUresult mipmap_clear(struct account *a, CUmipmappedArray array, unsigned levels)
{
	CUresult r = CUDA_SUCCESS;

	for (unsigned i = 0; i < levels && !r; i++) {
		CUDA_ARRAY3D_DESCRIPTOR d;
		CUarray level;
		r = a->real.cuMipmappedArrayGetLevel(&level, array, i);
		if (!r)
			r = a->real.cuArray3DGetDescriptor_v2(&d, level);
		if (!r)
			r = array_clear(a, level, &d);
	}
	return r;
}

static CUresult mipmap_create(CUmipmappedArray *array, const CUDA_ARRAY3D_DESCRIPTOR *d, unsigned levels)
{
	struct account *a = worker_account();
	CUresult r = a->counted->cuMipmappedArrayCreate(array, d, levels);

	if (!r && (r = mipmap_clear(a, *array, levels)))
		a->counted->cuMipmappedArrayDestroy(*array);
	return r;
}

/* ---- Graphs ---- */

static CUresult node_alloc(
	CUgraphNode *node, CUgraph graph, const CUgraphNode *dependencies, size_t count, CUDA_MEM_ALLOC_NODE_PARAMS *p)
{
	(void)node, (void)graph, (void)dependencies, (void)count, (void)p;
	return CUDA_ERROR_NOT_SUPPORTED;
}

static CUresult node_add(
	CUgraphNode *node, CUgraph graph, const CUgraphNode *dependencies, size_t count, CUgraphNodeParams *p)
{
	if (p && p->type == CU_GRAPH_NODE_TYPE_MEM_ALLOC)
		return CUDA_ERROR_NOT_SUPPORTED;
	return worker_account()->counted->cuGraphAddNode(node, graph, dependencies, count, p);
}

static CUresult node_add_edges(CUgraphNode *node, CUgraph graph, const CUgraphNode *dependencies,
	const CUgraphEdgeData *edges, size_t count, CUgraphNodeParams *p)
{
	if (p && p->type == CU_GRAPH_NODE_TYPE_MEM_ALLOC)
		return CUDA_ERROR_NOT_SUPPORTED;
	return worker_account()->counted->cuGraphAddNode_v2(node, graph, dependencies, edges, count, p);
}

bool account_clears(struct account *a, struct cuda_ops *table)
{
	a->counted = malloc(sizeof *a->counted);
	if (!a->counted)
		return false;
	*a->counted = *table;
	table->cuMemAlloc_v2 = mem_alloc;
	table->cuMemAllocPitch_v2 = mem_alloc_pitch;
	table->cuMemAllocAsync = mem_alloc_async;
	table->cuMemAllocFromPoolAsync = mem_alloc_from_pool;
	table->cuMemCreate = physical_create;
	table->cuArrayCreate_v2 = array_create;
	table->cuArray3DCreate_v2 = array3d_create;
	table->cuMipmappedArrayCreate = mipmap_create;
	table->cuGraphAddMemAllocNode = node_alloc;
	table->cuGraphAddNode = node_add;
	table->cuGraphAddNode_v2 = node_add_edges;
	return true;
}
