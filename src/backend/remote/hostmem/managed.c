/*
 * Managed memory: advice, prefetching and attachment.  Managed memory is host memory that the device reaches, so nothing
 * ever moves; advice is kept because the application can ask for it.
 */
#include <stdlib.h>
#include "backend/remote/hostmem/hostmem.h"
#include "backend/remote/wait/wait.h"
#include "backend/remote/hostmem/mirror.h"
#include "backend/remote/memory/state.h"
#include "cuda/advice.h"

struct advised {
	struct map_node node; /* key: the memory's address */
	struct advice advice;
};

static struct advice_table *advice_table(void)
{
	return &client->memory->advice;
}

static struct advised *advised_find(uint64_t base)
{
	return (struct advised *)map_find(&advice_table()->advised, base);
}

static struct advised *advised_find_or_create(uint64_t base)
{
	struct advised *a = advised_find(base);

	if (a || !(a = calloc(1, sizeof *a)))
		return a;
	a->node.key = base;
	map_insert(&advice_table()->advised, &a->node);
	return a;
}

void managed_forget(uint64_t base)
{
	struct advised *a;

	pthread_mutex_lock(&advice_table()->lock);
	a = advised_find(base);
	if (a)
		map_remove(&advice_table()->advised, &a->node);
	pthread_mutex_unlock(&advice_table()->lock);
	if (a)
		advice_finish(&a->advice);
	free(a);
}

static bool managed_range_find(CUdeviceptr addr, size_t size, struct host_info *h)
{
	return size && hostmem_find(addr, h) && h->kind == HOST_MANAGED && size <= h->size - (addr - h->base);
}

static CUresult advice_set(CUdeviceptr addr, size_t size, int what, CUmemLocation l)
{
	struct host_info h;
	struct advised *a;
	int err;

	if (!managed_range_find(addr, size, &h))
		return CUDA_ERROR_INVALID_VALUE;
	pthread_mutex_lock(&advice_table()->lock);
	a = advised_find_or_create(h.base);
	err = a ? advice_change(&a->advice, h.size, addr - h.base, size, what, l) : -1;
	pthread_mutex_unlock(&advice_table()->lock);
	return err ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_SUCCESS;
}

/* ---- advice ---- */

static bool advice_location_valid(CUmemLocation *l)
{
	return advice_location(l, client->devices->count);
}

static bool advice_location_from_device(CUdevice dev, CUmemLocation *l)
{
	return advice_location_of(dev, client->devices->count, l);
}

CUresult remote_cuMemAdvise_v2(CUdeviceptr addr, size_t size, CUmem_advise advice, CUmemLocation location)
{
	if (!context_current())
		return context_none();
	if (advice < CU_MEM_ADVISE_SET_READ_MOSTLY || advice > CU_MEM_ADVISE_UNSET_ACCESSED_BY ||
		!advice_location_valid(&location))
		return CUDA_ERROR_INVALID_VALUE;
	return advice_set(addr, size, advice, location);
}

CUresult remote_cuMemAdvise(CUdeviceptr addr, size_t size, CUmem_advise advice, CUdevice dev)
{
	CUmemLocation l;

	if (!advice_location_from_device(advice_has_location(advice) ? dev : CU_DEVICE_CPU, &l))
		return CUDA_ERROR_INVALID_DEVICE;
	return remote_cuMemAdvise_v2(addr, size, advice, l);
}

/* Nothing moves, but the handle must be a stream that could take the command. */
static CUresult hint_check_stream(CUstream handle)
{
	CUresult r = CUDA_SUCCESS;
	struct stream *s = stream_find(handle, &r);

	return !s ? r : s->capturing ? CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED : CUDA_SUCCESS;
}

CUresult remote_cuMemPrefetchAsync_v2(
	CUdeviceptr addr, size_t size, CUmemLocation location, unsigned int flags, CUstream stream)
{
	CUresult r = hint_check_stream(stream);

	if (r)
		return r;
	return flags || !advice_location_valid(&location) ? CUDA_ERROR_INVALID_VALUE
							  : advice_set(addr, size, 0, location);
}

CUresult remote_cuMemPrefetchAsync(CUdeviceptr addr, size_t size, CUdevice dev, CUstream stream)
{
	CUmemLocation l;

	return advice_location_from_device(dev, &l) ? remote_cuMemPrefetchAsync_v2(addr, size, l, 0, stream)
						    : CUDA_ERROR_INVALID_DEVICE;
}

/* Attaching restricts the application only: managed memory here is visible to every stream at all times. */
CUresult remote_cuStreamAttachMemAsync(CUstream stream, CUdeviceptr ptr, size_t length, unsigned int flags)
{
	bool single = flags == CU_MEM_ATTACH_SINGLE;
	struct host_info h;
	CUresult r = hint_check_stream(stream);

	if (r)
		return r;
	if ((flags != CU_MEM_ATTACH_GLOBAL && flags != CU_MEM_ATTACH_HOST && !single) ||
		(single && (uintptr_t)stream <= 2))
		return CUDA_ERROR_INVALID_VALUE;
	if (!managed_range_find(ptr, 1, &h) || h.base != ptr || (length && length != h.size))
		return CUDA_ERROR_INVALID_VALUE;
	if (flags != CU_MEM_ATTACH_GLOBAL)
		mirror_at_any_time();
	return CUDA_SUCCESS;
}

/* ---- batches ---- */

static CUresult batch_check_ranges(
	CUdeviceptr *addrs, size_t *sizes, size_t count, unsigned long long flags, CUstream stream)
{
	struct host_info h;
	CUresult r = hint_check_stream(stream);

	if (r)
		return r;
	if (!addrs || !sizes || !count || flags || (uintptr_t)stream <= 2)
		return CUDA_ERROR_INVALID_VALUE;
	for (size_t i = 0; i < count; i++)
		if (!managed_range_find(addrs[i], sizes[i], &h))
			return CUDA_ERROR_INVALID_VALUE;
	return CUDA_SUCCESS;
}

CUresult remote_cuMemPrefetchBatchAsync(CUdeviceptr *addrs, size_t *sizes, size_t count, CUmemLocation *locations,
	size_t *indices, size_t n, unsigned long long flags, CUstream stream)
{
	CUresult r = batch_check_ranges(addrs, sizes, count, flags, stream);

	if (!r && !advice_locations_ok(locations, indices, n, count, client->devices->count))
		r = CUDA_ERROR_INVALID_VALUE;
	for (size_t i = 0, at = 0; i < count && !r; i++) {
		at += at + 1 < n && indices[at + 1] == i;
		CUmemLocation l = locations[at];
		advice_location_valid(&l);
		r = advice_set(addrs[i], sizes[i], 0, l);
	}
	return r;
}

/* The contents are undefined after a discard: they may as well stay. */
CUresult remote_cuMemDiscardBatchAsync(
	CUdeviceptr *addrs, size_t *sizes, size_t count, unsigned long long flags, CUstream stream)
{
	return batch_check_ranges(addrs, sizes, count, flags, stream);
}

CUresult remote_cuMemDiscardAndPrefetchBatchAsync(CUdeviceptr *addrs, size_t *sizes, size_t count,
	CUmemLocation *locations, size_t *indices, size_t n, unsigned long long flags, CUstream stream)
{
	return remote_cuMemPrefetchBatchAsync(addrs, sizes, count, locations, indices, n, flags, stream);
}

/* ---- queries ---- */

static struct advice_state advice_query(const struct host_info *h, CUdeviceptr addr, size_t size)
{
	struct advice_state s = {0};
	struct advised *a;

	pthread_mutex_lock(&advice_table()->lock);
	a = advised_find(h->base);
	if (a)
		s = advice_of_range(&a->advice, h->size, addr - h->base, size);
	pthread_mutex_unlock(&advice_table()->lock);
	return s;
}

CUresult remote_cuMemRangeGetAttributes(
	void **data, size_t *sizes, CUmem_range_attribute *attributes, size_t n, CUdeviceptr addr, size_t size)
{
	struct host_info h;
	struct advice_state s;
	CUresult r = CUDA_SUCCESS;

	if (!context_current())
		return context_none();
	if (!data || !sizes || !attributes || !n || !managed_range_find(addr, size, &h))
		return CUDA_ERROR_INVALID_VALUE;
	s = advice_query(&h, addr, size);
	for (size_t i = 0; i < n && !r; i++)
		r = advice_attribute(&s, data[i], sizes[i], attributes[i]);
	return r;
}

CUresult remote_cuMemRangeGetAttribute(
	void *data, size_t size, CUmem_range_attribute attribute, CUdeviceptr addr, size_t count)
{
	return remote_cuMemRangeGetAttributes(&data, &size, &attribute, 1, addr, count);
}
