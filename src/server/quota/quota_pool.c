/*
 * What memory pools have taken from the device.  A pool takes more than it gives out and keeps what was freed, and only
 * it can say how much that is: it is asked when that matters.
 */
#include <stdlib.h>
#include "server/quota/account.h"
#include "server/quota/quota.h"

struct quota_pool {
	struct quota_pool *next;
	CUmemoryPool pool;
	struct stats_device *device;
	uint64_t given; /* out, and not yet freed */
	uint64_t left;  /* destroyed: what it had then, and has until the last of it is freed */
	bool destroyed;
};

static const struct cuda_ops *real;
static struct stats *stats;
static struct quota_pool *pools;

static struct quota_pool *find(CUmemoryPool pool)
{
	struct quota_pool *p = pools;

	while (p && (p->pool != pool || p->destroyed))
		p = p->next;
	return p;
}

static struct quota_pool *add(CUmemoryPool pool, unsigned device)
{
	struct quota_pool *p = calloc(1, sizeof *p);

	if (!p)
		return NULL;
	*p = (struct quota_pool){.next = pools, .pool = pool, .device = &stats->device[device]};
	return pools = p;
}

static void remove_it(struct quota_pool *p)
{
	struct quota_pool **at = &pools;

	while (*at != p)
		at = &(*at)->next;
	*at = p->next;
	free(p);
}

static uint64_t taken(const struct quota_pool *p)
{
	cuuint64_t bytes = 0;

	if (p->destroyed)
		return p->left;
	return real->cuMemPoolGetAttribute(p->pool, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT, &bytes) ? 0 : bytes;
}

static uint64_t keeps(const struct quota_pool *p)
{
	uint64_t all = taken(p);

	return all > p->given ? all - p->given : 0;
}

uint64_t quota_pools_keep(const struct stats_device *d)
{
	uint64_t bytes = 0;

	for (const struct quota_pool *p = pools; p; p = p->next)
		if (p->device == d)
			bytes += keeps(p);
	return bytes;
}

void quota_pools_trim(const struct stats_device *d)
{
	for (const struct quota_pool *p = pools; p; p = p->next)
		if (p->device == d && !p->destroyed)
			real->cuMemPoolTrimTo(p->pool, 0);
}

/* ---- giving out ---- */

/* Pools that devices have from the start are seen when something is allocated from them. */
struct quota_pool *quota_pool(CUmemoryPool pool)
{
	unsigned device = (unsigned)(account_device() - stats->device);
	struct quota_pool *p;

	if (!pool && real->cuDeviceGetMemPool(&pool, (CUdevice)device))
		return NULL;
	if ((p = find(pool)))
		return p;
	for (unsigned i = 0; i < atomic_load(&stats->ndevices); i++) {
		CUmemoryPool theirs;
		if (!real->cuDeviceGetDefaultMemPool(&theirs, (CUdevice)i) && theirs == pool)
			return add(pool, i);
	}
	return NULL;
}

struct stats_device *quota_pool_device(const struct quota_pool *p)
{
	return p->device;
}

/* What fits into what it keeps needs nothing of the device; quota_pool_gave sees whether it did. */
CUresult quota_pool_room(const struct quota_pool *p, uint64_t size)
{
	return size <= keeps(p) ? CUDA_SUCCESS : quota_room(p->device, size);
}

bool quota_pool_gave(struct quota_pool *p, uint64_t size)
{
	p->given += size;
	return quota_room(p->device, size) == CUDA_SUCCESS;
}

bool quota_pool_gone(const struct quota_pool *p)
{
	return p->destroyed;
}

void quota_pool_back(struct quota_pool *p, uint64_t size)
{
	p->given -= size;
	if (p->destroyed && !p->given)
		remove_it(p);
}

/* ---- coming and going ---- */

static CUresult create(CUmemoryPool *pool, const CUmemPoolProps *props)
{
	CUresult r = real->cuMemPoolCreate(pool, props);
	int device = r ? -1 : props->location.id;

	if (r || props->location.type != CU_MEM_LOCATION_TYPE_DEVICE || device < 0 || device >= STATS_DEVICES)
		return r;
	if (add(*pool, (unsigned)device))
		return CUDA_SUCCESS;
	real->cuMemPoolDestroy(*pool);
	return CUDA_ERROR_OUT_OF_MEMORY;
}

/* What it has given out stays, and the memory around that with it. */
static CUresult destroy(CUmemoryPool pool)
{
	struct quota_pool *p = find(pool);
	uint64_t left = 0;
	CUresult r;

	if (p && !real->cuMemPoolTrimTo(pool, 0))
		left = taken(p);
	r = real->cuMemPoolDestroy(pool);
	if (r || !p)
		return r;
	p->left = left;
	p->destroyed = true;
	if (!p->given)
		remove_it(p);
	return r;
}

void quota_pools_wrap(struct cuda_ops *table, const struct cuda_ops *ops, struct stats *s)
{
	real = ops;
	stats = s;
	table->cuMemPoolCreate = create;
	table->cuMemPoolDestroy = destroy;
}
