/*
 * quota.h - how much of a device's memory one client may hold.
 *
 *	account.c ── is there room? ──▶ quota_room: what is counted, plus what pools and graphs keep
 *	                                  └─ too much: pools and graphs are trimmed, then checked again
 *
 * Each client has its own worker, whose dispatcher alone allocates: no other allocation can come between the check
 * and the count, and the count ends with the worker.  Without a quota only host memory and objects are limited
 * (account.h).
 *
 * The quota counts the sizes of allocations, and of pools the memory that they took from the device.  Contexts, code
 * and local memory do not count.
 */
#pragma once

#include "backend/backend.h"
#include "server/worker/stats.h"
#include "server/quota/account.h"

/* A quota as the user wrote it: bytes, or a percentage of the device; both 0: no quota. */
struct quota_size {
	uint64_t bytes;
	unsigned percent;
};

/* Parses "8G", "512M" or "50%".  False if the text is none of these. */
bool quota_read(const char *text, struct quota_size *size);

/* The quota in bytes on a device with `memory` bytes; 0: no quota. */
uint64_t quota_of(const struct quota_size *size, uint64_t memory);

/* Wraps the entry points that report memory, and those of pools, graphs and code. */
void quota_wrap(struct cuda_ops *table);

/* The quota on a device of this worker; 0: no quota. */
uint64_t quota_limit(const struct account *a, unsigned device);

/* The bytes that the client may still allocate; memory that pools and graphs keep counts as used. */
uint64_t quota_left(struct account *a, unsigned device);

/* May the device, or the host, give the client `size` more bytes?  CUDA_SUCCESS or CUDA_ERROR_OUT_OF_MEMORY. */
CUresult quota_room(struct account *a, const struct stats_device *d, uint64_t size);

/* Notes how much of a device all its users hold, as the driver has just reported it: for `gangway top`. */
void quota_device_used(struct account *a, unsigned device, uint64_t used);

/* Variables of loaded code, and limits of contexts: quota_code.c. */
void quota_code_wrap(struct cuda_ops *table);

/* ---- Pools: quota_pool.c ---- */

/* The account of a pool (NULL: the pool of cuMemAllocAsync); NULL: the pool has no quota. */
struct quota_pool *quota_pool(struct account *a, CUmemoryPool pool);
bool quota_pool_on_host(struct account *a, CUmemoryPool pool); /* also: managed memory */
CUresult quota_pool_room(struct account *a, const struct quota_pool *p, uint64_t size);
/* The pool has given out `size` bytes.  False: with what it took from the device for that, the quota is exceeded. */
bool quota_pool_gave(struct account *a, struct quota_pool *p, uint64_t size);
bool quota_pool_gone(const struct quota_pool *p); /* destroyed, with allocations left */
void quota_pool_back(struct account *a, struct quota_pool *p, uint64_t size);
struct stats_device *quota_pool_device(const struct quota_pool *p);

void quota_pools_wrap(struct cuda_ops *table);
uint64_t quota_pools_keep(struct account *a, const struct stats_device *d); /* beyond what they have given out */
void quota_pools_trim(struct account *a, const struct stats_device *d);

/* ---- Graphs that allocate: quota_graph.c ---- */

void quota_graphs_wrap(struct cuda_ops *table);
uint64_t quota_graphs_keep(struct account *a, const struct stats_device *d); /* beyond what is counted */
void quota_graphs_trim(struct account *a, const struct stats_device *d);
void quota_graphs_settle(struct account *a); /* a context has ended, and graphs with it */
