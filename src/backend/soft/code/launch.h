/*
 * launch.h - kernel launches, as commands.
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

/* Check shape and limits: CUDA_SUCCESS, or what the launch would answer. */
CUresult launch_check(const struct function *f, const struct kernel_launch *l);

/*
 * A command for this shape with the parameters copied in; params or extra as cuLaunchKernel has them.
 * Checked, and f referenced by it.
 */
CUresult launch_command(
	struct function *f, const struct kernel_launch *shape, void **params, void **extra, struct command **c);

/* How many such blocks a multiprocessor holds at once. */
unsigned launch_occupancy(const struct function *f, unsigned threads, size_t dynamic);
