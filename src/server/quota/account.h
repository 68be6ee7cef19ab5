/*
 * account.h - what a client holds: device memory, host memory of its worker, and objects; and how much it copies.
 *
 * account_create() wraps the entry points of the worker's ops table through which memory comes and goes, so that
 * every allocation on the client's behalf is counted.  Memory counts on the device where it was allocated and for as
 * long as the driver keeps it: physical memory until it is neither held nor mapped, everything else until its context
 * ends.  Only the dispatcher allocates: no locks.  Where there is a quota (quota.h), the wrapped entry points enforce
 * it.
 *
 * Device memory counts what an allocation occupies: account_occupied().  Where a function takes the counters of a
 * device, NULL stands for host memory.
 */
#pragma once

#include "backend/backend.h"
#include "server/worker/stats.h"
#include "util/map.h"

struct account_item;
struct quota_pool;
struct usage;

/* The kinds of items.  An item's key is an address or a handle; items up to ACCOUNT_LIMIT end with their context. */
enum account_kind {
	ACCOUNT_PLAIN,
	ACCOUNT_ARRAY,
	ACCOUNT_OPENED, /* memory of another process, which counts for that process */
	ACCOUNT_MODULE,
	ACCOUNT_LIMIT,
	ACCOUNT_LIBRARY,
	ACCOUNT_PHYSICAL,
	ACCOUNT_MAPPING,
	ACCOUNT_KINDS
};

struct account {
	struct cuda_ops real;     /* the device's table before it was wrapped */
	struct cuda_ops *counted; /* wrapped to count, not to clear; only with account_clears() */
	struct stats *stats;
	bool has_quota;              /* on at least one device */
	unsigned granule;            /* bytes: small allocations occupy a multiple */
	CUcontext context;           /* current in the dispatcher */
	struct stats_device *device; /* the counters of its device */
	struct map items[ACCOUNT_KINDS];
	struct account_item *spare;       /* for the next item: allocated before the driver is called */
	CUcontext primary[STATS_DEVICES]; /* each device's primary context, as retained last */
	unsigned primary_retained[STATS_DEVICES];

	/* This client's NVML has a worker of its own, which reads these numbers (host/usage.h). */
	struct usage *usage_page;
	bool usage_opened;
	uint64_t usage_kept[STATS_DEVICES];

	struct quota_pool *pools;
	struct map graph_execs; /* graphs that allocate, by CUgraphExec */
	struct {
		uint64_t counted; /* bytes of the graphs that count */
		uint64_t round;   /* a graph counts if it was counted in this round */
		bool asked;       /* a graph has allocated here: the driver may keep memory that does not count */
	} graphs[STATS_DEVICES];
};

/*
 * Wraps the table: from now on it counts into `stats` and enforces the quotas there.  NULL: no memory.  The account
 * lives as long as the process.
 */
struct account *account_create(struct cuda_ops *table, struct stats *stats);

/* The account of worker_session, for wrapped entry points. */
struct account *worker_account(void);

/* The dispatcher has made a context current on a device (0 if its number is not known). */
void account_enter(struct account *a, CUcontext context, int device);

/* The counters of the current context's device. */
static inline struct stats_device *account_device(const struct account *a)
{
	return a->device;
}

static inline unsigned account_device_number(const struct account *a, const struct stats_device *d)
{
	return (unsigned)(d - a->stats->device);
}

/* May the current device give the client `size` more bytes?  CUDA_ERROR_OUT_OF_MEMORY if that exceeds a quota. */
CUresult account_room(struct account *a, uint64_t size);

/* Allocates what account_made() needs, so that it cannot fail.  CUDA_ERROR_OUT_OF_MEMORY: no memory. */
CUresult account_item_ready(struct account *a);

/*
 * The bytes that an allocation of `size` bytes occupies: up to 512 KiB a multiple of the granule, a multiple of 64 KiB
 * beyond.  UINT64_MAX if that overflows.
 */
uint64_t account_occupied(const struct account *a, uint64_t size);

/* The granules: NVIDIA's driver packs small allocations, the CPU device gives each its own pages. */
#define ACCOUNT_GRANULE     512
#define ACCOUNT_GRANULE_CPU 4096

/* The product, or UINT64_MAX if it overflows. */
uint64_t account_times(uint64_t x, uint64_t y);

/* The client has allocated something on the current device; or freed it, if `r` is CUDA_SUCCESS.  The result is `r`. */
CUresult account_made(struct account *a, enum account_kind kind, uint64_t key, uint64_t size);
CUresult account_freed(struct account *a, CUresult r, enum account_kind kind, uint64_t key);

/* clear.c: from now on the table clears memory after allocating it.  False: no memory. */
bool account_clears(struct account *a, struct cuda_ops *table);

/* account_array.c */
void account_arrays_wrap(struct cuda_ops *table);

/* ---- Host memory and objects: account_host.c ---- */

/*
 * Host memory of the worker that exists because of this client.  Room: CUDA_SUCCESS, or CUDA_ERROR_OUT_OF_MEMORY beyond
 * the client's limit; before that, memory that is only cached is given up.  Take: the same, and counts the bytes.
 */
CUresult account_host_room(struct account *a, uint64_t size);
CUresult account_host_take(struct account *a, uint64_t size);
void account_host_give(struct account *a, uint64_t size);
void account_host_hold(struct account *a, int64_t more); /* counts without a limit */

/* Objects: handles, allocations, mappings, textures, images.  Any thread may change the count. */
#define ACCOUNT_OBJECTS_SLACK 4096
bool account_objects_full(const struct account *a);
uint64_t account_objects_most(const struct account *a);
void account_objects(struct account *a, int more);

void account_host_wrap(struct cuda_ops *table);

/* The client holds this many bytes more on a device, or of host memory. */
void account_hold(struct account *a, struct stats_device *d, int64_t more);

/* The bytes that pools and graphs keep on a device beside what the client holds. */
void account_kept(struct account *a, const struct stats_device *d, uint64_t bytes);
