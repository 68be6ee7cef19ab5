/* Device memory: the ranges of addresses that the server has given out, and the calls that allocate and free. */
#include "backend/remote/memory/memory.h"
#include <stdlib.h>
#include "backend/remote/graph/graph.h"
#include "backend/remote/hostmem/hostmem.h"
#include "backend/remote/memory/state.h"

struct range {
	struct map_node node;
	size_t size;
	enum range_kind kind;
	uint64_t context;
	uint64_t number;                 /* no two ranges have the same */
	struct wire_pointer *attributes; /* as the server gave them for an address of this range; NULL: not asked for */
};

static void range_destroy(struct range *r)
{
	if (!r)
		return;
	free(r->attributes);
	free(r);
}

static struct range_table *range_table(void)
{
	return &client->memory->ranges;
}

static struct range *range_holding(uint64_t address)
{
	return map_holding(&range_table()->ranges, address, struct range, node, size);
}

/* Keeps the part of an old range that a new one leaves, from `from` to `to`.  Lock held. */
static void range_keep_rest(const struct range *old, uint64_t from, uint64_t to)
{
	struct range *r = from < to ? calloc(1, sizeof *r) : NULL;

	if (!r)
		return;
	r->node.key = from;
	r->size = to - from;
	r->kind = RANGE_REST;
	r->context = old->context;
	map_insert(&range_table()->ranges, &r->node);
}

/* Older ranges at these addresses have ended unseen: with a module, say, or in the server.  Lock held. */
static void ranges_replace(uint64_t address, size_t size)
{
	struct range *r;

	while ((r = range_holding(address)) ||
		((r = (struct range *)map_above(&range_table()->ranges, address)) && r->node.key - address < size)) {
		map_remove(&range_table()->ranges, &r->node);
		range_keep_rest(r, r->node.key, address);
		range_keep_rest(r, address + size, r->node.key + r->size);
		range_destroy(r);
	}
}

CUresult memory_note(uint64_t address, size_t size, enum range_kind kind)
{
	struct range *r;

	if (!size)
		return CUDA_SUCCESS;
	if (!address || address + size < address)
		return client_reject_reply();
	r = calloc(1, sizeof *r);
	if (!r)
		return CUDA_ERROR_OUT_OF_MEMORY;
	r->node.key = address;
	r->size = size;
	r->kind = kind;
	r->context = call_context_id();
	pthread_rwlock_wrlock(&range_table()->lock);
	r->number = ++range_table()->last_number;
	ranges_replace(address, size);
	map_insert(&range_table()->ranges, &r->node);
	pthread_rwlock_unlock(&range_table()->lock);
	return CUDA_SUCCESS;
}

bool memory_take(uint64_t address, enum range_kind kind, size_t *size)
{
	struct range *r;

	pthread_rwlock_wrlock(&range_table()->lock);
	r = (struct range *)map_find(&range_table()->ranges, address);
	if (r && r->kind != kind)
		r = NULL;
	if (r)
		map_remove(&range_table()->ranges, &r->node);
	pthread_rwlock_unlock(&range_table()->lock);
	if (r && size)
		*size = r->size;
	bool found = r;
	range_destroy(r);
	return found;
}

bool memory_drop(uint64_t address, enum range_kind kind)
{
	return memory_take(address, kind, NULL);
}

bool memory_remove(uint64_t address)
{
	return memory_drop(address, RANGE_ALLOC) || memory_drop(address, RANGE_POOL) ||
	       memory_drop(address, RANGE_IMPORTED);
}

bool memory_of_graph(uint64_t address)
{
	struct range *r;
	bool found;

	pthread_rwlock_rdlock(&range_table()->lock);
	r = (struct range *)map_find(&range_table()->ranges, address);
	found = r && r->kind == RANGE_GRAPH;
	pthread_rwlock_unlock(&range_table()->lock);
	return found;
}

#define USER_ADDRESSES (1ull << 47)

static enum range_check range_check_kind(const struct range *r, uint64_t address, size_t size)
{
	switch (r->kind) {
	case RANGE_ALLOC:
	case RANGE_POOL:
	case RANGE_GRAPH:
		return size <= r->size - (address - r->node.key) ? RANGE_VALID : RANGE_INVALID;
	case RANGE_GLOBAL:
	case RANGE_FOREIGN:
		return size <= r->size - (address - r->node.key) ? RANGE_VALID : RANGE_UNKNOWN;
	default:
		return RANGE_UNKNOWN;
	}
}

enum range_check memory_check_range(uint64_t address, size_t size, bool write)
{
	struct context *c = context_current();
	enum range_check check = RANGE_UNKNOWN;
	bool reserved = false;
	struct range *r;

	if (!address || size > USER_ADDRESSES)
		return RANGE_INVALID;
	pthread_rwlock_rdlock(&range_table()->lock);
	r = range_holding(address);
	if (r) {
		reserved = r->kind == RANGE_RESERVED;
		check = range_check_kind(r, address, size);
	}
	pthread_rwlock_unlock(&range_table()->lock);
	if (reserved)
		return c && mapping_allows(address, size, c->device, write) ? RANGE_VALID : RANGE_INVALID;
	return r || !hostmem_shared((void *)(uintptr_t)address, size) ? check : RANGE_VALID;
}

/* Reserved addresses belong to no context. */
void memory_forget(uint64_t context)
{
	struct map_node *n;
	uint64_t at = 0;

	pthread_rwlock_wrlock(&range_table()->lock);
	while ((n = map_above(&range_table()->ranges, at))) {
		struct range *r = (struct range *)n;
		at = n->key + 1;
		if (r->context != context || r->kind == RANGE_RESERVED)
			continue;
		map_remove(&range_table()->ranges, n);
		range_destroy(r);
	}
	pthread_rwlock_unlock(&range_table()->lock);
}

void ranges_finish(struct range_table *t)
{
	struct map_node *n;

	while ((n = map_above(&t->ranges, 0))) {
		map_remove(&t->ranges, n);
		range_destroy((struct range *)n);
	}
}

/* ---- attributes ---- */

bool memory_attributes(uint64_t address, struct wire_pointer *attributes, uint64_t *number)
{
	struct range *r;
	bool known;

	pthread_rwlock_rdlock(&range_table()->lock);
	r = range_holding(address);
	*number = r && (r->kind == RANGE_ALLOC || r->kind == RANGE_POOL) ? r->number : 0;
	known = *number && r->attributes;
	if (known)
		*attributes = *r->attributes;
	pthread_rwlock_unlock(&range_table()->lock);
	return known;
}

void memory_keep_attributes(uint64_t address, uint64_t number, const struct wire_pointer *attributes)
{
	struct wire_pointer *copy = number && attributes ? malloc(sizeof *copy) : NULL, *old = copy;
	struct range *r;

	if (copy)
		*copy = *attributes;
	pthread_rwlock_wrlock(&range_table()->lock);
	r = range_holding(address);
	if (r && (r->number == number || !attributes)) {
		old = r->attributes;
		r->attributes = copy;
	}
	pthread_rwlock_unlock(&range_table()->lock);
	free(old);
}

enum place memory_place(uint64_t address)
{
	bool device;

	pthread_rwlock_rdlock(&range_table()->lock);
	device = range_holding(address) != NULL;
	pthread_rwlock_unlock(&range_table()->lock);
	if (device)
		return PLACE_DEVICE;
	return hostmem_shared((void *)(uintptr_t)address, 1) ? PLACE_SHARED : PLACE_HOST;
}

CUresult remote_cuMemAlloc_v2(CUdeviceptr *dptr, size_t size)
{
	CUresult r = capture_check_unsafe();

	if (!r)
		r = call_cuMemAlloc_v2(dptr, size);
	return r ? r : memory_note(*dptr, size, RANGE_ALLOC);
}

CUresult remote_cuMemAllocPitch_v2(CUdeviceptr *dptr, size_t *pitch, size_t width, size_t height, unsigned int element)
{
	CUresult r = capture_check_unsafe();
	size_t size;

	if (!r)
		r = call_cuMemAllocPitch_v2(dptr, pitch, width, height, element);
	if (r)
		return r;
	/* A protocol error: rows overlap, or do not fit into the address space. */
	if (*pitch < width || __builtin_mul_overflow(*pitch, height, &size))
		return client_reject_reply();
	return memory_note(*dptr, size, RANGE_ALLOC);
}

/* Waits as CUDA does until nothing uses the memory.  The wait is here so that the server's one dispatcher need not wait. */
CUresult remote_cuMemFree_v2(CUdeviceptr dptr)
{
	CUresult r = dptr ? capture_check_unsafe() : CUDA_SUCCESS;

	if (!dptr || r)
		return r ? r : sticky_error();
	if (memory_of_graph(dptr)) { /* a launch of the graph may have freed it: only the server knows */
		r = call_cuMemFree_v2(dptr);
		return r ? r : call_flush();
	}
	context_drain();
	r = sticky_error();
	if (r)
		return r;
	if (memory_drop(dptr, RANGE_POOL)) {
		r = call_cuMemFree_v2(dptr);
		context_note_posted(context_current()); /* the pool releases it when a thread waits for the context */
		return r;
	}
	if (memory_remove(dptr))
		return call_cuMemFree_v2(dptr);
	return hostmem_free_managed(dptr);
}

CUresult remote_cuMemGetAddressRange_v2(CUdeviceptr *base, size_t *size, CUdeviceptr address)
{
	struct host_info info;

	if (!hostmem_find(address, &info))
		return memory_place(address) == PLACE_DEVICE ? call_cuMemGetAddressRange_v2(base, size, address)
							     : CUDA_ERROR_NOT_FOUND;
	if (base)
		*base = info.base;
	if (size)
		*size = info.size;
	return CUDA_SUCCESS;
}
