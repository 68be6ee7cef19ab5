/*
 * wait_value.h - commands that wait for or write a value in memory, in stream order.
 */
#pragma once

#include "backend/soft/core/soft.h"

/* Payload of COMMAND_MEMOP. */
struct memops {
	unsigned n;
	CUstreamBatchMemOpParams ops[];
};
