/* memory.h - device memory: which addresses the client knows, and what it knows of them. */
#pragma once

#include <stddef.h>
#include "backend/remote/session/call.h"

/* Where an address lies. */
enum place {
	PLACE_HOST, /* memory of the process */
	PLACE_DEVICE,
	PLACE_SHARED, /* host memory that the server maps, too */
};

enum place memory_place(uint64_t address);

/* ---- memory.c: ranges of device addresses that the server has given out ---- */

enum range_kind {
	RANGE_ALLOC,    /* of cuMemAlloc: cuMemFree ends it */
	RANGE_POOL,     /* of a pool: cuMemFree and cuMemFreeAsync end it */
	RANGE_GLOBAL,   /* a module's variable */
	RANGE_RESERVED, /* addresses to map at */
	RANGE_FOREIGN,  /* memory of another process */
	RANGE_GRAPH,    /* memory of a graph: its launches allocate and free it any number of times */
	RANGE_IMPORTED, /* from a pool of another process: cuMemFree ends it; its size is not always known */
	RANGE_REST,     /* of a range that a newer one overlaps: only the server knows what is there */
};

/*
 * Enters a range that the server has given out; an address that cannot be is a protocol error.  What a new range leaves
 * of an older one stays known as the device's: addresses not known here are taken for host memory, and touched.
 */
CUresult memory_note(uint64_t address, size_t size, enum range_kind kind);
/* Removes the range of this kind that starts at `address`; *size (may be NULL) is its size.  False: there is none. */
bool memory_take(uint64_t address, enum range_kind kind, size_t *size);
bool memory_drop(uint64_t address, enum range_kind kind); /* the same, without the size */
bool memory_remove(uint64_t address);                     /* of any kind that cuMemFree ends */
void memory_forget(uint64_t context);                     /* all ranges of a context that has ended */
bool memory_of_graph(uint64_t address);                   /* whether a RANGE_GRAPH starts here */

/*
 * The attributes of an allocation are the same for all its addresses and as long as it lives.  *number names the
 * allocation that holds the address (0: none whose attributes may be kept); keep the attributes for that number only,
 * because the allocation may have ended while the server was asked.  With NULL for attributes, forgets them.
 */
bool memory_attributes(uint64_t address, struct wire_pointer *attributes, uint64_t *number);
void memory_keep_attributes(uint64_t address, uint64_t number, const struct wire_pointer *attributes);

/* Whether the device may read or write these bytes. */
enum range_check {
	RANGE_VALID,
	RANGE_INVALID, /* the call fails at once with CUDA_ERROR_INVALID_VALUE */
	RANGE_UNKNOWN, /* only the server knows */
};

enum range_check memory_check_range(uint64_t address, size_t size, bool write);

/* The result of a posted call on a checked range: CUDA reports an invalid range at once, so the server is asked. */
static inline CUresult memory_confirm(CUresult r, enum range_check check)
{
	return r || check != RANGE_UNKNOWN ? r : call_flush();
}

/* ---- array.c ---- */

size_t array_texel(CUarray array); /* bytes of a texel; 0: not known */

/* ---- mapping.c: what is mapped at reserved addresses ---- */

void mapping_add(uint64_t address, size_t size);
void mapping_remove(uint64_t address, size_t size);
void mapping_access(uint64_t address, size_t size, const CUmemAccessDesc *desc, size_t count);
/* Whether all of it is mapped, and the device has this access. */
bool mapping_allows(uint64_t address, size_t size, CUdevice device, bool write);
