/*
 * Managed memory, and the advice that applications give about it.  Managed memory is host memory and never moves, but
 * applications can query the advice, so the driver stores it.
 */
#include "backend/soft/memory/range.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "cuda/advice.h"
#include "host/machine.h"

#define PAGE 4096u

static void managed_range_free(struct range *r)
{
	advice_finish(r->private_data);
	free(r->private_data);
	free(r);
}

static void managed_range_release(struct range *r)
{
	munmap((void *)(uintptr_t)range_addr(r), r->size);
	managed_range_free(r);
}

static struct range *managed_range_create(void)
{
	struct range *r = calloc(1, sizeof *r);

	if (r)
		r->private_data = calloc(1, sizeof(struct advice)); /* protected by the memory lock */
	if (r && !r->private_data) {
		free(r);
		return NULL;
	}
	return r;
}

CUresult soft_cuMemAllocManaged(CUdeviceptr *out, size_t size, unsigned int flags)
{
	struct context *ctx;
	CUresult e = context_enter(&ctx);

	if (e)
		return e;
	if (!out || !size || (flags != CU_MEM_ATTACH_GLOBAL && flags != CU_MEM_ATTACH_HOST))
		return CUDA_ERROR_INVALID_VALUE;
	e = capture_reject_unsafe_call();
	if (e)
		return e;
	if (size > machine_memory())
		return CUDA_ERROR_OUT_OF_MEMORY;
	struct range *r = managed_range_create();
	if (!r)
		return CUDA_ERROR_OUT_OF_MEMORY;
	void *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	r->size = size;
	r->node.key = (uintptr_t)p;
	r->kind = RANGE_MANAGED;
	r->flags = flags;
	r->sync_memops = true;
	r->device = ctx->device;
	r->ctx = ctx;
	r->release = managed_range_release;
	if (p == MAP_FAILED) {
		managed_range_free(r);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	if (range_insert(r)) {
		managed_range_release(r);
		return CUDA_ERROR_CONTEXT_IS_DESTROYED;
	}
	*out = (uintptr_t)p;
	return CUDA_SUCCESS;
}

/* ---- advice ---- */

/* Argument of range_advise. */
struct advice_request {
	uint64_t addr, size;
	int advice; /* CUmem_advise; 0: prefetch to location */
	CUmemLocation location;
	CUresult result;
};

static bool managed_contains(const struct range *r, uint64_t addr, uint64_t size)
{
	uint64_t from = addr - range_addr(r), to = from + size;

	return r->kind == RANGE_MANAGED && to <= r->size && to >= from;
}

static void range_advise(struct range *r, void *arg)
{
	struct advice_request *c = arg;

	if (!managed_contains(r, c->addr, c->size))
		return;
	c->result = advice_change(r->private_data, r->size, c->addr - range_addr(r), c->size, c->advice, c->location)
			    ? CUDA_ERROR_OUT_OF_MEMORY
			    : CUDA_SUCCESS;
}

static CUresult managed_advise(CUdeviceptr addr, size_t size, int advice, CUmemLocation location)
{
	struct advice_request c = {addr, size, advice, location, CUDA_ERROR_INVALID_VALUE};

	if (size)
		range_change(addr, range_advise, &c);
	return c.result;
}

static bool location_normalize(CUmemLocation *l)
{
	return advice_location(l, soft.ndevices);
}

static bool device_location(CUdevice dev, CUmemLocation *l)
{
	return advice_location_of(dev, soft.ndevices, l);
}

CUresult soft_cuMemAdvise_v2(CUdeviceptr addr, size_t size, CUmem_advise advice, CUmemLocation location)
{
	struct context *ctx;
	CUresult r = context_enter(&ctx);

	if (r)
		return r;
	if (advice < CU_MEM_ADVISE_SET_READ_MOSTLY || advice > CU_MEM_ADVISE_UNSET_ACCESSED_BY ||
		!location_normalize(&location))
		return CUDA_ERROR_INVALID_VALUE;
	return managed_advise(addr, size, advice, location);
}

CUresult soft_cuMemAdvise(CUdeviceptr addr, size_t size, CUmem_advise advice, CUdevice dev)
{
	CUmemLocation l;

	if (!device_location(advice_has_location(advice) ? dev : CU_DEVICE_CPU, &l))
		return atomic_load(&soft.ready) ? CUDA_ERROR_INVALID_DEVICE : CUDA_ERROR_NOT_INITIALIZED;
	return soft_cuMemAdvise_v2(addr, size, advice, l);
}

/* Prefetching moves nothing, but the stream must be valid and, if it is captured, allow the call. */
static CUresult stream_enter_for_hint(CUstream handle)
{
	struct stream *s;
	CUresult r = stream_enter(handle, &s);

	if (r)
		return r;
	r = stream_check_uncaptured(s);
	object_put(s);
	return r;
}

CUresult soft_cuMemPrefetchAsync_v2(
	CUdeviceptr addr, size_t size, CUmemLocation location, unsigned int flags, CUstream stream)
{
	CUresult r = stream_enter_for_hint(stream);

	if (r)
		return r;
	if (flags || !location_normalize(&location))
		return CUDA_ERROR_INVALID_VALUE;
	return managed_advise(addr, size, 0, location);
}

CUresult soft_cuMemPrefetchAsync(CUdeviceptr addr, size_t size, CUdevice dev, CUstream stream)
{
	CUmemLocation l;

	if (!device_location(dev, &l))
		return atomic_load(&soft.ready) ? CUDA_ERROR_INVALID_DEVICE : CUDA_ERROR_NOT_INITIALIZED;
	return soft_cuMemPrefetchAsync_v2(addr, size, l, 0, stream);
}

/* Attaching memory to a stream restricts only the application: this memory is accessible everywhere at all times. */
CUresult soft_cuStreamAttachMemAsync(CUstream stream, CUdeviceptr ptr, size_t length, unsigned int flags)
{
	bool one = flags == CU_MEM_ATTACH_SINGLE;
	struct range range;
	CUresult r = stream_enter_for_hint(stream);

	if (r)
		return r;
	if ((flags != CU_MEM_ATTACH_GLOBAL && flags != CU_MEM_ATTACH_HOST && !one) || (one && (uintptr_t)stream <= 2))
		return CUDA_ERROR_INVALID_VALUE;
	if (!range_find(ptr, 1, &range) || range.kind != RANGE_MANAGED || range_addr(&range) != ptr ||
		(length && length != range.size))
		return CUDA_ERROR_INVALID_VALUE;
	return CUDA_SUCCESS;
}

/* ---- batches ---- */

static bool is_managed(CUdeviceptr addr, size_t size)
{
	struct range r;

	return size && range_find(addr, size, &r) && r.kind == RANGE_MANAGED;
}

static CUresult managed_batch_check(
	CUdeviceptr *addrs, size_t *sizes, size_t count, unsigned long long flags, CUstream stream)
{
	CUresult r = stream_enter_for_hint(stream);

	if (r)
		return r;
	if (!addrs || !sizes || !count || flags || (uintptr_t)stream <= 2)
		return CUDA_ERROR_INVALID_VALUE;
	for (size_t i = 0; i < count; i++)
		if (!is_managed(addrs[i], sizes[i]))
			return CUDA_ERROR_INVALID_VALUE;
	return CUDA_SUCCESS;
}

CUresult soft_cuMemPrefetchBatchAsync(CUdeviceptr *addrs, size_t *sizes, size_t count, CUmemLocation *locations,
	size_t *indices, size_t n, unsigned long long flags, CUstream stream)
{
	CUresult r = managed_batch_check(addrs, sizes, count, flags, stream);

	if (r)
		return r;
	if (!advice_locations_ok(locations, indices, n, count, soft.ndevices))
		return CUDA_ERROR_INVALID_VALUE;
	for (size_t i = 0, at = 0; i < count && !r; i++) {
		at += at + 1 < n && indices[at + 1] == i;
		CUmemLocation l = locations[at];

		location_normalize(&l);
		r = managed_advise(addrs[i], sizes[i], 0, l);
	}
	return r;
}

/* Payload of command_discard. */
struct discard {
	size_t n;
	struct {
		uint64_t addr, size;
	} range[];
};

/* Return whole discarded pages to the kernel.  They read as zeros afterwards; CUDA leaves the contents undefined. */
static CUresult run_discard(struct command *c)
{
	struct discard *d = c->data;

	for (size_t i = 0; i < d->n; i++) {
		uint64_t from = (d->range[i].addr + PAGE - 1) & -(uint64_t)PAGE;
		uint64_t to = (d->range[i].addr + d->range[i].size) & -(uint64_t)PAGE;

		if (to > from && is_managed(from, to - from))
			madvise((void *)(uintptr_t)from, to - from, MADV_DONTNEED);
	}
	return CUDA_SUCCESS;
}

static const struct command_ops command_discard = {COMMAND_OTHER, run_discard, NULL, false};

CUresult soft_cuMemDiscardBatchAsync(
	CUdeviceptr *addrs, size_t *sizes, size_t count, unsigned long long flags, CUstream stream)
{
	struct stream *s;
	struct command *c;
	CUresult r = managed_batch_check(addrs, sizes, count, flags, stream);

	if (r)
		return r;
	if (count > SIZE_MAX / sizeof(((struct discard *)0)->range[0]) - 1)
		return CUDA_ERROR_OUT_OF_MEMORY;
	c = command_create(&command_discard, sizeof(struct discard) + count * sizeof(((struct discard *)0)->range[0]));
	if (!c)
		return CUDA_ERROR_OUT_OF_MEMORY;
	struct discard *d = c->data;
	d->n = count;
	for (size_t i = 0; i < count; i++) {
		d->range[i].addr = addrs[i];
		d->range[i].size = sizes[i];
	}
	r = stream_enter(stream, &s);
	if (r) {
		command_destroy(c);
		return r;
	}
	r = stream_submit_quick(s, c);
	object_put(s);
	return r;
}

CUresult soft_cuMemDiscardAndPrefetchBatchAsync(CUdeviceptr *addrs, size_t *sizes, size_t count,
	CUmemLocation *locations, size_t *indices, size_t n, unsigned long long flags, CUstream stream)
{
	CUresult r = managed_batch_check(addrs, sizes, count, flags, stream);

	if (!r && !advice_locations_ok(locations, indices, n, count, soft.ndevices))
		r = CUDA_ERROR_INVALID_VALUE;
	if (!r)
		r = soft_cuMemDiscardBatchAsync(addrs, sizes, count, flags, stream);
	return r ? r : soft_cuMemPrefetchBatchAsync(addrs, sizes, count, locations, indices, n, flags, stream);
}

/* ---- queries ---- */

/* Argument and result of range_read_advice. */
struct advice_query {
	uint64_t addr, size;
	bool found;
	struct advice_state state;
};

static void range_read_advice(struct range *r, void *arg)
{
	struct advice_query *q = arg;

	q->found = managed_contains(r, q->addr, q->size);
	if (q->found)
		q->state = advice_of_range(r->private_data, r->size, q->addr - range_addr(r), q->size);
}

CUresult soft_cuMemRangeGetAttributes(
	void **data, size_t *sizes, CUmem_range_attribute *attributes, size_t n, CUdeviceptr addr, size_t size)
{
	struct advice_query q = {.addr = addr, .size = size};
	struct context *ctx;
	CUresult r = context_enter(&ctx);

	if (r)
		return r;
	if (!data || !sizes || !attributes || !n || !size)
		return CUDA_ERROR_INVALID_VALUE;
	range_change(addr, range_read_advice, &q);
	if (!q.found)
		return CUDA_ERROR_INVALID_VALUE;
	for (size_t i = 0; i < n && !r; i++)
		r = advice_attribute(&q.state, data[i], sizes[i], attributes[i]);
	return r;
}

CUresult soft_cuMemRangeGetAttribute(
	void *data, size_t size, CUmem_range_attribute attribute, CUdeviceptr addr, size_t count)
{
	return soft_cuMemRangeGetAttributes(&data, &size, &attribute, 1, addr, count);
}
