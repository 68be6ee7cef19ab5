/*
 * memop.h - waiting for and writing words of memory in stream order, as commands.
 */
#pragma once

#include "backend/soft/core/soft.h"

/* Payload of COMMAND_MEMOP. */
struct memops {
	unsigned n;
	CUstreamBatchMemOpParams ops[];
};
