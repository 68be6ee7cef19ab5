/* hostmem.h - host memory that client and worker map at the same address. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include "abi/cuda.h"

struct session;

/* Is all of the range memory that this session shares with its client? */
bool hostmem_holds(struct session *s, uint64_t address, uint64_t size);

/*
 * Did the registration of the memory at the address end with its context? The memory is pageable then: a graph must not
 * name it, because the driver would not notice that it is unmapped later.
 */
bool hostmem_pageable(struct session *s, uint64_t address);
void hostmem_context_ended(struct session *s, CUcontext context);
