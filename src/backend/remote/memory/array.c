/*
 * Arrays.  The client keeps the size of a texel as the application gave it, and trusts no other source when it copies by
 * texels.  An array whose texel size it does not know (a plane of another array) is copied without it.
 */
#include "backend/remote/session/remote.h"
#include "backend/remote/wait/wait.h"
#include "backend/remote/memory/memory.h"
#include "cuda/format.h"

/* The size itself is the record of the handle. */
static CUresult array_note_texel(CUresult r, uint64_t handle, enum handle_kind kind, size_t texel)
{
	return r ? r : record_add(handle, kind, (void *)(uintptr_t)texel);
}

static void array_forget(uint64_t handle, enum handle_kind kind)
{
	if (record_find(handle, kind))
		record_remove(handle);
}

size_t array_texel(CUarray array)
{
	return (uintptr_t)record_find((uintptr_t)array, HANDLE_CUarray);
}

CUresult remote_cuArrayCreate_v2(CUarray *array, const CUDA_ARRAY_DESCRIPTOR *d)
{
	CUresult r = call_cuArrayCreate_v2(array, d);

	return r ? r
		 : array_note_texel(
			   r, (uintptr_t)*array, HANDLE_CUarray, (size_t)format_channel(d->Format) * d->NumChannels);
}

CUresult remote_cuArray3DCreate_v2(CUarray *array, const CUDA_ARRAY3D_DESCRIPTOR *d)
{
	CUresult r = call_cuArray3DCreate_v2(array, d);

	return r ? r
		 : array_note_texel(
			   r, (uintptr_t)*array, HANDLE_CUarray, (size_t)format_channel(d->Format) * d->NumChannels);
}

CUresult remote_cuMipmappedArrayCreate(CUmipmappedArray *array, const CUDA_ARRAY3D_DESCRIPTOR *d, unsigned int levels)
{
	CUresult r = call_cuMipmappedArrayCreate(array, d, levels);

	return r ? r
		 : array_note_texel(r, (uintptr_t)*array, HANDLE_CUmipmappedArray,
			   (size_t)format_channel(d->Format) * d->NumChannels);
}

CUresult remote_cuMipmappedArrayGetLevel(CUarray *array, CUmipmappedArray of, unsigned int level)
{
	CUresult r = call_cuMipmappedArrayGetLevel(array, of, level);

	return array_note_texel(r, r ? 0 : (uintptr_t)*array, HANDLE_CUarray,
		(uintptr_t)record_find((uintptr_t)of, HANDLE_CUmipmappedArray));
}

/* Waits as CUDA does until nothing uses the array. */
CUresult remote_cuArrayDestroy(CUarray array)
{
	context_drain();
	array_forget((uintptr_t)array, HANDLE_CUarray);
	return call_cuArrayDestroy(array);
}

CUresult remote_cuMipmappedArrayDestroy(CUmipmappedArray array)
{
	context_drain();
	array_forget((uintptr_t)array, HANDLE_CUmipmappedArray);
	return call_cuMipmappedArrayDestroy(array);
}
