/*
 * Virtual memory management: addresses, physical allocations and their descriptors.  Descriptors work on one host only.
 * Host memory of the server's machine is refused, since the application could not touch it.
 */
#include <unistd.h>
#include "backend/remote/hostmem/share.h"
#include "backend/remote/memory/state.h"
#include "backend/remote/wait/wait.h"
#include "backend/remote/memory/memory.h"

#define FD_WAIT_MS 5000

static bool location_is_device(const CUmemLocation *l)
{
	return l->type == CU_MEM_LOCATION_TYPE_DEVICE;
}

static uint64_t share_next_id(void)
{
	return atomic_fetch_add(&client->memory->share_ids, 1);
}

CUresult share_out(void *fd, uint64_t object, bool pool, unsigned type, unsigned long long flags)
{
	struct wire_share a = {.object = object, .id = share_next_id(), .flags = flags, .pool = pool, .type = type};
	CUresult r;
	int received;

	if (!fd)
		return CUDA_ERROR_INVALID_VALUE;
	if (!client->local)
		return CUDA_ERROR_NOT_SUPPORTED;
	r = call_sync(WIRE_SHARE_OUT, &a, sizeof a, NULL, 0, NULL, 0);
	if (r)
		return r;
	received = link_recv_fd(client->link, a.id, FD_WAIT_MS);
	if (received < 0)
		return client_failed(received);
	memcpy(fd, &received, sizeof received);
	return CUDA_SUCCESS;
}

CUresult share_in(uint64_t *object, void *os, bool pool, unsigned type, unsigned long long flags)
{
	struct wire_share a = {.id = share_next_id(), .flags = flags, .pool = pool, .type = type};

	if (!object)
		return CUDA_ERROR_INVALID_VALUE;
	if (!client->local || type != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR)
		return CUDA_ERROR_NOT_SUPPORTED;
	if ((intptr_t)os <= 0)
		return CUDA_ERROR_INVALID_VALUE;
	if (fcntl((int)(intptr_t)os, F_GETFD) < 0)
		return CUDA_ERROR_UNKNOWN;
	int err = link_send_fd(client->link, a.id, (int)(intptr_t)os);
	if (err)
		return client_failed(err);
	return call_sync(WIRE_SHARE_IN, &a, sizeof a, NULL, 0, &(struct wire_piece){object, sizeof *object}, 1);
}

CUresult remote_cuMemExportToShareableHandle(
	void *out, CUmemGenericAllocationHandle handle, CUmemAllocationHandleType type, unsigned long long flags)
{
	return share_out(out, handle, false, type, flags);
}

CUresult remote_cuMemImportFromShareableHandle(
	CUmemGenericAllocationHandle *handle, void *os, CUmemAllocationHandleType type)
{
	uint64_t id = 0;
	CUresult r = handle ? share_in(&id, os, false, type, 0) : CUDA_ERROR_INVALID_VALUE;

	if (!r)
		*handle = id;
	return r;
}

CUresult remote_cuMemRetainAllocationHandle(CUmemGenericAllocationHandle *handle, void *address)
{
	uint64_t at = (uintptr_t)address;

	if (!handle)
		return CUDA_ERROR_INVALID_VALUE;
	return call_sync(WIRE_RETAIN, &at, sizeof at, NULL, 0, &(struct wire_piece){handle, sizeof *handle}, 1);
}

CUresult remote_cuMemCreate(
	CUmemGenericAllocationHandle *handle, size_t size, const CUmemAllocationProp *prop, unsigned long long flags)
{
	if (!handle || !prop)
		return CUDA_ERROR_INVALID_VALUE;
	if (prop->type == CU_MEM_ALLOCATION_TYPE_PINNED && prop->location.type != CU_MEM_LOCATION_TYPE_INVALID &&
		!location_is_device(&prop->location))
		return CUDA_ERROR_NOT_SUPPORTED;
	return call_cuMemCreate(handle, size, prop, flags);
}

CUresult remote_cuMemSetAccess(CUdeviceptr ptr, size_t size, const CUmemAccessDesc *desc, size_t count)
{
	for (size_t i = 0; desc && i < count; i++)
		if (desc[i].location.type > CU_MEM_LOCATION_TYPE_DEVICE)
			return CUDA_ERROR_NOT_SUPPORTED;
	CUresult r = call_cuMemSetAccess(ptr, size, desc, count);
	if (!r)
		mapping_access(ptr, size, desc, count);
	return r;
}

CUresult remote_cuMemMap(
	CUdeviceptr ptr, size_t size, size_t offset, CUmemGenericAllocationHandle handle, unsigned long long flags)
{
	CUresult r = call_cuMemMap(ptr, size, offset, handle, flags);

	if (!r)
		mapping_add(ptr, size);
	return r;
}

CUresult remote_cuMemUnmap(CUdeviceptr ptr, size_t size)
{
	CUresult r = call_cuMemUnmap(ptr, size);

	if (!r)
		mapping_remove(ptr, size);
	return r;
}

/* Maps tiles of sparse arrays, which no served device supports. */
CUresult remote_cuMemMapArrayAsync(CUarrayMapInfo *list, unsigned int count, CUstream stream)
{
	CUresult r;

	if (!list || !count)
		return CUDA_ERROR_INVALID_VALUE;
	return stream_find(stream, &r) ? CUDA_ERROR_NOT_SUPPORTED : r;
}

/* ---- addresses ---- */

CUresult remote_cuMemAddressReserve(
	CUdeviceptr *ptr, size_t size, size_t alignment, CUdeviceptr addr, unsigned long long flags)
{
	CUresult r = call_cuMemAddressReserve(ptr, size, alignment, addr, flags);

	return r ? r : memory_note(*ptr, size, RANGE_RESERVED);
}

CUresult remote_cuMemAddressFree(CUdeviceptr ptr, size_t size)
{
	size_t reserved;
	bool removed =
		memory_take(ptr, RANGE_RESERVED, &reserved); /* first: another thread may get the same addresses */
	CUresult r = call_cuMemAddressFree(ptr, size);

	if (r && removed)
		memory_note(ptr, reserved, RANGE_RESERVED);
	return r;
}
