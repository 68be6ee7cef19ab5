/*
 * Managed memory, and the advice applications give about it.  All of it is host memory, so nothing ever
 *moves; but what was advised can be asked back, page by page, and so it is kept.
 *
 *	spans	| 0: state | 4096: state | 65536: state |	each up to the start of the next
 */
#include "backend/soft/range.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "util/machine.h"

#define PAGE 4096u

struct state {
	bool read_mostly;
	CUmemLocation preferred, prefetched; /* type 0: none */
	uint64_t devices;                    /* accessed by these */
	bool host;                           /* and by the host */
};

struct span {
	uint64_t start;
	struct state state;
};

struct advice { /* the owner of a managed range; memory lock */
	size_t n;
	struct span *span;
};

static void release_managed(struct range *r)
{
	struct advice *a = r->owner;

	munmap((void *)(uintptr_t)range_addr(r), r->size);
	free(a->span);
	free(a);
	free(r);
}

static struct range *new_range(void)
{
	struct range *r = calloc(1, sizeof *r);
	struct advice *a = calloc(1, sizeof *a);

	if (a)
		a->span = calloc(1, sizeof *a->span);
	if (!r || !a || !a->span) {
		if (a)
			free(a->span);
		free(a);
		free(r);
		return NULL;
	}
	a->n = 1;
	r->owner = a;
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
	e = capture_unsafe();
	if (e)
		return e;
	if (size > machine_memory())
		return CUDA_ERROR_OUT_OF_MEMORY;
	struct range *r = new_range();
	if (!r)
		return CUDA_ERROR_OUT_OF_MEMORY;
	void *p =
		mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	r->size = size;
	r->node.key = (uintptr_t)p;
	r->kind = RANGE_MANAGED;
	r->flags = flags;
	r->sync_memops = true;
	r->device = ctx->device;
	r->ctx = ctx;
	r->release = release_managed;
	if (p == MAP_FAILED) {
		free(((struct advice *)r->owner)->span);
		free(r->owner);
		free(r);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	range_insert(r);
	*out = (uintptr_t)p;
	return CUDA_SUCCESS;
}

/* ---- spans ---- */

/* Index of the span that starts at `at`; made if need be.  There is room for one more. */
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

static bool same(const struct state *a, const struct state *b)
{
	return a->read_mostly == b->read_mostly && a->preferred.type == b->preferred.type &&
	       a->preferred.id == b->preferred.id && a->prefetched.type == b->prefetched.type &&
	       a->prefetched.id == b->prefetched.id && a->devices == b->devices && a->host == b->host;
}

static void join(struct advice *a)
{
	size_t n = 1;

	for (size_t i = 1; i < a->n; i++)
		if (!same(&a->span[i].state, &a->span[n - 1].state))
			a->span[n++] = a->span[i];
	a->n = n;
}

struct change {
	uint64_t addr, size;
	int advice; /* CUmem_advise; 0: prefetched to location */
	CUmemLocation location;
	CUresult result;
};

static void change_state(struct state *s, const struct change *c)
{
	bool on = c->location.type == CU_MEM_LOCATION_TYPE_DEVICE;
	uint64_t bit = on ? 1ull << c->location.id : 0;

	switch (c->advice) {
	case 0:
		s->prefetched = c->location;
		break;
	case CU_MEM_ADVISE_SET_READ_MOSTLY:
	case CU_MEM_ADVISE_UNSET_READ_MOSTLY:
		s->read_mostly = c->advice == CU_MEM_ADVISE_SET_READ_MOSTLY;
		break;
	case CU_MEM_ADVISE_SET_PREFERRED_LOCATION:
		s->preferred = c->location;
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

static void apply(struct range *r, void *arg)
{
	struct change *c = arg;
	struct advice *a = r->owner;
	uint64_t from = c->addr - range_addr(r), to = from + c->size;

	if (r->kind != RANGE_MANAGED || to > r->size || to < from)
		return;
	struct span *more = realloc(a->span, (a->n + 2) * sizeof *more);
	if (!more) {
		c->result = CUDA_ERROR_OUT_OF_MEMORY;
		return;
	}
	a->span = more;
	from &= -(uint64_t)PAGE;
	to = (to + PAGE - 1) & -(uint64_t)PAGE;
	size_t first = split(a, from), end = to < r->size ? split(a, to) : a->n;
	for (size_t i = first; i < end; i++)
		change_state(&a->span[i].state, c);
	join(a);
	c->result = CUDA_SUCCESS;
}

static CUresult change(CUdeviceptr addr, size_t size, int advice, CUmemLocation location)
{
	struct change c = {addr, size, advice, location, CUDA_ERROR_INVALID_VALUE};

	if (size)
		range_change(addr, apply, &c);
	return c.result;
}

/* ---- locations ---- */

/* The form in which a location is kept: a device, or the host, whose number is -1 unless it is a node's. */
static bool location_ok(CUmemLocation *l)
{
	switch (l->type) {
	case CU_MEM_LOCATION_TYPE_DEVICE:
		return device_find(l->id);
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
	*l = (CUmemLocation){dev == CU_DEVICE_CPU ? CU_MEM_LOCATION_TYPE_HOST : CU_MEM_LOCATION_TYPE_DEVICE,
			     dev};
	return location_ok(l);
}

/* ---- advice ---- */

CUresult soft_cuMemAdvise_v2(CUdeviceptr addr, size_t size, CUmem_advise advice, CUmemLocation location)
{
	struct context *ctx;
	CUresult r = context_enter(&ctx);

	if (r)
		return r;
	if (advice < CU_MEM_ADVISE_SET_READ_MOSTLY || advice > CU_MEM_ADVISE_UNSET_ACCESSED_BY ||
	    !location_ok(&location))
		return CUDA_ERROR_INVALID_VALUE;
	return change(addr, size, advice, location);
}

CUresult soft_cuMemAdvise(CUdeviceptr addr, size_t size, CUmem_advise advice, CUdevice dev)
{
	CUmemLocation l;
	bool about_device =
		advice > CU_MEM_ADVISE_UNSET_READ_MOSTLY && advice != CU_MEM_ADVISE_UNSET_PREFERRED_LOCATION;

	if (!location_of(about_device ? dev : CU_DEVICE_CPU, &l))
		return atomic_load(&soft.ready) ? CUDA_ERROR_INVALID_DEVICE : CUDA_ERROR_NOT_INITIALIZED;
	return soft_cuMemAdvise_v2(addr, size, advice, l);
}

/* There is nothing to move, but the stream must be one that could take the command. */
static CUresult enter_for_hint(CUstream handle)
{
	struct stream *s;
	CUresult r = stream_enter(handle, &s);

	if (r)
		return r;
	if (capture_forbids && atomic_load(&s->capture))
		r = capture_forbids(s);
	object_put(s);
	return r;
}

CUresult soft_cuMemPrefetchAsync_v2(CUdeviceptr addr, size_t size, CUmemLocation location, unsigned int flags,
				    CUstream stream)
{
	CUresult r = enter_for_hint(stream);

	if (r)
		return r;
	if (flags || !location_ok(&location))
		return CUDA_ERROR_INVALID_VALUE;
	return change(addr, size, 0, location);
}

CUresult soft_cuMemPrefetchAsync(CUdeviceptr addr, size_t size, CUdevice dev, CUstream stream)
{
	CUmemLocation l;

	if (!location_of(dev, &l))
		return atomic_load(&soft.ready) ? CUDA_ERROR_INVALID_DEVICE : CUDA_ERROR_NOT_INITIALIZED;
	return soft_cuMemPrefetchAsync_v2(addr, size, l, 0, stream);
}

/* Memory attached to a stream is a promise of the application's; ours is visible everywhere at all times. */
CUresult soft_cuStreamAttachMemAsync(CUstream stream, CUdeviceptr ptr, size_t length, unsigned int flags)
{
	bool one = flags == CU_MEM_ATTACH_SINGLE;
	struct range range;
	CUresult r = enter_for_hint(stream);

	if (r)
		return r;
	if ((flags != CU_MEM_ATTACH_GLOBAL && flags != CU_MEM_ATTACH_HOST && !one) ||
	    (one && (uintptr_t)stream <= 2))
		return CUDA_ERROR_INVALID_VALUE;
	if (!range_find(ptr, 1, &range) || range.kind != RANGE_MANAGED || range_addr(&range) != ptr ||
	    (length && length != range.size))
		return CUDA_ERROR_INVALID_VALUE;
	return CUDA_SUCCESS;
}

/* ---- batches ---- */

static bool managed(CUdeviceptr addr, size_t size)
{
	struct range r;

	return size && range_find(addr, size, &r) && r.kind == RANGE_MANAGED;
}

static CUresult batch_check(CUdeviceptr *addrs, size_t *sizes, size_t count, unsigned long long flags,
			    CUstream stream)
{
	CUresult r = enter_for_hint(stream);

	if (r)
		return r;
	if (!addrs || !sizes || !count || flags || (uintptr_t)stream <= 2)
		return CUDA_ERROR_INVALID_VALUE;
	for (size_t i = 0; i < count; i++)
		if (!managed(addrs[i], sizes[i]))
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

CUresult soft_cuMemPrefetchBatchAsync(CUdeviceptr *addrs, size_t *sizes, size_t count,
				      CUmemLocation *locations, size_t *indices, size_t n,
				      unsigned long long flags, CUstream stream)
{
	CUresult r = batch_check(addrs, sizes, count, flags, stream);

	if (r)
		return r;
	if (!locations_ok(locations, indices, n, count))
		return CUDA_ERROR_INVALID_VALUE;
	for (size_t i = 0, at = 0; i < count && !r; i++) {
		at += at + 1 < n && indices[at + 1] == i;
		CUmemLocation l = locations[at];

		location_ok(&l);
		r = change(addrs[i], sizes[i], 0, l);
	}
	return r;
}

struct discard {
	size_t n;
	struct {
		uint64_t addr, size;
	} range[];
};

/* What nobody needs any more goes back to the system; it reads as zeros then, which is as good as anything.
 */
static CUresult run_discard(struct command *c)
{
	struct discard *d = c->data;

	for (size_t i = 0; i < d->n; i++) {
		uint64_t from = (d->range[i].addr + PAGE - 1) & -(uint64_t)PAGE;
		uint64_t to = (d->range[i].addr + d->range[i].size) & -(uint64_t)PAGE;

		if (to > from && managed(from, to - from))
			madvise((void *)(uintptr_t)from, to - from, MADV_DONTNEED);
	}
	return CUDA_SUCCESS;
}

static const struct command_ops command_discard = {COMMAND_OTHER, run_discard, NULL, false};

CUresult soft_cuMemDiscardBatchAsync(CUdeviceptr *addrs, size_t *sizes, size_t count,
				     unsigned long long flags, CUstream stream)
{
	struct stream *s;
	struct command *c;
	CUresult r = batch_check(addrs, sizes, count, flags, stream);

	if (r)
		return r;
	if (count > SIZE_MAX / sizeof(((struct discard *)0)->range[0]) - 1)
		return CUDA_ERROR_OUT_OF_MEMORY;
	c = command_create(&command_discard,
			   sizeof(struct discard) + count * sizeof(((struct discard *)0)->range[0]));
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
						CUmemLocation *locations, size_t *indices, size_t n,
						unsigned long long flags, CUstream stream)
{
	CUresult r = batch_check(addrs, sizes, count, flags, stream);

	if (!r && !locations_ok(locations, indices, n, count))
		r = CUDA_ERROR_INVALID_VALUE;
	if (!r)
		r = soft_cuMemDiscardBatchAsync(addrs, sizes, count, flags, stream);
	return r ? r
		 : soft_cuMemPrefetchBatchAsync(addrs, sizes, count, locations, indices, n, flags, stream);
}

/* ---- asking back ---- */

struct question {
	uint64_t addr, size;
	bool found;
	struct state state; /* what all pages have in common */
};

static void common(struct state *s, const struct state *o)
{
	s->read_mostly &= o->read_mostly;
	if (s->preferred.type != o->preferred.type || s->preferred.id != o->preferred.id)
		s->preferred = (CUmemLocation){0};
	if (s->prefetched.type != o->prefetched.type || s->prefetched.id != o->prefetched.id)
		s->prefetched = (CUmemLocation){0};
	s->devices &= o->devices;
	s->host &= o->host;
}

static void look(struct range *r, void *arg)
{
	struct question *q = arg;
	struct advice *a = r->owner;
	uint64_t from = q->addr - range_addr(r), to = from + q->size;
	bool first = true;

	if (r->kind != RANGE_MANAGED || to > r->size || to < from)
		return;
	q->found = true;
	for (size_t i = 0; i < a->n; i++) {
		uint64_t end = i + 1 < a->n ? a->span[i + 1].start : r->size;

		if (end <= from || a->span[i].start >= to)
			continue;
		if (first)
			q->state = a->span[i].state;
		else
			common(&q->state, &a->span[i].state);
		first = false;
	}
}

static int location_number(CUmemLocation l)
{
	if (!l.type)
		return CU_DEVICE_INVALID;
	return l.type == CU_MEM_LOCATION_TYPE_DEVICE ? l.id : CU_DEVICE_CPU;
}

static void accessed_by(const struct state *s, int *data, size_t n)
{
	size_t at = 0;

	for (int i = 0; i < MAX_DEVICES && at < n; i++)
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
		*data = location_number(s->preferred);
		break;
	case CU_MEM_RANGE_ATTRIBUTE_ACCESSED_BY:
		accessed_by(s, data, size / 4);
		break;
	case CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION:
		*data = location_number(s->prefetched);
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

CUresult soft_cuMemRangeGetAttributes(void **data, size_t *sizes, CUmem_range_attribute *attributes, size_t n,
				      CUdeviceptr addr, size_t size)
{
	struct question q = {.addr = addr, .size = size};
	struct context *ctx;
	CUresult r = context_enter(&ctx);

	if (r)
		return r;
	if (!data || !sizes || !attributes || !n || !size)
		return CUDA_ERROR_INVALID_VALUE;
	range_change(addr, look, &q);
	if (!q.found)
		return CUDA_ERROR_INVALID_VALUE;
	for (size_t i = 0; i < n && !r; i++)
		r = answer(&q.state, data[i], sizes[i], attributes[i]);
	return r;
}

CUresult soft_cuMemRangeGetAttribute(void *data, size_t size, CUmem_range_attribute attribute,
				     CUdeviceptr addr, size_t count)
{
	return soft_cuMemRangeGetAttributes(&data, &size, &attribute, 1, addr, count);
}
