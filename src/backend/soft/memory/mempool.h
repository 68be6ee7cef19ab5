/*
 * mempool.h - memory pools, and the blocks that stream-ordered allocation gives out of them.
 *
 * A pool is one stretch of addresses, backed with memory in chunks of 32 MiB as it is needed:
 *
 *	base                                                          base + cap
 *	| used | free | pending | free                                |		blocks, without gaps
 *	|   backed    |   backed    |   not    |   not    | ...		chunks
 *
 * A block whose free is still on its way through a stream is pending: the same stream may have it again at
 * once, and another one may if it waits.  Two free blocks are never neighbours, so a chunk can go back to the
 * system exactly when it lies within one free block.
 *
 * Locks: pools (the list of all), then one pool's, then the memory lock.
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
	uint64_t size;        /* in whole units */
	enum block_state state;
	struct list bin;       /* FREE: in pool->bins; PENDING: in pool->pending */
	struct range *range;   /* USED, PENDING: in the map of ranges; else a spare, or NULL */
	uint64_t wanted;       /* bytes the application asked for */
	struct stream *stream; /* PENDING: referenced; and the number of its free */
	uint64_t number;
};

struct pool {
	struct driver_object object; /* of no context */
	struct list link;            /* in the list of all pools */
	struct device *device;
	CUmemPoolProps props;
	bool builtin; /* a default pool: it stays */
	bool imported;
	int fd; /* memory other processes may see; else -1 */
	uint64_t cap;

	pthread_mutex_t lock;
	uint64_t base; /* 0: nothing was asked for yet */
	struct map blocks;
	struct list bins[POOL_BINS]; /* free blocks of 2^i units and more */
	struct list pending;
	struct block *spare;   /* by node.left */
	unsigned char *backed; /* one a chunk */
	uint64_t reserved, reserved_high, used, used_high, threshold;
	int reuse[3];    /* CU_MEMPOOL_ATTR_REUSE_* - 1 */
	uint64_t access; /* devices, besides its own */
};

struct pool *pool_create(struct device *d, const CUmemPoolProps *props, bool builtin); /* one reference; NULL */
struct pool *pool_current(struct device *d);                                           /* referenced; NULL: no memory */
struct pool *pool_default(CUmemLocation location, CUmemAllocationType type);           /* not referenced: it stays */
bool pool_on_device(const struct pool *p);

/*
 * A used block of `size` bytes for stream s.  after.stream set: it was pending, and may be used when that
 * pair is complete; its range is in the map, and the reference to the stream is the caller's.  Else its range
 * is not.
 */
CUresult pool_block_alloc(struct pool *p, uint64_t size, struct stream *s, struct block **b, struct dep *after);
void pool_block_free(struct pool *p, struct block *b);        /* its range is out of the map; lock held */
void pool_trim(struct pool *p, uint64_t keep);                /* lock held */
struct block *pool_block_find(struct pool *p, uint64_t addr); /* lock held; or NULL */

/* Every synchronising call says so: pools then keep no more than their threshold. */
void pools_synchronized(void);
bool pools_reclaim(struct device *d); /* give back what can be; false: nothing could */
