/*
 * advice.h - what an application has advised about one piece of managed memory, page by page, to be asked
 *back.
 *
 *	spans	| 0: state | 4096: state | 65536: state |	each up to the start of the next
 *
 * A zeroed struct advice is memory nobody has said anything about.  Offsets count from the memory's start;
 *the caller has checked that from + size is inside it, and holds the lock that covers it.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "abi/cuda.h"

#define ADVICE_PREFETCHED 0 /* beside the values of CUmem_advise */

struct advice_state {
	bool read_mostly;
	bool host;                           /* accessed by the host */
	uint64_t devices;                    /* and by these */
	CUmemLocation preferred, prefetched; /* type 0: none */
};

struct advice {
	size_t n;
	struct advice_span *span;
};

void advice_free(struct advice *a); /* what it holds, not a itself */

/* length: of the memory.  0 or -ENOMEM. */
int advice_change(struct advice *a, uint64_t length, uint64_t from, uint64_t size, int what, CUmemLocation location);

/* What all pages of a part have in common. */
struct advice_state advice_look(const struct advice *a, uint64_t length, uint64_t from, uint64_t size);

/* One attribute, as cuMemRangeGetAttribute writes it. */
CUresult advice_answer(const struct advice_state *s, int *data, size_t size, CUmem_range_attribute attribute);

/*
 * Bring a location into the form in which it is kept: one of so many devices (64 at most), or the host, whose
 * number is -1 unless it is a node's.  False: there is no such place.
 */
bool advice_location(CUmemLocation *l, int devices);

/* The same, of the older calls' way to say it. */
bool advice_location_of(CUdevice dev, int devices, CUmemLocation *l);

/* Whether this advice says something about a place. */
bool advice_has_location(CUmem_advise advice);

/* Of a batch: indices[i] is the first range that goes to locations[i]. */
bool advice_locations_ok(const CUmemLocation *locations, const size_t *indices, size_t n, size_t count, int devices);
