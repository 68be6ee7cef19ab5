/*
 * Memory that nodes allocate and free.  Its address is known when the node is made and never changes, so it
 * is set aside then; pages cost nothing until they are touched.  What a launch allocates and frees is decided
 * when it is launched, which is when the application may start to use it in stream order.
 */
#include "backend/soft/graph/graph.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "backend/soft/memory/range.h"

struct graph_memory {
	_Atomic unsigned refs; /* works; and one while it is allocated */
	struct list link;
	struct device *device;
	uint64_t addr, size;
	bool live;     /* allocated, as far as launches so far say */
	bool reserved; /* counted as such */
	unsigned held; /* by launches in flight */
};

static struct {
	pthread_mutex_t lock;
	struct list all;
	struct {
		uint64_t used, used_high, reserved, reserved_high;
	} device[MAX_DEVICES];
} memory = {.lock = PTHREAD_MUTEX_INITIALIZER, .all = {&memory.all, &memory.all}};

void graph_memory_ref(struct graph_memory *m)
{
	atomic_fetch_add(&m->refs, 1);
}

static void unreserve(struct graph_memory *m)
{
	if (m->reserved)
		memory.device[m->device->ordinal].reserved -= m->size;
	m->reserved = false;
}

static void destroy(struct graph_memory *m)
{
	pthread_mutex_lock(&memory.lock);
	list_remove(&m->link);
	unreserve(m);
	pthread_mutex_unlock(&memory.lock);
	device_memory_free(m->device, m->addr, m->size);
	free(m);
}

void graph_memory_put(struct graph_memory *m)
{
	if (!m || atomic_fetch_sub(&m->refs, 1) != 1)
		return;
	struct range *r = range_remove(m->addr, 1u << RANGE_GRAPH);
	free(r);
	destroy(m);
}

static void set_live(struct graph_memory *m, bool live)
{
	uint64_t *used = &memory.device[m->device->ordinal].used;

	if (m->live == live)
		return;
	m->live = live;
	*used += live ? m->size : -m->size;
	if (live)
		graph_memory_ref(m);
	else
		atomic_fetch_sub(&m->refs, 1); /* our caller has another, or looks at the count */
}

/* The application frees it with cuMemFree: the graph may allocate it again, or is gone and this was the end.
 */
static void release_range(struct range *r)
{
	struct graph_memory *m = r->private_data;

	pthread_mutex_lock(&memory.lock);
	set_live(m, false);
	bool last = !atomic_load(&m->refs);
	pthread_mutex_unlock(&memory.lock);
	if (!last && range_insert(r) == 0)
		return;
	free(r);
	if (last)
		destroy(m);
}

static CUresult create(struct device *d, uint64_t size, struct graph_memory **out)
{
	struct graph_memory *m = calloc(1, sizeof *m);
	struct range *r = calloc(1, sizeof *r);
	CUresult e = m && r ? device_memory_alloc(d, size, &m->addr) : CUDA_ERROR_OUT_OF_MEMORY;

	if (e) {
		free(m);
		free(r);
		return e;
	}
	atomic_init(&m->refs, 1);
	m->device = d;
	m->size = size;
	r->node.key = m->addr;
	r->size = size;
	r->kind = RANGE_GRAPH;
	r->device = d;
	r->private_data = m;
	r->release = release_range;
	pthread_mutex_lock(&memory.lock);
	list_append(&memory.all, &m->link);
	pthread_mutex_unlock(&memory.lock);
	range_insert(r); /* fresh memory overlaps nothing */
	*out = m;
	return CUDA_SUCCESS;
}

/* ---- nodes ---- */

static CUresult check(const CUDA_MEM_ALLOC_NODE_PARAMS_v2 *p, struct device **d)
{
	*d = p->poolProps.location.type == CU_MEM_LOCATION_TYPE_DEVICE ? device_find(p->poolProps.location.id) : NULL;
	if (p->poolProps.allocType != CU_MEM_ALLOCATION_TYPE_PINNED || !*d || !p->bytesize)
		return CUDA_ERROR_INVALID_VALUE;
	if (p->poolProps.handleTypes != CU_MEM_HANDLE_TYPE_NONE || (p->accessDescCount && !p->accessDescs))
		return CUDA_ERROR_INVALID_VALUE;
	for (size_t i = 0; i < p->accessDescCount; i++)
		if (i >= MAX_DEVICES || !device_find(p->accessDescs[i].location.id))
			return CUDA_ERROR_INVALID_VALUE;
	return CUDA_SUCCESS;
}

CUresult content_alloc(struct content *c, CUgraphNodeParams *p)
{
	CUDA_MEM_ALLOC_NODE_PARAMS_v2 *a = &c->params.alloc;
	size_t bytes = a->accessDescCount * sizeof *a->accessDescs;
	struct device *d;
	CUresult r = check(a, &d);

	if (r)
		return r;
	c->work = work_create();
	if (!c->work || (bytes && !(c->work->owned = malloc(bytes))))
		return CUDA_ERROR_OUT_OF_MEMORY;
	if (bytes)
		memcpy(c->work->owned, a->accessDescs, bytes);
	a->accessDescs = c->work->owned;
	r = create(d, a->bytesize, &c->work->memory);
	if (!r)
		a->dptr = p->alloc.dptr = c->work->memory->addr;
	return r;
}

/* Runs under the map's lock: the range is there, so the memory is; it may be on its way out. */
static void take_ref(struct range *r, void *arg)
{
	struct graph_memory **out = arg, *m = r->private_data;
	unsigned refs;

	if (r->kind != RANGE_GRAPH)
		return;
	refs = atomic_load(&m->refs);
	while (refs && !atomic_compare_exchange_weak(&m->refs, &refs, refs + 1))
		;
	*out = refs ? m : NULL;
}

CUresult content_free(struct content *c)
{
	CUdeviceptr ptr = c->params.free.dptr;
	struct graph_memory *m = NULL;

	c->work = work_create();
	if (!c->work)
		return CUDA_ERROR_OUT_OF_MEMORY;
	range_change(ptr, take_ref, &m);
	c->work->memory = m;
	c->work->frees = true;
	return m && m->addr == ptr ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

/* ---- freed by the application ---- */

struct freeing {
	struct graph_memory *memory; /* referenced */
};

static CUresult run_nothing(struct command *c)
{
	(void)c;
	return CUDA_SUCCESS;
}

static void release_freeing(struct command *c)
{
	graph_memory_put(((struct freeing *)c->data)->memory);
}

static const struct command_ops command_freeing = {COMMAND_OTHER, run_nothing, release_freeing, true};

/* Launches from now on may allocate it again; if no graph will, it goes when the stream gets here. */
bool graph_free(struct stream *s, CUdeviceptr ptr, CUresult *r)
{
	struct graph_memory *m = NULL;

	range_change(ptr, take_ref, &m);
	if (!m)
		return false;
	struct command *c = m->addr == ptr ? command_create(&command_freeing, sizeof(struct freeing)) : NULL;
	if (!c) {
		*r = m->addr == ptr ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_ERROR_INVALID_VALUE;
		graph_memory_put(m);
		return true;
	}
	((struct freeing *)c->data)->memory = m;
	pthread_mutex_lock(&memory.lock);
	*r = m->live ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
	set_live(m, false);
	pthread_mutex_unlock(&memory.lock);
	if (*r)
		command_destroy(c);
	else
		*r = stream_submit(s, c, NULL);
	return true;
}

/* ---- launches ---- */

static void count_high(struct graph_memory *m)
{
	if (!m->reserved) {
		m->reserved = true;
		memory.device[m->device->ordinal].reserved += m->size;
	}
	typeof(&memory.device[0]) d = &memory.device[m->device->ordinal];
	d->used_high = d->used > d->used_high ? d->used : d->used_high;
	d->reserved_high = d->reserved > d->reserved_high ? d->reserved : d->reserved_high;
}

CUresult memory_launch(const struct memory_ops *ops, bool auto_free)
{
	CUresult r = CUDA_SUCCESS;

	if (!ops->nallocs && !ops->nfrees)
		return r;
	pthread_mutex_lock(&memory.lock);
	for (unsigned i = 0; i < ops->nallocs && !auto_free; i++)
		if (ops->allocs[i]->live)
			r = CUDA_ERROR_INVALID_VALUE; /* the launch before has not been cleaned up after */
	for (unsigned i = 0; i < ops->nfrees && !r; i++) {
		bool ours = false;

		for (unsigned k = 0; k < ops->nallocs && !ours; k++)
			ours = ops->allocs[k] == ops->frees[i];
		if (!ours && !ops->frees[i]->live)
			r = CUDA_ERROR_INVALID_VALUE;
	}
	for (unsigned i = 0; i < ops->nallocs && !r; i++) {
		set_live(ops->allocs[i], true);
		count_high(ops->allocs[i]);
	}
	for (unsigned i = 0; i < ops->nfrees && !r; i++)
		set_live(ops->frees[i], false);
	pthread_mutex_unlock(&memory.lock);
	return r;
}

void memory_hold(const struct memory_ops *ops, int by)
{
	if (!ops->nallocs)
		return;
	pthread_mutex_lock(&memory.lock);
	for (unsigned i = 0; i < ops->nallocs; i++)
		ops->allocs[i]->held += by;
	pthread_mutex_unlock(&memory.lock);
}

/* ---- entry points ---- */

/* Only whole pages can go back; the rest stays with them. */
static void drop_pages(const struct graph_memory *m)
{
	uintptr_t from = (m->addr + 4095) & ~4095ull, to = (m->addr + m->size) & ~4095ull;

	if (from < to)
		madvise((void *)from, to - from, MADV_DONTNEED);
}

CUresult soft_cuDeviceGraphMemTrim(CUdevice dev)
{
	struct device *d = device_find(dev);

	if (!atomic_load(&soft.ready))
		return CUDA_ERROR_NOT_INITIALIZED;
	if (!d)
		return CUDA_ERROR_INVALID_DEVICE;
	pthread_mutex_lock(&memory.lock);
	list_each(it, &memory.all)
	{
		struct graph_memory *m = container_of(it, struct graph_memory, link);

		if (m->device == d && !m->live && !m->held && m->reserved) {
			drop_pages(m);
			unreserve(m);
		}
	}
	pthread_mutex_unlock(&memory.lock);
	return CUDA_SUCCESS;
}

static CUresult attribute(CUdevice dev, CUgraphMem_attribute attr, uint64_t **value)
{
	if (!atomic_load(&soft.ready))
		return CUDA_ERROR_NOT_INITIALIZED;
	if (!device_find(dev))
		return CUDA_ERROR_INVALID_DEVICE;
	switch (attr) {
	case CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT:
		*value = &memory.device[dev].used;
		return CUDA_SUCCESS;
	case CU_GRAPH_MEM_ATTR_USED_MEM_HIGH:
		*value = &memory.device[dev].used_high;
		return CUDA_SUCCESS;
	case CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT:
		*value = &memory.device[dev].reserved;
		return CUDA_SUCCESS;
	case CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH:
		*value = &memory.device[dev].reserved_high;
		return CUDA_SUCCESS;
	default:
		return CUDA_ERROR_INVALID_VALUE;
	}
}

CUresult soft_cuDeviceGetGraphMemAttribute(CUdevice dev, CUgraphMem_attribute attr, void *out)
{
	uint64_t *value;
	CUresult r = out ? attribute(dev, attr, &value) : CUDA_ERROR_INVALID_VALUE;

	if (r)
		return r;
	pthread_mutex_lock(&memory.lock);
	memcpy(out, value, sizeof *value);
	pthread_mutex_unlock(&memory.lock);
	return CUDA_SUCCESS;
}

/* The high-water marks can be set back, to 0 only: they start again from what is in use. */
CUresult soft_cuDeviceSetGraphMemAttribute(CUdevice dev, CUgraphMem_attribute attr, void *in)
{
	uint64_t *value, zero;
	CUresult r = in ? attribute(dev, attr, &value) : CUDA_ERROR_INVALID_VALUE;

	if (r)
		return r;
	memcpy(&zero, in, sizeof zero);
	bool high = attr == CU_GRAPH_MEM_ATTR_USED_MEM_HIGH || attr == CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH;
	if (!high || zero)
		return CUDA_ERROR_INVALID_VALUE;
	pthread_mutex_lock(&memory.lock);
	*value = value[-1]; /* each stands behind what it is the highest of */
	pthread_mutex_unlock(&memory.lock);
	return CUDA_SUCCESS;
}
