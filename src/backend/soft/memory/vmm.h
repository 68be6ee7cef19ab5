/*
 * vmm.h - addresses and the memory behind them, each managed by the application.
 *
 *	cuMemAddressReserve	| reservation                                   |	addresses without
 *memory cuMemMap		|   mapping   |         |  mapping  |		each is all of one physical
 *	cuMemCreate		[  physical   ]         [ physical  ]		memory without an address
 *
 * A mapping is a range: RESERVED until some device may touch it, MAPPED from then on.
 * Locks: the one here, then the memory lock.
 */
#pragma once

#include "backend/soft/memory/range.h"

#define VMM_GRANULARITY (2ull << 20)

struct physical {
	struct driver_object object; /* of no context; its handle is known while it has names or mappings */
	struct device *device;       /* charged for it, or NULL: host memory, or another process's */
	CUmemAllocationProp prop;
	uint64_t size;
	int fd; /* its own file, or -1: a piece of the store */
	uint64_t offset;
	unsigned names, mappings; /* the lock of vmm.c */
};

/* Around memory that is there already; takes fd.  NULL: no memory. */
struct physical *physical_create(
	const CUmemAllocationProp *prop, uint64_t size, int fd, uint64_t offset, struct device *charged);
CUresult physical_find(CUmemGenericAllocationHandle handle, struct physical **p); /* referenced */

/* The reservation that holds addr, mapped or not. */
bool vmm_reservation(uint64_t addr, uint64_t *base, uint64_t *size);
