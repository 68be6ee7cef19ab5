/*
 * memory_state.h - the memory room's part of the driver's state (soft.memory), one struct for each source file.
 *
 * Each lock protects its own struct.  A thread that holds one lock may take another only in this order: ipc, vmm or
 * pools.defaults_lock; pools.list_lock; one pool's lock; ranges.  Likewise device before store.
 */
#pragma once

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "backend/soft/core/describe.h"
#include "util/list.h"
#include "util/map.h"

struct chunk;
struct ipc_broker;
struct pool;

struct memory_state {
	struct { /* range.c: the memory lock */
		pthread_rwlock_t lock;
		struct map map;         /* of struct range, by address */
		pthread_rwlock_t touch; /* held shared while a command touches memory */
	} ranges;

	struct { /* device_memory.c */
		pthread_mutex_t lock;
		struct map chunks;             /* of struct chunk, by address */
		struct map shared_blocks;      /* of struct shared_block, by address */
		struct chunk *current;         /* the chunk that served the last small block */
		_Atomic uintptr_t hint_offset; /* where to ask for the next mapping */
	} device;

	struct { /* store.c */
		pthread_mutex_t lock;
		int fd; /* -1 until the first allocation */
		uint64_t end;
	} store;

	struct {                      /* host_memory.c */
		_Atomic int populate; /* MADV_POPULATE_*: 1 the kernel has it, -1 it does not, 0 not tried yet */
	} host;

	struct { /* ipc.c */
		pthread_mutex_t lock;
		struct list mappings;            /* of struct ipc_mapping */
		struct list unused_exports;      /* of struct ipc_export */
		const struct ipc_broker *broker; /* NULL: processes open each other's descriptors */
		int table_fd;                    /* the export table; -1 until the first export */
		uint64_t table_dev, table_inode, records;
	} ipc;

	struct { /* mempool.c, mempool_api.c */
		pthread_mutex_t list_lock;
		struct list list;     /* all pools */
		atomic_bool trim_due; /* a block was freed since the last trim */
		pthread_mutex_t defaults_lock;
		struct pool *device_defaults[MAX_DEVICES], *managed_defaults[MAX_DEVICES];
		struct pool *host_defaults[2]; /* managed, pinned */
		pthread_mutex_t current_lock;
		struct pool *current[MAX_DEVICES]; /* referenced; NULL: the device's default pool */
	} pools;

	struct { /* vmm.c */
		pthread_mutex_t lock;
		struct map reservations; /* of struct reservation, by address */
		struct map mappings;     /* of struct mapping, by address */
	} vmm;
};
