/*
 * range.h - every stretch of memory that the driver knows: who owns it, what kind it is.
 *
 *	| range | ......... | range | range | ....	ordered by address, never overlapping
 *
 * A device address is a host address, so this map is all that tells device memory from the rest.  Copies are
 * checked against it; freeing goes through it.  Ranges are values: found under the map's lock, copied out.
 */
#pragma once

#include "backend/soft/core/soft.h"
#include "util/map.h"

enum range_kind {
	RANGE_DEVICE,     /* cuMemAlloc */
	RANGE_VARIABLE,   /* a module's, freed with it */
	RANGE_HOST,       /* cuMemHostAlloc */
	RANGE_REGISTERED, /* cuMemHostRegister */
	RANGE_MANAGED,
	RANGE_POOL,     /* cuMemAllocAsync, cuMemAllocFromPoolAsync */
	RANGE_GRAPH,    /* a graph's alloc node */
	RANGE_MAPPED,   /* cuMemMap */
	RANGE_RESERVED, /* cuMemMap, but no access yet */
	RANGE_IPC,      /* another process's */
	RANGE_ARRAY,    /* behind a CUarray: not for linear copies */
};

#define RANGE_ON_HOST 0x10000u /* a flag of POOL ranges: host memory */

struct range {
	struct map_node node; /* key: the address */
	uint64_t size;        /* as asked for */
	enum range_kind kind;
	unsigned flags;   /* of the call that made it */
	bool read_only;   /* for the device, too */
	bool sync_memops; /* CU_POINTER_ATTRIBUTE_SYNC_MEMOPS */
	bool freeing;     /* cuMemFreeAsync is on its way: nobody else may free it */
	struct device *device;
	struct context *ctx;   /* who frees it at its end; NULL: nobody.  To compare, not to follow */
	uint64_t ctx_handle;   /* of ctx; set by range_insert */
	unsigned long long id; /* CU_POINTER_ATTRIBUTE_BUFFER_ID */
	void *private_data;    /* for whoever made it */
	/* What only pools (POOL) and mappings (MAPPED, RESERVED) have */
	uint64_t handle;                    /* the pool, the physical memory */
	uint64_t enclosing, enclosing_size; /* the stretch it is part of: of the pool, the reservation */
	unsigned shareable;                 /* CU_MEM_HANDLE_TYPE_* */
	void (*release)(struct range *r);   /* give the memory back and free r; called without locks */
};

static inline uint64_t range_addr(const struct range *r)
{
	return r->node.key;
}

/* Enter a range; the struct is the map's from now on.  -EEXIST: it would overlap another.
 * -ECANCELED: its context has ended. */
int range_insert(struct range *r);

/* Take out the range that starts at addr, if its kind is in mask (1 << kind).  NULL: there is none. */
struct range *range_remove(uint64_t addr, unsigned mask);
struct range *range_remove_id(uint64_t addr, unsigned long long id); /* if it is still this one */

/* A copy of the range that holds [addr, addr + size); false: none does. */
bool range_find(uint64_t addr, uint64_t size, struct range *copy);

/*
 * May a kernel or copy engine touch [addr, addr + size)?  It may span adjacent mapped ranges.  Size 0: yes.
 * Host memory for which this is false is pageable: the driver must be done with it when the call returns.
 */
bool range_accessible(uint64_t addr, uint64_t size);
bool range_writable(uint64_t addr, uint64_t size); /* and write to it? */

/* Change the range that holds addr: f runs with the lock held, is quick, takes no lock.  false: none. */
bool range_change(uint64_t addr, void (*f)(struct range *r, void *arg), void *arg);

void range_end_context(struct context *ctx); /* release all that is ctx's */

/* Calls f for each range in ascending order, with the lock held: f must be quick and take no lock. */
void range_each(void (*f)(const struct range *r, void *arg), void *arg);

/*
 * Device memory (arena.c): readable and writable, 512-byte aligned, contents undefined.  What is given out
 * counts against the device's total; CUDA_ERROR_OUT_OF_MEMORY beyond it.
 */
/* And its range; the second form belongs to no context. */
CUresult memory_alloc(struct context *ctx, enum range_kind kind, uint64_t size, uint64_t *addr);
CUresult memory_alloc_without_context(struct device *d, enum range_kind kind, uint64_t size, uint64_t *addr);

CUresult device_memory_alloc(struct device *d, uint64_t size, uint64_t *addr);
/* Have it lie in the store, where other processes can be shown it; the address stays.  Nothing may use it meanwhile. */
int device_memory_share(uint64_t addr, uint64_t size, uint64_t *offset); /* 0 or -errno */
void device_memory_free(struct device *d, uint64_t addr, uint64_t size); /* the size that was asked for */

/* For memory that comes from elsewhere and is the device's all the same; false: the device has no more. */
bool memory_charge(struct device *d, uint64_t size);
void memory_uncharge(struct device *d, uint64_t size);
