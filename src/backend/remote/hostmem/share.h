/* share.h - passes allocations and pools between processes as descriptors (vmm.c). */
#pragma once

#include <fcntl.h>
#include "backend/remote/session/remote.h"

/* Writes a descriptor of the object to *fd, an int; the caller closes it.  pool: the object is a pool, not an allocation. */
CUresult share_out(void *fd, uint64_t object, bool pool, unsigned type, unsigned long long flags);
/* The object of a descriptor, which stays the caller's. */
CUresult share_in(uint64_t *object, void *os, bool pool, unsigned type, unsigned long long flags);
