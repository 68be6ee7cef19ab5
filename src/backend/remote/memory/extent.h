/*
 * extent.h - pages that the worker has mapped at the addresses of registered memory (extent.c).
 *
 * The worker maps whole pages; registered memory may begin and end inside one.  An extent is a run of pages that was mapped
 * at once.  Registrations whose first or last page is the same share the extent that holds it.  On one host an extent is
 * a memfd, and the client maps it a second time, as the shadow of the extent: the client's own pages stay what they are.
 *
 * All functions are called with the register lock held.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "abi/cuda.h"

/* The pages of one registration. */
struct host_pages {
	uint64_t from, to;               /* whole pages; equal: the worker has none of them */
	uint64_t shared_from, shared_to; /* the pages of the client that were replaced by the worker's */
	uint64_t split[2];               /* addresses inside where one extent ends and the next one begins; 0: none */
};

/* Has the worker map the pages from p->from to p->to that it does not have yet. */
CUresult extents_take(struct host_pages *p);
CUresult extents_release(const struct host_pages *p);
/* No further pages of these extents will be replaced. */
void extents_settle(const struct host_pages *p);

/* The end of the extent that holds the address. */
uint64_t extent_end(uint64_t address);
/* Where the client maps the worker's copy of this byte.  NULL over TCP. */
uint8_t *extent_shadow(uint64_t address);
/* Whether other registrations use the extent, or did: the worker's pages may hold bytes of theirs. */
bool extent_used_before(uint64_t address);

/* Replaces the client's pages by the worker's, with the same contents.  False: nothing has changed. */
bool extent_replace_pages(uint64_t from, uint64_t to);
