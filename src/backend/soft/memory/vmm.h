/*
 * vmm.h - virtual memory management: addresses and physical memory, both managed by the application.
 *
 *	cuMemAddressReserve	| reservation                                   |	addresses without memory
 *	cuMemMap		|   mapping   |         |  mapping  |			each maps one whole physical
 *	cuMemCreate		[  physical   ]         [ physical  ]			memory without an address
 *
 * A mapping is a range: RESERVED until a device has access, MAPPED from then on.
 * Locks, in this order: soft.memory.vmm.lock, the memory lock.
 */
#pragma once

#include "backend/soft/memory/range.h"

#define VMM_GRANULARITY (2ull << 20)

struct physical {
	struct driver_object object; /* belongs to no context; its handle is valid while it has names or mappings */
	struct device *device;       /* charged for it; NULL: host memory, or memory of another process */
	CUmemAllocationProp prop;
	uint64_t size;
	int fd; /* its own file; -1: at `offset` in the store */
	uint64_t offset;
	unsigned names, mappings; /* handles given out, mappings; protected by soft.memory.vmm.lock */
};

/* Create a physical for existing memory.  Takes fd, or the piece of the store, unless it fails.  NULL: no memory. */
struct physical *physical_create(
	const CUmemAllocationProp *prop, uint64_t size, int fd, uint64_t offset, struct device *charged);
CUresult physical_find(CUmemGenericAllocationHandle handle, struct physical **p); /* referenced */

/* Find the reservation that contains addr, mapped or not. */
bool vmm_reservation(uint64_t addr, uint64_t *base, uint64_t *size);
