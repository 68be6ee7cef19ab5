/*
 * memop.h - waiting for and writing words of memory in stream order, as commands.
 */
#ifndef BACKEND_SOFT_MEMOP_H
#define BACKEND_SOFT_MEMOP_H

#include "backend/soft/core/soft.h"

/* Payload of COMMAND_MEMOP. */
struct memops {
	unsigned n;
	CUstreamBatchMemOpParams ops[];
};

#endif
