/*
 * public.h - the same tests as an application: soft_cuX is cuX of libcuda.so.1, on whatever device that finds.
 *
 * What engine.h offers besides has no counterpart here: the device is set up by GANGWAY_DEVICE_COUNT and
 * GANGWAY_DEVICE_MEMORY, and kernels are PTX.
 */
#pragma once

#include <stdbool.h>
#include "abi/cuda.h"
#include "gen/cuda_protos.h"
#include "soft_public.h"

struct soft_config {
	int devices;
	unsigned long long memory;
};

static const int test_engine;

static inline CUresult soft_open(const int *engine, const struct soft_config *config)
{
	(void)engine;
	(void)config;
	return CUDA_SUCCESS;
}
