/*
 * Memory of alloc and free nodes.  The address is fixed when the node is made, so the memory is reserved then; untouched
 * pages cost nothing.  Allocation and freeing take effect when the graph is launched, because from then on the
 * application may use the memory in stream order.
 */
#include "backend/soft/graph/graph.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "backend/soft/memory/range.h"

struct graph_memory {
	_Atomic unsigned refs; /* one per work, and one while the memory is allocated */
	struct list link;
	struct device *device;
	uint64_t addr, size;
	bool live;     /* allocated, according to the launches so far */
	bool reserved; /* included in the reserved memory of the device */
	unsigned held; /* number of pending launches that use it */
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

static void graph_memory_unreserve(struct graph_memory *m)
{
	if (m->reserved)
		memory.device[m->device->ordinal].reserved -= m->size;
	m->reserved = false;
}

static void graph_memory_destroy(struct graph_memory *m)
{
	if (!m)
		return;
	pthread_mutex_lock(&memory.lock);
	list_remove(&m->link);
	graph_memory_unreserve(m);
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
	graph_memory_destroy(m);
}

static void graph_memory_set_live(struct graph_memory *m, bool live)
{
	uint64_t *used = &memory.device[m->device->ordinal].used;

	if (m->live == live)
		return;
	m->live = live;
	*used += live ? m->size : -m->size;
	if (live)
		graph_memory_ref(m);
	else
		atomic_fetch_sub(&m->refs, 1); /* the caller holds another reference, or checks the count */
}

/* cuMemFree: the graph may allocate the memory again; without a graph, this was the last reference. */
static void graph_memory_release_range(struct range *r)
{
	struct graph_memory *m = r->private_data;

	pthread_mutex_lock(&memory.lock);
	graph_memory_set_live(m, false);
	bool last = !atomic_load(&m->refs);
	pthread_mutex_unlock(&memory.lock);
	if (!last && range_insert(r) == 0)
		return;
	free(r);
	if (last)
		graph_memory_destroy(m);
}

static CUresult graph_memory_create(struct device *d, uint64_t size, struct graph_memory **out)
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
	r->release = graph_memory_release_range;
	pthread_mutex_lock(&memory.lock);
	list_append(&memory.all, &m->link);
	pthread_mutex_unlock(&memory.lock);
	range_insert(r); /* cannot fail: new memory overlaps no range */
	*out = m;
	return CUDA_SUCCESS;
}

/* ---- nodes ---- */

static CUresult check_alloc_params(const CUDA_MEM_ALLOC_NODE_PARAMS_v2 *p, struct device **d)
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

CUresult content_alloc(struct node_content *c, CUgraphNodeParams *p)
{
	CUDA_MEM_ALLOC_NODE_PARAMS_v2 *a = &c->params.alloc;
	size_t bytes = a->accessDescCount * sizeof *a->accessDescs;
	struct device *d;
	CUresult r = check_alloc_params(a, &d);

	if (r)
		return r;
	c->work = work_create();
	if (!c->work || (bytes && !(c->work->owned = malloc(bytes))))
		return CUDA_ERROR_OUT_OF_MEMORY;
	if (bytes)
		memcpy(c->work->owned, a->accessDescs, bytes);
	a->accessDescs = c->work->owned;
	r = graph_memory_create(d, a->bytesize, &c->work->memory);
	if (!r)
		a->dptr = p->alloc.dptr = c->work->memory->addr;
	return r;
}

/* References the memory of a range, unless its last reference is just dropped. Called under the lock of the range map. */
static void range_take_memory(struct range *r, void *arg)
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

CUresult content_free(struct node_content *c)
{
	CUdeviceptr ptr = c->params.free.dptr;
	struct graph_memory *m = NULL;

	c->work = work_create();
	if (!c->work)
		return CUDA_ERROR_OUT_OF_MEMORY;
	range_change(ptr, range_take_memory, &m);
	c->work->memory = m;
	c->work->frees = true;
	return m && m->addr == ptr ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

/* ---- freeing by the application ---- */

struct free_command {
	struct graph_memory *memory; /* referenced */
};

static CUresult free_command_run(struct command *c)
{
	(void)c;
	return CUDA_SUCCESS;
}

static void free_command_release(struct command *c)
{
	graph_memory_put(((struct free_command *)c->data)->memory);
}

static const struct command_ops command_graph_free = {COMMAND_OTHER, free_command_run, free_command_release, true};

/* Later launches may allocate the memory again; if no graph references it, it is freed in stream order. */
bool graph_free(struct stream *s, CUdeviceptr ptr, CUresult *r)
{
	struct graph_memory *m = NULL;

	range_change(ptr, range_take_memory, &m);
	if (!m)
		return false;
	struct command *c = m->addr == ptr ? command_create(&command_graph_free, sizeof(struct free_command)) : NULL;
	if (!c) {
		*r = m->addr == ptr ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_ERROR_INVALID_VALUE;
		graph_memory_put(m);
		return true;
	}
	((struct free_command *)c->data)->memory = m;
	pthread_mutex_lock(&memory.lock);
	*r = m->live ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
	graph_memory_set_live(m, false);
	pthread_mutex_unlock(&memory.lock);
	if (*r)
		command_destroy(c);
	else
		*r = stream_submit(s, c, NULL);
	return true;
}

/* ---- launches ---- */

/* Counts the memory as reserved, and updates the high-water marks. */
static void graph_memory_reserve(struct graph_memory *m)
{
	if (!m->reserved) {
		m->reserved = true;
		memory.device[m->device->ordinal].reserved += m->size;
	}
	typeof(&memory.device[0]) d = &memory.device[m->device->ordinal];
	d->used_high = d->used > d->used_high ? d->used : d->used_high;
	d->reserved_high = d->reserved > d->reserved_high ? d->reserved : d->reserved_high;
}

CUresult graph_memory_launch(const struct graph_memory_ops *ops, bool auto_free)
{
	CUresult r = CUDA_SUCCESS;

	if (!ops->nallocs && !ops->nfrees)
		return r;
	pthread_mutex_lock(&memory.lock);
	for (unsigned i = 0; i < ops->nallocs && !auto_free; i++)
		if (ops->allocs[i]->live)
			r = CUDA_ERROR_INVALID_VALUE; /* the previous launch's allocation was not freed */
	for (unsigned i = 0; i < ops->nfrees && !r; i++) {
		bool ours = false;

		for (unsigned k = 0; k < ops->nallocs && !ours; k++)
			ours = ops->allocs[k] == ops->frees[i];
		if (!ours && !ops->frees[i]->live)
			r = CUDA_ERROR_INVALID_VALUE;
	}
	for (unsigned i = 0; i < ops->nallocs && !r; i++) {
		graph_memory_set_live(ops->allocs[i], true);
		graph_memory_reserve(ops->allocs[i]);
	}
	for (unsigned i = 0; i < ops->nfrees && !r; i++)
		graph_memory_set_live(ops->frees[i], false);
	pthread_mutex_unlock(&memory.lock);
	return r;
}

void graph_memory_hold(const struct graph_memory_ops *ops, int by)
{
	if (!ops->nallocs)
		return;
	pthread_mutex_lock(&memory.lock);
	for (unsigned i = 0; i < ops->nallocs; i++)
		ops->allocs[i]->held += by;
	pthread_mutex_unlock(&memory.lock);
}

/* ---- entry points ---- */

/* Returns whole pages to the system. */
static void graph_memory_trim(const struct graph_memory *m)
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
			graph_memory_trim(m);
			graph_memory_unreserve(m);
		}
	}
	pthread_mutex_unlock(&memory.lock);
	return CUDA_SUCCESS;
}

static CUresult find_attribute(CUdevice dev, CUgraphMem_attribute attr, uint64_t **value)
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
	CUresult r = out ? find_attribute(dev, attr, &value) : CUDA_ERROR_INVALID_VALUE;

	if (r)
		return r;
	pthread_mutex_lock(&memory.lock);
	memcpy(out, value, sizeof *value);
	pthread_mutex_unlock(&memory.lock);
	return CUDA_SUCCESS;
}

/* High-water marks can only be set to 0, which resets them to the present values. */
CUresult soft_cuDeviceSetGraphMemAttribute(CUdevice dev, CUgraphMem_attribute attr, void *in)
{
	uint64_t *value, zero;
	CUresult r = in ? find_attribute(dev, attr, &value) : CUDA_ERROR_INVALID_VALUE;

	if (r)
		return r;
	memcpy(&zero, in, sizeof zero);
	bool high = attr == CU_GRAPH_MEM_ATTR_USED_MEM_HIGH || attr == CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH;
	if (!high || zero)
		return CUDA_ERROR_INVALID_VALUE;
	pthread_mutex_lock(&memory.lock);
	*value = value[-1]; /* each high-water mark follows its present value in the struct */
	pthread_mutex_unlock(&memory.lock);
	return CUDA_SUCCESS;
}
