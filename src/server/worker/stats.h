/*
 * stats.h - what a worker has done for its client: a few pages of counters that its parent reads.
 *
 *	dispatcher ── adds ──▶ pages of a memfd that both map ──▶ parent: /metrics, /status
 *
 * One thread writes, the worker's dispatcher; adding costs an addition.  One call in STATS_SAMPLE is timed and counts
 * for all of them.
 *
 * Trust: a worker is as trustworthy as its client.  The parent treats the pages as numbers and bytes, nothing more.
 * The memfd is sealed: a worker cannot take pages away from under its parent.
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define STATS_DEVICES 16 /* further devices count as the last one */
#define STATS_BUCKETS 24 /* 1 us, 2 us, ... 8 s, and one for longer times */
#define STATS_SAMPLE  16
#define STATS_TEXT    64

struct stats_times {
	_Atomic uint64_t bucket[STATS_BUCKETS + 1];
	_Atomic uint64_t sum_ns;
};

struct stats_device {
	_Atomic uint64_t calls, answers, launches, errors;
	_Atomic uint64_t up, down;     /* bytes copied to the device, and from it */
	_Atomic uint64_t memory, peak; /* bytes allocated now, and at most */
	struct stats_times wait;       /* in the ring, before the dispatcher took the call: over shared memory only */
	struct stats_times run;        /* in the driver */
};

/* The client as the kernel identifies it or, over TCP, as it reports itself. */
struct stats_client {
	int pid, uid; /* -1: not known */
	bool local;
	uint64_t since; /* seconds since 1970 */
	char program[STATS_TEXT], build[STATS_TEXT];
};

struct stats {
	_Atomic uint32_t ndevices;
	_Atomic uint32_t forbidden_call;           /* the system call for which the sandbox ended the worker */
	_Atomic uint64_t host_memory, host_peak;   /* bytes of host memory that the client holds, and at most */
	_Atomic uint64_t objects;                  /* objects that the client holds */
	_Atomic uint64_t host_quota, object_quota; /* of this client */
	struct {
		char name[STATS_TEXT];
		uint8_t uuid[16];
		uint64_t memory, quota; /* quota of this client; 0: none */
		_Atomic bool looked;    /* `used` is set; only with a quota */
		_Atomic uint64_t used;  /* bytes in use on the whole device, when the client last asked NVML */
	} info[STATS_DEVICES];
	_Atomic bool connected; /* `client` is filled in */
	struct stats_client client;
	struct stats_device device[STATS_DEVICES];
};

/* Parent: *fd is for the worker; the caller closes it.  NULL and errno on failure. */
const struct stats *stats_create(int *fd);
void stats_destroy(const struct stats *s);

/* Worker: maps the pages and closes the descriptor.  NULL on failure. */
struct stats *stats_open(int fd);

static inline void stats_add(_Atomic uint64_t *n, uint64_t more)
{
	atomic_store_explicit(n, atomic_load_explicit(n, memory_order_relaxed) + more, memory_order_relaxed);
}

static inline uint64_t stats_read(const _Atomic uint64_t *n)
{
	return atomic_load_explicit(n, memory_order_relaxed);
}

/* Adds a time of `ns` that stands for `calls` calls. */
void stats_time(struct stats_times *t, uint64_t ns, uint64_t calls);

/* The upper bound of a bucket in seconds; the last bucket has none. */
double stats_bucket_end(unsigned bucket);
