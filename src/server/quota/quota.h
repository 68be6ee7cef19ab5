/*
 * quota.h - how much of a device's memory one client may hold, and what it is told of it.
 *
 *	account.c ── is there room? ──▶ quota_room: what is counted, and what pools and graphs keep beside that
 *	                                  └─ too much: pools and graphs give back what they can, and again
 *
 * One client is one worker, and its dispatcher alone allocates: between asking and counting nothing can come, whatever
 * the client's threads do, and the count ends with the worker.  Without a quota nothing here is called.
 *
 * Counted is what was asked for, and of pools what they have taken from the device; not what the driver adds to it:
 * contexts, code, local memory, and the rounding of what is allocated without a pool.
 */
#pragma once

#include "backend/backend.h"
#include "server/daemon/stats.h"

/* As it is given: bytes, or a part of the device; neither: there is none. */
struct quota_size {
	uint64_t bytes;
	unsigned percent;
};

/* "8G", "512M", "50%": false if it is nothing of the kind. */
bool quota_read(const char *text, struct quota_size *size);

/* Of a device that has `memory` bytes: 0 if there is none. */
uint64_t quota_of(const struct quota_size *size, uint64_t memory);

/* From now on the table keeps to stats' quotas and tells them; `real` is what it calls. */
void quota_wrap(struct cuda_ops *table, const struct cuda_ops *real, struct stats *stats);

/* Of a device of this worker; 0: there is none. */
uint64_t quota_limit(unsigned device);

/* What is left of it for the client, counting what pools and graphs keep. */
uint64_t quota_left(unsigned device);

/* So much more for the client: CUDA_SUCCESS, or CUDA_ERROR_OUT_OF_MEMORY. */
CUresult quota_room(const struct stats_device *d, uint64_t size);

/* The device as a whole, as somebody has just asked: for `gangway top`. */
void quota_device_used(unsigned device, uint64_t used);

/* Variables of loaded code, and limits of contexts: quota_code.c. */
void quota_code_wrap(struct cuda_ops *table, const struct cuda_ops *real, struct stats *stats);

/* ---- pools: quota_pool.c ---- */

struct quota_pool;

/* Of cuMemAllocAsync (NULL), or a named one; NULL: there is no quota for it. */
struct quota_pool *quota_pool(CUmemoryPool pool);
CUresult quota_pool_room(const struct quota_pool *p, uint64_t size);
/* It was given out; false: with what the pool has taken for that it is too much. */
bool quota_pool_gave(struct quota_pool *p, uint64_t size);
bool quota_pool_gone(const struct quota_pool *p); /* destroyed: what it has given out is all that we know of it */
void quota_pool_back(struct quota_pool *p, uint64_t size);
struct stats_device *quota_pool_device(const struct quota_pool *p);

void quota_pools_wrap(struct cuda_ops *table, const struct cuda_ops *real, struct stats *stats);
uint64_t quota_pools_keep(const struct stats_device *d); /* beyond what was given out */
void quota_pools_trim(const struct stats_device *d);

/* ---- graphs that allocate: quota_graph.c ---- */

void quota_graphs_wrap(struct cuda_ops *table, const struct cuda_ops *real, struct stats *stats);
uint64_t quota_graphs_keep(const struct stats_device *d); /* beyond what is counted */
void quota_graphs_trim(const struct stats_device *d);
void quota_graphs_settle(void); /* a context has ended, and graphs with it */
