/*
 * Managed memory, and the advice applications give about it.  It is host memory that the device reaches, so
 * nothing ever moves; but what was advised can be asked back, and so it is kept.
 */
#include <stdlib.h>
#include "backend/remote/memory/hostmem.h"
#include "backend/remote/wait/wait.h"
#include "backend/remote/memory/mirror.h"
#include "cuda/advice.h"

struct advised {
	struct map_node node; /* key: the memory's address */
	struct advice advice;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct map advised;

static struct advised *advised_of(uint64_t base)
{
	return (struct advised *)map_find(&advised, base);
}

static struct advised *advised_make(uint64_t base)
{
	struct advised *a = advised_of(base);

	if (a || !(a = calloc(1, sizeof *a)))
		return a;
	a->node.key = base;
	map_insert(&advised, &a->node);
	return a;
}

void managed_forget(uint64_t base)
{
	struct advised *a;

	pthread_mutex_lock(&lock);
	a = advised_of(base);
	if (a)
		map_remove(&advised, &a->node);
	pthread_mutex_unlock(&lock);
	if (a)
		advice_free(&a->advice);
	free(a);
}

static bool find(CUdeviceptr addr, size_t size, struct host_info *h)
{
	return size && hostmem_find(addr, h) && h->kind == HOST_MANAGED && size <= h->size - (addr - h->base);
}

static CUresult change(CUdeviceptr addr, size_t size, int what, CUmemLocation l)
{
	struct host_info h;
	struct advised *a;
	int err;

	if (!find(addr, size, &h))
		return CUDA_ERROR_INVALID_VALUE;
	pthread_mutex_lock(&lock);
	a = advised_make(h.base);
	err = a ? advice_change(&a->advice, h.size, addr - h.base, size, what, l) : -1;
	pthread_mutex_unlock(&lock);
	return err ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_SUCCESS;
}

/* ---- advice ---- */

static bool location_ok(CUmemLocation *l)
{
	return advice_location(l, client->devices->count);
}

static bool location_of(CUdevice dev, CUmemLocation *l)
{
	return advice_location_of(dev, client->devices->count, l);
}

CUresult remote_cuMemAdvise_v2(CUdeviceptr addr, size_t size, CUmem_advise advice, CUmemLocation location)
{
	if (!context_current())
		return context_none();
	if (advice < CU_MEM_ADVISE_SET_READ_MOSTLY || advice > CU_MEM_ADVISE_UNSET_ACCESSED_BY ||
		!location_ok(&location))
		return CUDA_ERROR_INVALID_VALUE;
	return change(addr, size, advice, location);
}

CUresult remote_cuMemAdvise(CUdeviceptr addr, size_t size, CUmem_advise advice, CUdevice dev)
{
	CUmemLocation l;

	if (!location_of(advice_has_location(advice) ? dev : CU_DEVICE_CPU, &l))
		return CUDA_ERROR_INVALID_DEVICE;
	return remote_cuMemAdvise_v2(addr, size, advice, l);
}

/* There is nothing to move, but the stream must be one that could take the command. */
static CUresult hint(CUstream handle)
{
	CUresult r = CUDA_SUCCESS;
	struct stream *s = stream_find(handle, &r);

	return !s ? r : s->capturing ? CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED : CUDA_SUCCESS;
}

CUresult remote_cuMemPrefetchAsync_v2(
	CUdeviceptr addr, size_t size, CUmemLocation location, unsigned int flags, CUstream stream)
{
	CUresult r = hint(stream);

	if (r)
		return r;
	return flags || !location_ok(&location) ? CUDA_ERROR_INVALID_VALUE : change(addr, size, 0, location);
}

CUresult remote_cuMemPrefetchAsync(CUdeviceptr addr, size_t size, CUdevice dev, CUstream stream)
{
	CUmemLocation l;

	return location_of(dev, &l) ? remote_cuMemPrefetchAsync_v2(addr, size, l, 0, stream)
				    : CUDA_ERROR_INVALID_DEVICE;
}

/* Memory attached to a stream is a promise of the application's; ours is visible everywhere at all times. */
CUresult remote_cuStreamAttachMemAsync(CUstream stream, CUdeviceptr ptr, size_t length, unsigned int flags)
{
	bool one = flags == CU_MEM_ATTACH_SINGLE;
	struct host_info h;
	CUresult r = hint(stream);

	if (r)
		return r;
	if ((flags != CU_MEM_ATTACH_GLOBAL && flags != CU_MEM_ATTACH_HOST && !one) || (one && (uintptr_t)stream <= 2))
		return CUDA_ERROR_INVALID_VALUE;
	if (!find(ptr, 1, &h) || h.base != ptr || (length && length != h.size))
		return CUDA_ERROR_INVALID_VALUE;
	if (flags != CU_MEM_ATTACH_GLOBAL)
		mirror_at_any_time();
	return CUDA_SUCCESS;
}

/* ---- batches ---- */

static CUresult batch_check(CUdeviceptr *addrs, size_t *sizes, size_t count, unsigned long long flags, CUstream stream)
{
	struct host_info h;
	CUresult r = hint(stream);

	if (r)
		return r;
	if (!addrs || !sizes || !count || flags || (uintptr_t)stream <= 2)
		return CUDA_ERROR_INVALID_VALUE;
	for (size_t i = 0; i < count; i++)
		if (!find(addrs[i], sizes[i], &h))
			return CUDA_ERROR_INVALID_VALUE;
	return CUDA_SUCCESS;
}

CUresult remote_cuMemPrefetchBatchAsync(CUdeviceptr *addrs, size_t *sizes, size_t count, CUmemLocation *locations,
	size_t *indices, size_t n, unsigned long long flags, CUstream stream)
{
	CUresult r = batch_check(addrs, sizes, count, flags, stream);

	if (!r && !advice_locations_ok(locations, indices, n, count, client->devices->count))
		r = CUDA_ERROR_INVALID_VALUE;
	for (size_t i = 0, at = 0; i < count && !r; i++) {
		at += at + 1 < n && indices[at + 1] == i;
		CUmemLocation l = locations[at];
		location_ok(&l);
		r = change(addrs[i], sizes[i], 0, l);
	}
	return r;
}

/* What nobody needs any more may stay as it is: its contents are anything from now on. */
CUresult remote_cuMemDiscardBatchAsync(
	CUdeviceptr *addrs, size_t *sizes, size_t count, unsigned long long flags, CUstream stream)
{
	return batch_check(addrs, sizes, count, flags, stream);
}

CUresult remote_cuMemDiscardAndPrefetchBatchAsync(CUdeviceptr *addrs, size_t *sizes, size_t count,
	CUmemLocation *locations, size_t *indices, size_t n, unsigned long long flags, CUstream stream)
{
	return remote_cuMemPrefetchBatchAsync(addrs, sizes, count, locations, indices, n, flags, stream);
}

/* ---- asking back ---- */

static struct advice_state look(const struct host_info *h, CUdeviceptr addr, size_t size)
{
	struct advice_state s = {0};
	struct advised *a;

	pthread_mutex_lock(&lock);
	a = advised_of(h->base);
	if (a)
		s = advice_look(&a->advice, h->size, addr - h->base, size);
	pthread_mutex_unlock(&lock);
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
	if (!data || !sizes || !attributes || !n || !find(addr, size, &h))
		return CUDA_ERROR_INVALID_VALUE;
	s = look(&h, addr, size);
	for (size_t i = 0; i < n && !r; i++)
		r = advice_answer(&s, data[i], sizes[i], attributes[i]);
	return r;
}

CUresult remote_cuMemRangeGetAttribute(
	void *data, size_t size, CUmem_range_attribute attribute, CUdeviceptr addr, size_t count)
{
	return remote_cuMemRangeGetAttributes(&data, &size, &attribute, 1, addr, count);
}
