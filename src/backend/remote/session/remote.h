/*
 * remote.h - the inside of the client: a device in another process or on another machine.
 *
 * What CUDA defines as asynchronous is posted without an answer; what never changes is asked once; what
 * belongs to the thread (current contexts) never leaves the process.  The rest is a round trip, generated
 * (wire/call.h).  The class in api/cuda.api says which functions, named remote_cuX, are written by hand.
 *
 * Handles are the server's numbers.  For some of them we keep a record: what is known of a stream or
 * function without asking.  Records are found by the handle's slot and checked against all of it.
 */
#pragma once

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include "gen/cuda_client.h"
#include "util/list.h"
#include "util/map.h"
#include "wire/call.h"
#include "wire/devices.h"

/* ---- thread.c ---- */

/* When this thread ends, unless the link is gone by then.  False: no memory. */
bool thread_at_end(void (*f)(void *arg), void *arg);

/* ---- the server's devices ---- */

struct remote {
	struct wire_devices *devices;
	void (*ending)(CUcontext ctx);
	bool local; /* shared memory, not TCP */
};

extern struct remote remote;

const struct wire_device *device_find(CUdevice dev);
void denied_apply(struct wire_device *d, bool local); /* says no to what cannot be elsewhere */

/* ---- contexts ---- */

struct stream;

struct context {
	struct context *next_ended;
	uint64_t id;
	_Atomic(uint32_t) times; /* how often it has ended: what was made in it before is gone */
	_Atomic(uint64_t) wire;  /* the same, or WIRE_CONTEXT_ENDED: destroyed, or a primary one that nobody retains */
	CUdevice device;
	bool primary;
	unsigned flags;
	unsigned long long number; /* cuCtxGetId */
	struct stream *legacy;
	struct late late; /* calls posted in it that have failed */
	struct wire_tell late_word;
	pthread_mutex_t lock;
	struct list streams;
	/* Asked once: asked.c. */
	_Atomic(uint32_t) limits_known;
	_Atomic(uint64_t) limits[16];
	_Atomic(bool) priorities_known;
	_Atomic(int) least, greatest;
};

struct context *context_current(void); /* or NULL: */
CUresult context_none(void);           /* what to answer then */

static inline bool context_ended(const struct context *c)
{
	return atomic_load_explicit(&c->wire, memory_order_relaxed) == WIRE_CONTEXT_ENDED;
}

struct context *context_find(CUcontext ctx);

/* ---- memory ---- */

enum place { PLACE_HOST, PLACE_DEVICE, PLACE_SHARED };

enum place memory_place(uint64_t address);

/* Ranges of the device's addresses that we have been given. */
enum range_kind {
	RANGE_ALLOC,    /* cuMemAlloc: cuMemFree ends it */
	RANGE_POOL,     /* the same, from a pool */
	RANGE_GLOBAL,   /* a module's variable */
	RANGE_RESERVED, /* addresses to map at */
	RANGE_FOREIGN,  /* another process's */
	RANGE_GRAPH,    /* a graph's: its launches allocate and free it, again and again */
	RANGE_IMPORTED, /* the same, from a pool: cuMemFree ends it; its size is not always known */
	RANGE_LEFT,     /* of one that another was laid over: only the server knows what is there */
};

/*
 * What the server gave.  Nonsense: no address that can be one.  One that lies over another does not undo that: what is
 * left of it stays the device's, for what is taken for host memory is touched.
 */
CUresult memory_note(uint64_t address, size_t size, enum range_kind kind);
bool memory_remove(uint64_t address); /* what starts here and cuMemFree ends: true */
bool memory_of_graph(uint64_t address);

/* Removes the range of this kind that starts at `address`; *size (may be NULL) is its size.  False: there is none. */
bool memory_take(uint64_t address, enum range_kind kind, size_t *size);

/* Bytes that the device is to read or write. */
enum known {
	KNOWN_GOOD,
	KNOWN_BAD, /* CUDA_ERROR_INVALID_VALUE, at once */
	UNKNOWN,   /* the server has to say: CUDA would say it at once */
};

enum known memory_known(uint64_t address, size_t size, bool write);

/* A call has been posted: what became of it, where that was not known before. */
static inline CUresult memory_told(CUresult r, enum known k)
{
	return r || k != UNKNOWN ? r : call_flush();
}

/* ---- array.c ---- */

size_t array_texel(CUarray array); /* 0: it is not known */

/* ---- mirror.c: managed memory that is in two places ---- */

void mirror_pull(void); /* something was waited for */
/*
 * Behind a function that the server has run here: what the function has written, on the lane on which the server must hear
 * that it has run.  False: there is no such memory.
 */
bool mirror_push_there(struct lane *lane);
/* A module's variable, which the server has here: CUDA_ERROR_NOT_SUPPORTED if we have something else there. */
CUresult mirror_variable(uint64_t address, size_t size);
void mirror_variable_gone(uint64_t address);
bool mirror_holds(uint64_t address); /* the host may touch it, here */

/* ---- mapping.c: what is mapped at reserved addresses ---- */

void mapping_add(uint64_t address, size_t size);
void mapping_remove(uint64_t address, size_t size);
void mapping_access(uint64_t address, size_t size, const CUmemAccessDesc *desc, size_t count);
bool mapping_allows(uint64_t address, size_t size, CUdevice device, bool write);

bool memory_drop(uint64_t address, enum range_kind kind);
void memory_forget(uint64_t context); /* it is gone, and what was allocated in it */

/* Host memory that the server maps too, all of it. */
bool hostmem_shared(const void *p, size_t size);
/* Host memory that CUDA knows, shared or not: a copy of it that is not asynchronous is done when the call returns. */
bool hostmem_pinned(const void *p);
CUresult hostmem_free_managed(CUdeviceptr dptr);
void hostmem_gone(uint64_t context); /* it has ended, and with it what was allocated or registered in it */
