/*
 * wait_value.h - commands that wait for or write a value in memory, in stream order.
 */
#pragma once

#include "backend/soft/core/soft.h"

/* Payload of COMMAND_MEMOP. */
struct memops {
	unsigned n;
	bool check; /* in a graph: the memory may be freed before the command runs */
	CUstreamBatchMemOpParams ops[];
};
