/*
 * Managed memory, and the advice applications give about it.  It is host memory that the device reaches, so
 * nothing ever moves; but what was advised can be asked back, page by page, and so it is kept.
 *
 *	spans	| 0: state | 4096: state | 65536: state |	each up to the start of the next
 */
#include <stdlib.h>
#include "backend/remote/hostmem.h"

#define PAGE 4096ull

struct state {
	bool read_mostly, host;
	CUmemLocation preferred, prefetched; /* type 0: none */
	uint64_t devices;		     /* accessed by these; host: and by the host */
};

struct span {
	uint64_t start;
	struct state state;
};

struct advice {
	struct map_node node; /* key: the memory's address */
	size_t n;
	struct span *span;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct map advices;

static struct advice *advice_of(uint64_t base)
{
	struct advice *a = (struct advice *)map_below(&advices, base);

	return a && a->node.key == base ? a : NULL;
}

/* With room for two more spans. */
static struct advice *advice_grow(uint64_t base)
{
	struct advice *a = advice_of(base);
	struct span *more;

	if (!a) {
		a = calloc(1, sizeof *a);
		if (!a || !(a->span = calloc(3, sizeof *a->span))) {
			free(a);
			return NULL;
		}
		a->n = 1;
		a->node.key = base;
		map_insert(&advices, &a->node);
		return a;
	}
	more = realloc(a->span, (a->n + 2) * sizeof *more);
	if (!more)
		return NULL;
	a->span = more;
	return a;
}

void managed_forget(uint64_t base)
{
	struct advice *a;

	pthread_mutex_lock(&lock);
	a = advice_of(base);
	if (a)
		map_remove(&advices, &a->node);
	pthread_mutex_unlock(&lock);
	if (a)
		free(a->span);
	free(a);
}

/* ---- spans ---- */

/* Index of the span that starts at `at`; made if need be. */
static size_t split(struct advice *a, uint64_t at)
{
	size_t i = a->n;

	while (a->span[i - 1].start > at)
		i--;
	if (a->span[i - 1].start == at)
		return i - 1;
	memmove(&a->span[i + 1], &a->span[i], (a->n - i) * sizeof *a->span);
	a->span[i] = (struct span){at, a->span[i - 1].state};
	a->n++;
	return i;
}

static bool same_place(CUmemLocation a, CUmemLocation b)
{
	return a.type == b.type && a.id == b.id;
}

static bool same(const struct state *a, const struct state *b)
{
	return a->read_mostly == b->read_mostly && same_place(a->preferred, b->preferred) &&
	       same_place(a->prefetched, b->prefetched) && a->devices == b->devices && a->host == b->host;
}

static void join(struct advice *a)
{
	size_t n = 1;

	for (size_t i = 1; i < a->n; i++)
		if (!same(&a->span[i].state, &a->span[n - 1].state))
			a->span[n++] = a->span[i];
	a->n = n;
}

/* advice 0: prefetched. */
static void change_state(struct state *s, int advice, CUmemLocation l)
{
	bool on = l.type == CU_MEM_LOCATION_TYPE_DEVICE;
	uint64_t bit = on ? 1ull << l.id : 0;

	switch (advice) {
	case 0:
		s->prefetched = l;
		break;
	case CU_MEM_ADVISE_SET_READ_MOSTLY:
	case CU_MEM_ADVISE_UNSET_READ_MOSTLY:
		s->read_mostly = advice == CU_MEM_ADVISE_SET_READ_MOSTLY;
		break;
	case CU_MEM_ADVISE_SET_PREFERRED_LOCATION:
		s->preferred = l;
		break;
	case CU_MEM_ADVISE_UNSET_PREFERRED_LOCATION:
		s->preferred = (CUmemLocation){0};
		break;
	case CU_MEM_ADVISE_SET_ACCESSED_BY:
		s->devices |= bit;
		s->host |= !on;
		break;
	default:
		s->devices &= ~bit;
		s->host &= on;
	}
}

static bool find(CUdeviceptr addr, size_t size, struct host_info *h)
{
	return size && hostmem_find(addr, h) && h->kind == HOST_MANAGED && size <= h->size - (addr - h->base);
}

static CUresult change(CUdeviceptr addr, size_t size, int advice, CUmemLocation l)
{
	struct host_info h;
	struct advice *a;

	if (!find(addr, size, &h))
		return CUDA_ERROR_INVALID_VALUE;
	pthread_mutex_lock(&lock);
	a = advice_grow(h.base);
	if (a) {
		uint64_t from = (addr - h.base) & -PAGE, to = (addr - h.base + size + PAGE - 1) & -PAGE;
		size_t first = split(a, from), end = to < h.size ? split(a, to) : a->n;
		for (size_t i = first; i < end; i++)
			change_state(&a->span[i].state, advice, l);
		join(a);
	}
	pthread_mutex_unlock(&lock);
	return a ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

/* ---- locations ---- */

/* The form in which a location is kept: a device, or the host, whose number is -1 unless it is a node's. */
static bool location_ok(CUmemLocation *l)
{
	switch (l->type) {
	case CU_MEM_LOCATION_TYPE_DEVICE:
		return device_find(l->id) != NULL;
	case CU_MEM_LOCATION_TYPE_HOST_NUMA:
		return l->id >= 0;
	case CU_MEM_LOCATION_TYPE_HOST:
	case CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT:
		*l = (CUmemLocation){CU_MEM_LOCATION_TYPE_HOST, CU_DEVICE_CPU};
		return true;
	default:
		return false;
	}
}

static bool location_of(CUdevice dev, CUmemLocation *l)
{
	*l = (CUmemLocation){dev == CU_DEVICE_CPU ? CU_MEM_LOCATION_TYPE_HOST : CU_MEM_LOCATION_TYPE_DEVICE, dev};
	return location_ok(l);
}

/* ---- advice ---- */

CUresult remote_cuMemAdvise_v2(CUdeviceptr addr, size_t size, CUmem_advise advice, CUmemLocation location)
{
	if (!context_current())
		return CUDA_ERROR_INVALID_CONTEXT;
	if (advice < CU_MEM_ADVISE_SET_READ_MOSTLY || advice > CU_MEM_ADVISE_UNSET_ACCESSED_BY || !location_ok(&location))
		return CUDA_ERROR_INVALID_VALUE;
	return change(addr, size, advice, location);
}

CUresult remote_cuMemAdvise(CUdeviceptr addr, size_t size, CUmem_advise advice, CUdevice dev)
{
	bool about = advice > CU_MEM_ADVISE_UNSET_READ_MOSTLY && advice != CU_MEM_ADVISE_UNSET_PREFERRED_LOCATION;
	CUmemLocation l;

	if (!location_of(about ? dev : CU_DEVICE_CPU, &l))
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

CUresult remote_cuMemPrefetchAsync_v2(CUdeviceptr addr, size_t size, CUmemLocation location, unsigned int flags,
	CUstream stream)
{
	CUresult r = hint(stream);

	if (r)
		return r;
	return flags || !location_ok(&location) ? CUDA_ERROR_INVALID_VALUE : change(addr, size, 0, location);
}

CUresult remote_cuMemPrefetchAsync(CUdeviceptr addr, size_t size, CUdevice dev, CUstream stream)
{
	CUmemLocation l;

	return location_of(dev, &l) ? remote_cuMemPrefetchAsync_v2(addr, size, l, 0, stream) : CUDA_ERROR_INVALID_DEVICE;
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
	return find(ptr, 1, &h) && h.base == ptr && (!length || length == h.size) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
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

/* indices[i] is the first range that goes to locations[i]: ascending, from 0. */
static bool locations_ok(const CUmemLocation *locations, const size_t *indices, size_t n, size_t count)
{
	if (!locations || !indices || !n || n > count || indices[0])
		return false;
	for (size_t i = 0; i < n; i++) {
		CUmemLocation l = locations[i];
		if (!location_ok(&l) || indices[i] >= count || (i && indices[i] <= indices[i - 1]))
			return false;
	}
	return true;
}

CUresult remote_cuMemPrefetchBatchAsync(CUdeviceptr *addrs, size_t *sizes, size_t count, CUmemLocation *locations,
	size_t *indices, size_t n, unsigned long long flags, CUstream stream)
{
	CUresult r = batch_check(addrs, sizes, count, flags, stream);

	if (!r && !locations_ok(locations, indices, n, count))
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
CUresult remote_cuMemDiscardBatchAsync(CUdeviceptr *addrs, size_t *sizes, size_t count, unsigned long long flags,
	CUstream stream)
{
	return batch_check(addrs, sizes, count, flags, stream);
}

CUresult remote_cuMemDiscardAndPrefetchBatchAsync(CUdeviceptr *addrs, size_t *sizes, size_t count,
	CUmemLocation *locations, size_t *indices, size_t n, unsigned long long flags, CUstream stream)
{
	return remote_cuMemPrefetchBatchAsync(addrs, sizes, count, locations, indices, n, flags, stream);
}

/* ---- asking back ---- */

static void common(struct state *s, const struct state *o)
{
	s->read_mostly &= o->read_mostly;
	if (!same_place(s->preferred, o->preferred))
		s->preferred = (CUmemLocation){0};
	if (!same_place(s->prefetched, o->prefetched))
		s->prefetched = (CUmemLocation){0};
	s->devices &= o->devices;
	s->host &= o->host;
}

/* What all pages have in common. */
static struct state look(const struct host_info *h, CUdeviceptr addr, size_t size)
{
	uint64_t from = addr - h->base, to = from + size;
	struct state s = {0};
	bool first = true;
	struct advice *a;

	pthread_mutex_lock(&lock);
	a = advice_of(h->base);
	for (size_t i = 0; a && i < a->n; i++) {
		uint64_t end = i + 1 < a->n ? a->span[i + 1].start : h->size;
		if (end <= from || a->span[i].start >= to)
			continue;
		if (first)
			s = a->span[i].state;
		else
			common(&s, &a->span[i].state);
		first = false;
	}
	pthread_mutex_unlock(&lock);
	return s;
}

static int place_number(CUmemLocation l)
{
	return !l.type ? CU_DEVICE_INVALID : l.type == CU_MEM_LOCATION_TYPE_DEVICE ? l.id : CU_DEVICE_CPU;
}

static void accessed_by(const struct state *s, int *data, size_t n)
{
	size_t at = 0;

	for (int i = 0; i < WIRE_DEVICES_MAX && at < n; i++)
		if (s->devices >> i & 1)
			data[at++] = i;
	if (s->host && at < n)
		data[at++] = CU_DEVICE_CPU;
	while (at < n)
		data[at++] = CU_DEVICE_INVALID;
}

static CUresult answer(const struct state *s, int *data, size_t size, CUmem_range_attribute attribute)
{
	if (!data || !size || size % 4 || (size != 4 && attribute != CU_MEM_RANGE_ATTRIBUTE_ACCESSED_BY))
		return CUDA_ERROR_INVALID_VALUE;
	switch (attribute) {
	case CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY:
		*data = s->read_mostly;
		break;
	case CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION:
		*data = place_number(s->preferred);
		break;
	case CU_MEM_RANGE_ATTRIBUTE_ACCESSED_BY:
		accessed_by(s, data, size / 4);
		break;
	case CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION:
		*data = place_number(s->prefetched);
		break;
	case CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION_TYPE:
		*data = s->preferred.type;
		break;
	case CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION_ID:
		*data = s->preferred.type ? s->preferred.id : CU_DEVICE_INVALID;
		break;
	case CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION_TYPE:
		*data = s->prefetched.type;
		break;
	case CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION_ID:
		*data = s->prefetched.type ? s->prefetched.id : CU_DEVICE_INVALID;
		break;
	default:
		return CUDA_ERROR_INVALID_VALUE;
	}
	return CUDA_SUCCESS;
}

CUresult remote_cuMemRangeGetAttributes(void **data, size_t *sizes, CUmem_range_attribute *attributes, size_t n,
	CUdeviceptr addr, size_t size)
{
	struct host_info h;
	struct state s;
	CUresult r = CUDA_SUCCESS;

	if (!context_current())
		return CUDA_ERROR_INVALID_CONTEXT;
	if (!data || !sizes || !attributes || !n || !find(addr, size, &h))
		return CUDA_ERROR_INVALID_VALUE;
	s = look(&h, addr, size);
	for (size_t i = 0; i < n && !r; i++)
		r = answer(&s, data[i], sizes[i], attributes[i]);
	return r;
}

CUresult remote_cuMemRangeGetAttribute(void *data, size_t size, CUmem_range_attribute attribute, CUdeviceptr addr,
	size_t count)
{
	return remote_cuMemRangeGetAttributes(&data, &size, &attribute, 1, addr, count);
}
