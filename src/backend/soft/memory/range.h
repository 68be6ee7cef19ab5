/*
 * range.h - the address intervals that the driver knows, with their kinds and owners.
 *
 *	| range | ......... | range | range | ....	ordered by address, never overlapping
 *
 * A device address is a host address, so only this map distinguishes device memory from other memory.  Copies are
 * checked against the map, and freeing goes through it.  range_find copies a range out of the map under the lock.
 */
#pragma once

#include "backend/soft/core/soft.h"
#include "util/map.h"

enum range_kind {
	RANGE_DEVICE,     /* cuMemAlloc */
	RANGE_VARIABLE,   /* variables of a module, freed with it */
	RANGE_HOST,       /* cuMemHostAlloc */
	RANGE_REGISTERED, /* cuMemHostRegister */
	RANGE_MANAGED,
	RANGE_POOL,     /* cuMemAllocAsync, cuMemAllocFromPoolAsync */
	RANGE_GRAPH,    /* a graph's alloc node */
	RANGE_MAPPED,   /* cuMemMap */
	RANGE_RESERVED, /* cuMemMap, without access for any device yet */
	RANGE_IPC,      /* memory of another process */
	RANGE_ARRAY,    /* of a CUarray: not for linear copies */
};

#define RANGE_ON_HOST 0x10000u /* flag of RANGE_POOL: the memory is on the host */

struct range {
	struct map_node node; /* key: the address */
	uint64_t size;        /* bytes, as the application requested */
	enum range_kind kind;
	unsigned flags;   /* of the call that created it */
	bool read_only;   /* the device must not write it */
	bool sync_memops; /* CU_POINTER_ATTRIBUTE_SYNC_MEMOPS */
	bool freeing;     /* cuMemFreeAsync was called: it must not be freed again */
	bool variable;    /* a managed variable: freed with its program, never by the application */
	struct device *device;
	struct context *ctx;   /* its end frees the range; NULL: none.  For comparison only: it may be gone */
	uint64_t ctx_handle;   /* of ctx; set by range_insert */
	unsigned long long id; /* CU_POINTER_ATTRIBUTE_BUFFER_ID */
	void *private_data;    /* of the code that created the range */
	/*
	 * Only for POOL: the memory was reused before the stream reached the free of its previous owner, `old_id`.
	 * Until then kernels and copies of that owner may access `old_size` bytes.
	 */
	uint64_t old_size;
	unsigned long long old_id;
	/* Only for POOL, MAPPED and RESERVED: */
	uint64_t handle;                    /* of the pool, or of the physical memory */
	uint64_t enclosing, enclosing_size; /* the chunks of the pool, or the reservation, around it */
	unsigned shareable;                 /* CU_MEM_HANDLE_TYPE_* */
	uint8_t *written;                   /* only for DEVICE: its shadow in the checked mode, see check.h; or NULL */
	struct ipc_export *exported;        /* only for DEVICE: its IPC handle, destroyed with it; or NULL */
	void (*release)(struct range *r);   /* free the memory and r; called without locks */
};

static inline uint64_t range_addr(const struct range *r)
{
	return r->node.key;
}

/* Add a range; the map then owns the struct.  -EEXIST: overlaps another range; -ECANCELED: its context has ended. */
int range_insert(struct range *r);

/* Remove the range that starts at addr if its kind is in mask (1 << kind).  NULL: there is none. */
struct range *range_remove(uint64_t addr, unsigned mask);
struct range *range_remove_id(uint64_t addr, unsigned long long id); /* if it still has this id */

/* Copy the range that contains [addr, addr + size); false: there is none. */
bool range_find(uint64_t addr, uint64_t size, struct range *copy);

/*
 * Whether kernels and copies may access [addr, addr + size), which may span adjacent mapped ranges.  Size 0: yes.
 * Host memory for which this is false is pageable: the driver must not use it after the call has returned.
 */
bool range_accessible(uint64_t addr, uint64_t size);
bool range_writable(uint64_t addr, uint64_t size); /* may also write it */

/*
 * A command that copies or fills memory checks the range and touches it between these two. Whoever removes a range waits
 * for such commands: memory is given back only after the last one that may have found its range. Do not nest them.
 */
void range_touch_begin(void);
void range_touch_end(void);

/*
 * Must a submitted command look at the range again when it runs? Memory of the driver may be freed meanwhile by a stream
 * or context that the command does not wait for. Registered memory belongs to the application and stays mapped; the
 * addresses of a pool belong to the pool, which reuses a block before the commands of the previous owner have run.
 */
bool range_may_be_freed(uint64_t addr);

/*
 * In fuzz builds (GANGWAY_CHECK_RANGES): a command is about to touch the bytes, which were driver memory when it was
 * submitted. Ends the process with a message unless all of them still are.
 */
#ifdef GANGWAY_CHECK_RANGES
void range_check_touched(uint64_t addr, uint64_t size, const char *what);
#else
static inline void range_check_touched(uint64_t addr, uint64_t size, const char *what)
{
	(void)addr, (void)size, (void)what;
}
#endif

/* Call f for the range that contains addr, with the lock held: f must be short and take no lock.  False: no range. */
bool range_change(uint64_t addr, void (*f)(struct range *r, void *arg), void *arg);

void range_end_context(struct context *ctx); /* release all ranges of ctx */

/* Call f for each range in ascending order, with the lock held: f must be short and take no lock. */
void range_each(void (*f)(const struct range *r, void *arg), void *arg);

/* Allocate device memory and enter its range, which belongs to ctx, or to no context. */
CUresult memory_alloc(struct context *ctx, enum range_kind kind, uint64_t size, uint64_t *addr);
CUresult memory_alloc_without_context(struct device *d, enum range_kind kind, uint64_t size, uint64_t *addr);

/*
 * Allocate device memory without a range (device_memory.c): readable, writable, at least 512-byte aligned, contents undefined.
 * The memory counts against the device's total; CUDA_ERROR_OUT_OF_MEMORY beyond it.
 */
CUresult device_memory_alloc(struct device *d, uint64_t size, uint64_t *addr);
void device_memory_free(struct device *d, uint64_t addr, uint64_t size); /* size as allocated */

/* Move the memory to the store, at the same address, so that it can be shared.  It must not be in use.  0 or -errno. */
int device_memory_share(uint64_t addr, uint64_t size, uint64_t *offset);

/* Count memory from another source against the device's total; false: exceeds it. */
bool memory_charge(struct device *d, uint64_t size);
void memory_uncharge(struct device *d, uint64_t size);
