/* share.h - memory and pools as descriptors (vmm.c). */
#pragma once

#include <fcntl.h>
#include "backend/remote/session/remote.h"

/* The descriptor is the caller's; *fd is an int. */
CUresult share_out(void *fd, uint64_t object, bool pool, unsigned type, unsigned long long flags);
CUresult share_in(uint64_t *object, void *os, bool pool, unsigned type, unsigned long long flags);
