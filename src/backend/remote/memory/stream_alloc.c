/* Stream-ordered allocation: cuMemAllocAsync, cuMemFreeAsync and allocations from pools. */
#include "backend/remote/session/remote.h"
#include "backend/remote/wait/wait.h"
#include "backend/remote/memory/memory.h"

static CUresult pool_memory_note(CUresult r, CUdeviceptr *dptr, size_t size, CUstream handle)
{
	CUresult unused;
	struct stream *s = r ? NULL : stream_find(handle, &unused);

	if (r)
		return r;
	if (s)
		stream_note_posted(s);
	r = memory_note(*dptr, size, s && s->capturing ? RANGE_GRAPH : RANGE_POOL);
	if (r) {
		call_cuMemFreeAsync(*dptr, handle);
		*dptr = 0;
	}
	return r;
}

CUresult remote_cuMemAllocAsync(CUdeviceptr *dptr, size_t size, CUstream stream)
{
	return pool_memory_note(call_cuMemAllocAsync(dptr, size, stream), dptr, size, stream);
}

CUresult remote_cuMemAllocFromPoolAsync(CUdeviceptr *dptr, size_t size, CUmemoryPool pool, CUstream stream)
{
	return pool_memory_note(call_cuMemAllocFromPoolAsync(dptr, size, pool, stream), dptr, size, stream);
}

CUresult remote_cuMemFreeAsync(CUdeviceptr dptr, CUstream stream)
{
	CUresult r;

	if (!stream_find(stream, &r))
		return r;
	if (!dptr)
		return CUDA_SUCCESS;
	if (memory_of_graph(dptr)) { /* a launch of the graph may have freed it: only the server knows */
		r = call_cuMemFreeAsync(dptr, stream);
		return r ? r : call_flush();
	}
	return memory_remove(dptr) ? call_cuMemFreeAsync(dptr, stream) : CUDA_ERROR_INVALID_VALUE;
}
