/*
 * Memory that pools have taken from the device.  A pool takes more than it gives out and keeps what was freed, and
 * only the driver knows how much: it is asked when the answer matters.
 */
#include <stdlib.h>
#include "server/quota/account.h"
#include "server/quota/quota.h"

struct quota_pool {
	struct quota_pool *next;
	CUmemoryPool pool;
	struct stats_device *device; /* NULL: on the host */
	uint64_t given;              /* bytes allocated from the pool and not yet freed */
	uint64_t left;               /* of a destroyed pool: bytes that it holds until its last allocation is freed */
	bool destroyed;
};

static struct quota_pool *pool_find(struct account *a, CUmemoryPool pool)
{
	struct quota_pool *p = a->pools;

	while (p && (p->pool != pool || p->destroyed))
		p = p->next;
	return p;
}

static struct quota_pool *pool_add(struct account *a, CUmemoryPool pool, struct stats_device *device)
{
	struct quota_pool *p = calloc(1, sizeof *p);

	if (!p)
		return NULL;
	*p = (struct quota_pool){.next = a->pools, .pool = pool, .device = device};
	return a->pools = p;
}

static void pool_remove(struct account *a, struct quota_pool *p)
{
	struct quota_pool **at = &a->pools;

	while (*at != p)
		at = &(*at)->next;
	*at = p->next;
	free(p);
}

/* Bytes that the pool has taken from the device. */
static uint64_t pool_taken(struct account *a, const struct quota_pool *p)
{
	cuuint64_t bytes = 0;

	if (p->destroyed)
		return p->left;
	return a->real.cuMemPoolGetAttribute(p->pool, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT, &bytes) ? 0 : bytes;
}

static uint64_t pool_keeps(struct account *a, const struct quota_pool *p)
{
	uint64_t taken = pool_taken(a, p);

	return taken > p->given ? taken - p->given : 0;
}

uint64_t quota_pools_keep(struct account *a, const struct stats_device *d)
{
	uint64_t bytes = 0;

	for (const struct quota_pool *p = a->pools; p; p = p->next)
		if (p->device == d)
			bytes += pool_keeps(a, p);
	return bytes;
}

void quota_pools_trim(struct account *a, const struct stats_device *d)
{
	for (const struct quota_pool *p = a->pools; p; p = p->next)
		if (p->device == d && !p->destroyed)
			a->real.cuMemPoolTrimTo(p->pool, 0);
}

/* ---- Allocations ---- */

/* A device's default pools are added when something is allocated from them. */
struct quota_pool *quota_pool(struct account *a, CUmemoryPool pool)
{
	unsigned device = account_device_number(a, a->device);
	struct quota_pool *p;

	if (!pool && a->real.cuDeviceGetMemPool(&pool, (CUdevice)device))
		return NULL;
	if ((p = pool_find(a, pool)))
		return p;
	for (unsigned i = 0; i < atomic_load(&a->stats->ndevices); i++) {
		CUmemoryPool default_pool;
		if (!a->real.cuDeviceGetDefaultMemPool(&default_pool, (CUdevice)i) && default_pool == pool)
			return pool_add(a, pool, &a->stats->device[i]);
	}
	return NULL;
}

bool quota_pool_on_host(struct account *a, CUmemoryPool pool)
{
	const struct quota_pool *p = pool ? pool_find(a, pool) : NULL;

	return p && !p->device;
}

struct stats_device *quota_pool_device(const struct quota_pool *p)
{
	return p->device;
}

/* A size that fits into the kept memory probably needs no new memory of the device; quota_pool_gave() checks. */
CUresult quota_pool_room(struct account *a, const struct quota_pool *p, uint64_t size)
{
	return size <= pool_keeps(a, p) ? CUDA_SUCCESS : quota_room(a, p->device, size);
}

bool quota_pool_gave(struct account *a, struct quota_pool *p, uint64_t size)
{
	p->given += size;
	return quota_room(a, p->device, size) == CUDA_SUCCESS;
}

bool quota_pool_gone(const struct quota_pool *p)
{
	return p->destroyed;
}

void quota_pool_back(struct account *a, struct quota_pool *p, uint64_t size)
{
	p->given -= size;
	if (p->destroyed && !p->given)
		pool_remove(a, p);
}

/* ---- Wrapped entry points ---- */

/* The counters of the memory behind a pool; NULL: host or managed memory. */
static struct stats_device *pool_place(struct account *a, CUmemLocation at, CUmemAllocationType type)
{
	bool on_device = at.type == CU_MEM_LOCATION_TYPE_DEVICE && type == CU_MEM_ALLOCATION_TYPE_PINNED;

	return on_device && at.id >= 0 && at.id < STATS_DEVICES ? &a->stats->device[at.id] : NULL;
}

static CUresult pool_create(CUmemoryPool *pool, const CUmemPoolProps *props)
{
	struct account *a = worker_account();
	CUresult r = a->real.cuMemPoolCreate(pool, props);

	if (r || pool_add(a, *pool, pool_place(a, props->location, props->allocType)))
		return r;
	a->real.cuMemPoolDestroy(*pool);
	return CUDA_ERROR_OUT_OF_MEMORY;
}

/* The driver's own pools of host and managed memory. */
static CUresult pool_given(struct account *a, CUmemoryPool pool, CUmemLocation at, CUmemAllocationType type)
{
	bool counts = pool_place(a, at, type) || pool_find(a, pool) || pool_add(a, pool, NULL);

	return counts ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

static CUresult pool_get_default(CUmemoryPool *pool, CUmemLocation *at, CUmemAllocationType type)
{
	struct account *a = worker_account();
	CUresult r = a->real.cuMemGetDefaultMemPool(pool, at, type);

	return r ? r : pool_given(a, *pool, *at, type);
}

static CUresult pool_get(CUmemoryPool *pool, CUmemLocation *at, CUmemAllocationType type)
{
	struct account *a = worker_account();
	CUresult r = a->real.cuMemGetMemPool(pool, at, type);

	return r ? r : pool_given(a, *pool, *at, type);
}

/* Allocations survive their pool, and with them the memory around them. */
static CUresult pool_destroy(CUmemoryPool pool)
{
	struct account *a = worker_account();
	struct quota_pool *p = pool_find(a, pool);
	uint64_t left = 0;
	CUresult r;

	if (p && p->given && !a->real.cuMemPoolTrimTo(pool, 0))
		left = pool_taken(a, p);
	r = a->real.cuMemPoolDestroy(pool);
	if (r || !p)
		return r;
	p->left = left;
	p->destroyed = true;
	if (!p->given)
		pool_remove(a, p);
	return r;
}

void quota_pools_wrap(struct cuda_ops *table)
{
	table->cuMemPoolCreate = pool_create;
	table->cuMemPoolDestroy = pool_destroy;
	table->cuMemGetDefaultMemPool = pool_get_default;
	table->cuMemGetMemPool = pool_get;
}
