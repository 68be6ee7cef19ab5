/*
 * launch.h - kernel launches as commands of a stream.
 */
#pragma once

#include "backend/soft/code/module.h"

/* Payload of COMMAND_LAUNCH. */
struct kernel_launch {
	struct function *function; /* referenced */
	unsigned grid[3], block[3], cluster[3];
	unsigned flags; /* LAUNCH_* */
	size_t shared;
	size_t params_size;
	unsigned char params[];
};

extern const struct command_ops command_launch;

/* Checks shape and limits: CUDA_SUCCESS, or the error that the launch returns. */
CUresult launch_check(const struct function *f, const struct kernel_launch *l);

/*
 * Creates a checked launch command with a copy of the parameters, given in params or extra as with cuLaunchKernel.  The
 * command references f.
 */
CUresult launch_command(
	struct function *f, const struct kernel_launch *shape, void **params, void **extra, struct command **c);

/* cuLaunchKernel with everything but the parameters in `shape`.  A cluster of 0: the kernel's default. */
CUresult launch_kernel(CUfunction handle, CUstream stream, struct kernel_launch *shape, void **params, void **extra);

/* Number of blocks of this many threads that a multiprocessor holds at once. */
unsigned launch_occupancy(const struct function *f, unsigned threads, size_t dynamic);
