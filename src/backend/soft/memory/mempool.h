/*
 * mempool.h - memory pools, and the blocks that stream-ordered allocation takes from them.
 *
 * A pool reserves one address range, and backs it with memory in chunks of 32 MiB when needed:
 *
 *	base                                                          base + cap
 *	| used | free | pending | free                                |		blocks, without gaps
 *	|   backed    |   backed    |   not    |   not    | ...		chunks
 *
 * A pending block is one whose free has not been reached by its stream: the same stream may reuse the block at once,
 * and another stream may if it waits.  Two free blocks are never adjacent, so a chunk can be unbacked exactly when it
 * lies within one free block.
 *
 * Locks, in this order: the list of all pools, one pool, the memory lock.
 */
#pragma once

#include "backend/soft/memory/range.h"

#define POOL_CHUNK (32ull << 20)
#define POOL_UNIT  512u
#define POOL_BINS  56

enum block_state {
	BLOCK_FREE,
	BLOCK_USED,
	BLOCK_PENDING,
};

struct block {
	struct map_node node; /* key: the address */
	uint64_t size;        /* a multiple of POOL_UNIT */
	enum block_state state;
	struct list bin;       /* FREE: link in pool->bins; PENDING: link in pool->pending */
	struct range *range;   /* a struct to reuse, or NULL; the range of a USED or PENDING block is in the map */
	uint64_t wanted;       /* bytes the application asked for */
	struct stream *stream; /* PENDING: referenced; `number` is that of the free in it */
	uint64_t number;
};

struct pool {
	struct driver_object object; /* belongs to no context */
	struct list link;            /* in soft.memory.pools.list */
	struct device *device;
	CUmemPoolProps props;
	bool builtin; /* a default pool: never destroyed */
	bool imported;
	int fd; /* its memory, if other processes may map it; or -1 */
	uint64_t cap;

	pthread_mutex_t lock;
	uint64_t base; /* 0 until the first allocation */
	struct map blocks;
	struct list bins[POOL_BINS]; /* free blocks of 2^i units and more */
	struct list pending;
	struct block *spare;   /* unused structs, linked by node.left */
	unsigned char *backed; /* one byte per chunk */
	uint64_t reserved, reserved_high, used, used_high, threshold;
	int reuse[3];    /* CU_MEMPOOL_ATTR_REUSE_* - 1 */
	uint64_t access; /* bit mask of the devices with access, besides its own */
};

struct pool *pool_create(
	struct device *d, const CUmemPoolProps *props, bool builtin);        /* one reference; NULL: no memory */
struct pool *pool_current(struct device *d);                                 /* referenced; NULL: no memory */
struct pool *pool_default(CUmemLocation location, CUmemAllocationType type); /* not referenced: never destroyed */
bool pool_on_device(const struct pool *p);
CUresult pool_enter(CUmemoryPool handle, struct pool **p); /* find by handle, referenced */

/*
 * Take a block of `size` bytes for stream s.  If after->stream is set, the block was pending: it may be used when that
 * point is complete, its range is in the map, and the caller owns the reference to the stream.  Otherwise the caller
 * enters its range.
 */
CUresult pool_block_alloc(struct pool *p, uint64_t size, struct stream *s, struct block **b, struct dep *after);
void pool_block_free(struct pool *p, struct block *b); /* lock held; its range is not in the map */
void pool_trim(struct pool *p, uint64_t keep); /* lock held; unback free chunks while more than `keep` is reserved */
struct block *pool_block_find(struct pool *p, uint64_t addr); /* lock held; NULL: none starts there */

/* Called by every synchronising call: trims all pools to their thresholds. */
void pools_synchronized(void);
bool pools_reclaim(struct device *d); /* trim all pools of d to 0; false: nothing was freed */
