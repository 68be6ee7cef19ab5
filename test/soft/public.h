/*
 * public.h - the same tests as an application: soft_cuX is cuX of libcuda.so.1, on the device that it chooses.
 *
 * The other features of engine.h have no counterpart: GANGWAY_DEVICE_COUNT and GANGWAY_DEVICE_MEMORY configure the
 * device, and kernels are PTX.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include "abi/cuda.h"
#include "gen/cuda_protos.h"
#include "soft_public.h"

struct soft_config {
	int devices;
	unsigned long long memory;
	const char *visible;
	void (*context_ending)(CUcontext ctx);
};

static const int test_engine;

static inline CUcontext soft_current(void)
{
	CUcontext ctx = NULL;

	return cuCtxGetCurrent(&ctx) ? NULL : ctx;
}

#define kernels_do(fn) ((void)0)

/* Read a word of device memory at any time, through a stream that waits for no other. */
static inline uint32_t peek(CUdeviceptr p)
{
	uint32_t value = 0;
	CUstream aside;

	CHECK_EQ(cuStreamCreate(&aside, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
	CHECK_EQ(cuMemcpyDtoHAsync_v2(&value, p, 4, aside), CUDA_SUCCESS);
	CHECK_EQ(cuStreamSynchronize(aside), CUDA_SUCCESS);
	CHECK_EQ(cuStreamDestroy_v2(aside), CUDA_SUCCESS);
	return value;
}

static inline void poke(CUdeviceptr p, uint32_t value)
{
	CUstream aside;

	CHECK_EQ(cuStreamCreate(&aside, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
	CHECK_EQ(cuMemcpyHtoDAsync_v2(p, &value, 4, aside), CUDA_SUCCESS);
	CHECK_EQ(cuStreamSynchronize(aside), CUDA_SUCCESS);
	CHECK_EQ(cuStreamDestroy_v2(aside), CUDA_SUCCESS);
}

static inline CUresult soft_open(const int *engine, const struct soft_config *config)
{
	(void)engine;
	(void)config;
	return cuInit(0);
}
