/*
 * advice.h - the advice that an application gave for an allocation of managed memory, page by page.
 *
 *	spans	| 0: state | 4096: state | 65536: state |	each up to the start of the next
 *
 * A zeroed struct advice has no advice. Offsets count from the start of the allocation; the caller has checked that
 * from + size is inside it, and holds the lock that protects it.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "abi/cuda.h"

#define ADVICE_PREFETCHED 0 /* in addition to the values of CUmem_advise */

struct advice_state {
	bool read_mostly;
	bool host;                           /* accessed by the host */
	uint64_t devices;                    /* bit mask of devices that access it */
	CUmemLocation preferred, prefetched; /* type 0 if unset */
};

struct advice {
	size_t n;
	struct advice_span *span;
};

void advice_finish(struct advice *a);

/* Record advice for a part of an allocation of `length` bytes. Returns 0 or -ENOMEM. */
int advice_change(struct advice *a, uint64_t length, uint64_t from, uint64_t size, int what, CUmemLocation location);

/* Returns the advice that all pages of a part have in common. */
struct advice_state advice_of_range(const struct advice *a, uint64_t length, uint64_t from, uint64_t size);

/* Write one attribute as cuMemRangeGetAttribute does. */
CUresult advice_attribute(const struct advice_state *s, int *data, size_t size, CUmem_range_attribute attribute);

/*
 * Normalise a location: one of `devices` devices (at most 64), or the host, whose id is -1 except for a NUMA node.
 * Returns false if there is no such location.
 */
bool advice_location(CUmemLocation *l, int devices);

/* The same for a CUdevice, as the older calls use it. */
bool advice_location_of(CUdevice dev, int devices, CUmemLocation *l);

/* Does this advice have a location? */
bool advice_has_location(CUmem_advise advice);

/* Check the locations of a batch: indices[i] is the first range that goes to locations[i]. */
bool advice_locations_ok(const CUmemLocation *locations, const size_t *indices, size_t n, size_t count, int devices);
