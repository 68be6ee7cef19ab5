/*
 * Memory pools: their chunks and blocks, the list of all pools, the default pools.
 */
#include "backend/soft/memory/mempool.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "backend/soft/memory/store.h"

bool pool_on_device(const struct pool *p)
{
	return p->props.location.type == CU_MEM_LOCATION_TYPE_DEVICE &&
	       p->props.allocType == CU_MEM_ALLOCATION_TYPE_PINNED;
}

/* ---- chunks ---- */

static bool chunk_back(struct pool *p, uint64_t chunk)
{
	if (p->backed[chunk])
		return true;
	if (pool_on_device(p) && !memory_charge(p->device, POOL_CHUNK))
		return false;
	if (mprotect((void *)(uintptr_t)(p->base + chunk * POOL_CHUNK), POOL_CHUNK, PROT_READ | PROT_WRITE)) {
		if (pool_on_device(p))
			memory_uncharge(p->device, POOL_CHUNK);
		return false;
	}
	p->backed[chunk] = 1;
	p->reserved += POOL_CHUNK;
	if (p->reserved > p->reserved_high)
		p->reserved_high = p->reserved;
	return true;
}

static void chunk_unback(struct pool *p, uint64_t chunk)
{
	uint64_t offset = chunk * POOL_CHUNK;

	if (p->fd >= 0)
		fallocate(p->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)offset, POOL_CHUNK);
	else
		madvise((void *)(uintptr_t)(p->base + offset), POOL_CHUNK, MADV_DONTNEED);
	p->backed[chunk] = 0;
	p->reserved -= POOL_CHUNK;
	if (pool_on_device(p))
		memory_uncharge(p->device, POOL_CHUNK);
}

/* Back all of [addr, addr + size). */
static bool chunks_back(struct pool *p, uint64_t addr, uint64_t size)
{
	uint64_t first = (addr - p->base) / POOL_CHUNK, last = (addr + size - 1 - p->base) / POOL_CHUNK;

	for (uint64_t i = first; i <= last; i++)
		if (!chunk_back(p, i))
			return false; /* the chunks backed so far are free; the caller trims the pool */
	return true;
}

void pool_trim(struct pool *p, uint64_t keep)
{
	if (p->reserved <= keep)
		return;
	for (struct map_node *n = map_above(&p->blocks, 0); n; n = map_above(&p->blocks, n->key + 1)) {
		struct block *b = container_of(n, struct block, node);
		uint64_t from = b->node.key - p->base, to = from + b->size;

		if (b->state != BLOCK_FREE)
			continue;
		for (uint64_t i = (from + POOL_CHUNK - 1) / POOL_CHUNK; (i + 1) * POOL_CHUNK <= to; i++) {
			if (!p->backed[i])
				continue;
			if (p->reserved - POOL_CHUNK < keep)
				return;
			chunk_unback(p, i);
		}
	}
}

/* ---- blocks ---- */

static unsigned block_bin(uint64_t size)
{
	unsigned bin = 63 - __builtin_clzll(size / POOL_UNIT);

	return bin < POOL_BINS ? bin : POOL_BINS - 1;
}

static struct block *block_create(struct pool *p)
{
	struct block *b = p->spare;

	if (b) {
		p->spare = b->node.left ? container_of(b->node.left, struct block, node) : NULL;
		struct range *range = b->range;
		memset(b, 0, sizeof *b);
		b->range = range;
	} else {
		b = calloc(1, sizeof *b);
	}
	if (b)
		list_init(&b->bin);
	return b;
}

static void block_remove(struct pool *p, struct block *b)
{
	map_remove(&p->blocks, &b->node);
	list_remove(&b->bin);
	b->node.left = p->spare ? &p->spare->node : NULL;
	p->spare = b;
}

static void block_insert_free(struct pool *p, struct block *b)
{
	b->state = BLOCK_FREE;
	/* at the front: the block used last is warm in the cache */
	list_append(p->bins[block_bin(b->size)].next, &b->bin);
}

struct block *pool_block_find(struct pool *p, uint64_t addr)
{
	struct map_node *n = map_find(&p->blocks, addr);

	return n ? container_of(n, struct block, node) : NULL;
}

void pool_block_free(struct pool *p, struct block *b)
{
	struct map_node *n = map_above(&p->blocks, b->node.key + 1);
	struct block *next = n ? container_of(n, struct block, node) : NULL;

	n = b->node.key ? map_below(&p->blocks, b->node.key - 1) : NULL;
	struct block *prev = n ? container_of(n, struct block, node) : NULL;
	list_remove(&b->bin);
	if (next && next->state == BLOCK_FREE) {
		b->size += next->size;
		block_remove(p, next);
	}
	if (prev && prev->state == BLOCK_FREE) {
		list_remove(&prev->bin);
		prev->size += b->size;
		block_remove(p, b);
		b = prev;
	}
	block_insert_free(p, b);
	atomic_store_explicit(&soft.memory.pools.trim_due, true, memory_order_relaxed);
}

/* Reserve the addresses of the pool, as one free block. */
static bool pool_map(struct pool *p)
{
	struct block *b = block_create(p);
	int flags = p->fd >= 0 ? MAP_SHARED | MAP_NORESERVE : MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;

	p->backed = p->backed ? p->backed : calloc(1, p->cap / POOL_CHUNK);
	void *at = b && p->backed ? mmap(NULL, p->cap, PROT_NONE, flags, p->fd, 0) : MAP_FAILED;
	if (at == MAP_FAILED) {
		free(b);
		return false;
	}
	p->base = b->node.key = (uintptr_t)at;
	b->size = p->cap;
	map_insert(&p->blocks, &b->node);
	block_insert_free(p, b);
	return true;
}

/* The first free block that is large enough, searching from the smallest bin. */
static struct block *free_block_find(struct pool *p, uint64_t size)
{
	for (unsigned i = block_bin(size); i < POOL_BINS; i++)
		list_each(it, &p->bins[i])
		{
			struct block *b = container_of(it, struct block, bin);

			if (b->size >= size)
				return b;
		}
	return NULL;
}

/* Back and split off a block of `size` bytes; the caller sets its state. */
static struct block *free_block_take(struct pool *p, uint64_t size)
{
	struct block *b = free_block_find(p, size), *rest = NULL;

	if (!b || !chunks_back(p, b->node.key, size))
		return NULL;
	if (b->size > size && !(rest = block_create(p)))
		return NULL;
	list_remove(&b->bin);
	if (rest) {
		rest->node.key = b->node.key + size;
		rest->size = b->size - size;
		b->size = size;
		map_insert(&p->blocks, &rest->node);
		block_insert_free(p, rest);
	}
	return b;
}

struct range_reuse {
	uint64_t size;
	struct context *ctx;
};

/* Reuse a range that is still in the map.  The new id makes the pending free skip it. */
static void range_reuse(struct range *r, void *arg)
{
	struct range_reuse *v = arg;

	if (r->old_size < r->size)
		r->old_size = r->size;
	r->old_id = r->id;
	r->size = v->size;
	r->ctx = v->ctx;
	r->ctx_handle = v->ctx->object.handle;
	r->id = soft_next_id();
	r->freeing = false;
	r->sync_memops = true;
}

/* A pending block of exactly this size: freed in s, or, if `any` is set, in any stream. */
static struct block *pending_block_take(
	struct pool *p, uint64_t bytes, uint64_t size, struct stream *s, bool any, struct dep *after)
{
	struct range_reuse v = {bytes, s->object.ctx};

	list_each(it, &p->pending)
	{
		struct block *b = container_of(it, struct block, bin);

		if (b->size != size || (b->stream != s && !any))
			continue;
		list_remove(&b->bin);
		range_change(b->node.key, range_reuse, &v);
		*after = (struct dep){b->stream, b->number};
		b->stream = NULL;
		return b;
	}
	return NULL;
}

CUresult pool_block_alloc(struct pool *p, uint64_t bytes, struct stream *s, struct block **out, struct dep *after)
{
	uint64_t size = (bytes + POOL_UNIT - 1) & -(uint64_t)POOL_UNIT;
	struct block *b;

	if (bytes > p->cap || size > p->cap)
		return CUDA_ERROR_OUT_OF_MEMORY;
	pthread_mutex_lock(&p->lock);
	b = pending_block_take(p, bytes, size, s, false, after);
	if (!b && (p->base || pool_map(p)))
		b = free_block_take(p, size);
	if (!b && p->reuse[2])
		b = pending_block_take(p, bytes, size, s, true, after);
	if (!b && p->base && pool_on_device(p)) {
		pthread_mutex_unlock(&p->lock);
		pools_reclaim(p->device);
		pthread_mutex_lock(&p->lock);
		b = free_block_take(p, size);
	}
	if (b) {
		b->state = BLOCK_USED;
		b->wanted = bytes;
		p->used += bytes;
		if (p->used > p->used_high)
			p->used_high = p->used;
	} else {
		pool_trim(p, p->threshold); /* unback chunks that were backed before memory ran out */
	}
	pthread_mutex_unlock(&p->lock);
	*out = b;
	return b ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

/* ---- all pools ---- */

static void pool_release(void *object)
{
	struct pool *p = object;

	pthread_mutex_lock(&soft.memory.pools.list_lock);
	list_remove(&p->link);
	pthread_mutex_unlock(&soft.memory.pools.list_lock);
	if (p->base) {
		if (pool_on_device(p))
			memory_uncharge(p->device, p->reserved);
		munmap((void *)(uintptr_t)p->base, p->cap);
	}
	for (struct map_node *n; (n = map_above(&p->blocks, 0));)
		block_remove(p, container_of(n, struct block, node));
	while (p->spare) {
		struct block *b = block_create(p);

		free(b->range);
		free(b);
	}
	if (p->fd >= 0)
		close(p->fd);
	free(p->backed);
	pthread_mutex_destroy(&p->lock);
	free(p);
}

struct pool *pool_create(struct device *d, const CUmemPoolProps *props, bool builtin)
{
	struct pool *p = calloc(1, sizeof *p);
	uint64_t most = props->maxSize ? props->maxSize : d->memory;

	if (!p)
		return NULL;
	if (most > d->memory)
		most = d->memory;
	p->device = d;
	p->props = *props;
	p->builtin = builtin;
	p->cap = (most + POOL_CHUNK - 1) / POOL_CHUNK * POOL_CHUNK;
	p->fd = -1;
	p->reuse[0] = p->reuse[1] = p->reuse[2] = 1;
	pthread_mutex_init(&p->lock, NULL);
	list_init(&p->link);
	list_init(&p->pending);
	for (int i = 0; i < POOL_BINS; i++)
		list_init(&p->bins[i]);
	if (props->handleTypes)
		p->fd = store_create("pool", d->physical, p->cap);
	if ((props->handleTypes && p->fd < 0) || object_init(&p->object, KIND_POOL, NULL, pool_release)) {
		pool_release(p);
		return NULL;
	}
	pthread_mutex_lock(&soft.memory.pools.list_lock);
	list_append(&soft.memory.pools.list, &p->link);
	pthread_mutex_unlock(&soft.memory.pools.list_lock);
	return p;
}

/* Trim all pools (of d, unless NULL) to their thresholds, or to 0; true: something was freed. */
static bool pools_trim(struct device *d, bool completely)
{
	bool any = false;

	pthread_mutex_lock(&soft.memory.pools.list_lock);
	list_each(it, &soft.memory.pools.list)
	{
		struct pool *p = container_of(it, struct pool, link);

		if (d && p->device != d)
			continue;
		pthread_mutex_lock(&p->lock);
		uint64_t before = p->reserved;
		pool_trim(p, completely ? 0 : p->threshold);
		any |= p->reserved < before;
		pthread_mutex_unlock(&p->lock);
	}
	pthread_mutex_unlock(&soft.memory.pools.list_lock);
	return any;
}

void pools_synchronized(void)
{
	if (atomic_load_explicit(&soft.memory.pools.trim_due, memory_order_relaxed) &&
		atomic_exchange(&soft.memory.pools.trim_due, false))
		pools_trim(NULL, false);
}

bool pools_reclaim(struct device *d)
{
	return pools_trim(d, true);
}

/* ---- default pools: created on first use, never destroyed ---- */

struct pool *pool_default(CUmemLocation location, CUmemAllocationType type)
{
	CUmemPoolProps props = {.allocType = type, .location = location};
	bool host = location.type != CU_MEM_LOCATION_TYPE_DEVICE, pinned = type == CU_MEM_ALLOCATION_TYPE_PINNED;
	struct device *d = device_find(host ? 0 : location.id);

	if (!d)
		return NULL;
	struct pool **p = host     ? &soft.memory.pools.host_defaults[pinned]
			  : pinned ? &soft.memory.pools.device_defaults[d->ordinal]
				   : &soft.memory.pools.managed_defaults[d->ordinal];
	pthread_mutex_lock(&soft.memory.pools.defaults_lock);
	if (!*p)
		*p = pool_create(d, &props, true);
	pthread_mutex_unlock(&soft.memory.pools.defaults_lock);
	return *p;
}
