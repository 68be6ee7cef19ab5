/* Spans of managed memory with equal advice. */
#include "cuda/advice.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cuda/batch.h"

#define PAGE 4096ull

struct advice_span {
	uint64_t start;
	struct advice_state state;
};

void advice_finish(struct advice *a)
{
	free(a->span);
	*a = (struct advice){0};
}

/* ---- spans ---- */

/* Make room for two more spans. */
static int spans_grow(struct advice *a)
{
	struct advice_span *more = realloc(a->span, (a->n + 3) * sizeof *more);

	if (!more)
		return -ENOMEM;
	a->span = more;
	if (!a->n)
		a->span[a->n++] = (struct advice_span){0};
	return 0;
}

/* Returns the index of the span that starts at `at`, after splitting a span if needed. */
static size_t span_split(struct advice *a, uint64_t at)
{
	size_t i = a->n;

	while (a->span[i - 1].start > at)
		i--;
	if (a->span[i - 1].start == at)
		return i - 1;
	memmove(&a->span[i + 1], &a->span[i], (a->n - i) * sizeof *a->span);
	a->span[i] = (struct advice_span){at, a->span[i - 1].state};
	a->n++;
	return i;
}

static bool location_equal(CUmemLocation a, CUmemLocation b)
{
	return a.type == b.type && a.id == b.id;
}

static bool state_equal(const struct advice_state *a, const struct advice_state *b)
{
	return a->read_mostly == b->read_mostly && location_equal(a->preferred, b->preferred) &&
	       location_equal(a->prefetched, b->prefetched) && a->devices == b->devices && a->host == b->host;
}

static void spans_merge(struct advice *a)
{
	size_t n = 1;

	for (size_t i = 1; i < a->n; i++)
		if (!state_equal(&a->span[i].state, &a->span[n - 1].state))
			a->span[n++] = a->span[i];
	a->n = n;
}

static void state_change(struct advice_state *s, int what, CUmemLocation l)
{
	bool on = l.type == CU_MEM_LOCATION_TYPE_DEVICE;
	uint64_t bit = on ? 1ull << l.id : 0;

	switch (what) {
	case ADVICE_PREFETCHED:
		s->prefetched = l;
		break;
	case CU_MEM_ADVISE_SET_READ_MOSTLY:
	case CU_MEM_ADVISE_UNSET_READ_MOSTLY:
		s->read_mostly = what == CU_MEM_ADVISE_SET_READ_MOSTLY;
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

int advice_change(struct advice *a, uint64_t length, uint64_t from, uint64_t size, int what, CUmemLocation location)
{
	uint64_t to = (from + size + PAGE - 1) & -PAGE;

	if (spans_grow(a))
		return -ENOMEM;
	size_t first = span_split(a, from & -PAGE), end = to < length ? span_split(a, to) : a->n;
	for (size_t i = first; i < end; i++)
		state_change(&a->span[i].state, what, location);
	spans_merge(a);
	return 0;
}

/* ---- queries ---- */

static void state_intersect(struct advice_state *s, const struct advice_state *o)
{
	s->read_mostly &= o->read_mostly;
	if (!location_equal(s->preferred, o->preferred))
		s->preferred = (CUmemLocation){0};
	if (!location_equal(s->prefetched, o->prefetched))
		s->prefetched = (CUmemLocation){0};
	s->devices &= o->devices;
	s->host &= o->host;
}

struct advice_state advice_of_range(const struct advice *a, uint64_t length, uint64_t from, uint64_t size)
{
	struct advice_state s = {0};
	bool first = true;

	for (size_t i = 0; i < a->n; i++) {
		uint64_t end = i + 1 < a->n ? a->span[i + 1].start : length;

		if (end <= from || a->span[i].start >= from + size)
			continue;
		if (first)
			s = a->span[i].state;
		else
			state_intersect(&s, &a->span[i].state);
		first = false;
	}
	return s;
}

static int location_device(CUmemLocation l)
{
	if (!l.type)
		return CU_DEVICE_INVALID;
	return l.type == CU_MEM_LOCATION_TYPE_DEVICE ? l.id : CU_DEVICE_CPU;
}

static void list_accessors(const struct advice_state *s, int *data, size_t n)
{
	size_t at = 0;

	for (int i = 0; i < 64 && at < n; i++)
		if (s->devices >> i & 1)
			data[at++] = i;
	if (s->host && at < n)
		data[at++] = CU_DEVICE_CPU;
	while (at < n)
		data[at++] = CU_DEVICE_INVALID;
}

CUresult advice_attribute(const struct advice_state *s, int *data, size_t size, CUmem_range_attribute attribute)
{
	if (!data || !size || size % 4 || (size != 4 && attribute != CU_MEM_RANGE_ATTRIBUTE_ACCESSED_BY))
		return CUDA_ERROR_INVALID_VALUE;
	switch (attribute) {
	case CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY:
		*data = s->read_mostly;
		break;
	case CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION:
		*data = location_device(s->preferred);
		break;
	case CU_MEM_RANGE_ATTRIBUTE_ACCESSED_BY:
		list_accessors(s, data, size / 4);
		break;
	case CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION:
		*data = location_device(s->prefetched);
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

/* ---- locations ---- */

bool advice_location(CUmemLocation *l, int devices)
{
	switch (l->type) {
	case CU_MEM_LOCATION_TYPE_DEVICE:
		return l->id >= 0 && l->id < devices;
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

bool advice_location_of(CUdevice dev, int devices, CUmemLocation *l)
{
	*l = (CUmemLocation){dev == CU_DEVICE_CPU ? CU_MEM_LOCATION_TYPE_HOST : CU_MEM_LOCATION_TYPE_DEVICE, dev};
	return advice_location(l, devices);
}

bool advice_has_location(CUmem_advise advice)
{
	return advice > CU_MEM_ADVISE_UNSET_READ_MOSTLY && advice != CU_MEM_ADVISE_UNSET_PREFERRED_LOCATION;
}

bool advice_locations_ok(const CUmemLocation *locations, const size_t *indices, size_t n, size_t count, int devices)
{
	if (!locations || !batch_indices_ok(indices, n, count))
		return false;
	for (size_t i = 0; i < n; i++) {
		CUmemLocation l = locations[i];

		if (!advice_location(&l, devices))
			return false;
	}
	return true;
}
