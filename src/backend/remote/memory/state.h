/* state.h - the state of the memory room.  For the files of this room only. */
#pragma once

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include "util/map.h"
#include "wire/wire.h"

struct cached_tensor_map;

/* memory.c: struct range by address */
struct range_table {
	pthread_rwlock_t lock;
	struct map ranges;
	uint64_t last_number;
};
void ranges_finish(struct range_table *t);

/* mapping.c: struct mapping by address */
struct mapping_table {
	pthread_rwlock_t lock;
	struct map mappings;
};

/* hostmem.c: struct host_range by address, and the window, addresses that both sides keep free for host memory */
struct host_table {
	pthread_rwlock_t lock; /* of ranges */
	struct map ranges;
	_Atomic(unsigned) outside_window; /* ranges outside the window */
	pthread_mutex_t alloc_lock;       /* allocations: the window, what is mapped in it, implicit_bytes */
	bool window_tried;
	bool window_carried;           /* the window is a former client's: this server has not reserved it yet */
	uint64_t window_size;          /* set before window */
	uint64_t window_next;          /* the end of the latest allocation; 0: none yet */
	_Atomic(uint64_t) window;      /* its address; 0: there is none */
	size_t implicit_bytes;         /* mirrored although the application has not asked for it */
	atomic_ullong descriptor_ids;  /* of descriptors sent to the server: last one given out */
	atomic_ullong buffer_ids;      /* next CU_POINTER_ATTRIBUTE_BUFFER_ID */
	pthread_mutex_t register_lock; /* host_register.c: one registration at a time; extents */
	struct map extents;            /* extent.c: struct extent by address */
};

/* managed.c: struct advised by address */
struct advice_table {
	pthread_mutex_t lock;
	struct map advised;
};

/* mirror.c */
struct mirror_table {
	pthread_mutex_t change_lock; /* adding and removing, while the server is asked; taken before lock */
	pthread_mutex_t lock;
	struct map mirrors;         /* struct mirror by address */
	unsigned remote;            /* mirrors whose other copy only the server can reach */
	bool remote_ever;           /* there has been such a mirror: has_mirrors stays set */
	struct map pages;           /* struct page by address: pages mapped where variables are */
	_Atomic(bool) host_wrote;   /* the host may have written since it was last compared */
	_Atomic(bool) device_wrote; /* work was posted, which may have written */
	bool host_writes_any_time;  /* also while kernels run */
	_Atomic(uint32_t) seen;     /* value of WIRE_MIRROR_WORD when changes were last fetched */
	_Atomic(bool) fetching;     /* a thread is fetching changes */
};

/* tensor.c: the latest tensor maps, by a hash of their parameters */
#define TENSOR_MAPS 64 /* a power of two */
struct tensor_cache {
	pthread_mutex_t lock;
	struct cached_tensor_map *maps; /* NULL: none yet */
};

struct memory_state {
	struct range_table ranges;
	struct mapping_table mappings;
	struct host_table hosts;
	struct advice_table advice;
	struct mirror_table mirrors;
	struct tensor_cache tensors;
	atomic_ullong share_ids; /* vmm.c: next id of a shared descriptor */
};

struct memory_state *memory_state_create(void); /* NULL: no memory */
void memory_state_destroy(struct memory_state *s);
