/*
 * device.h - for test programs of the driver API whose kernels are PTX, on the CPU device.
 *
 * The programs link libcuda.so.1 as an application does; ctest sets GANGWAY_DEVICE=cpu.
 */
#pragma once

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include "abi/cuda.h"
#include "gen/cuda_protos.h"
#include "test/check.h"

/* The first lines of every PTX text in these tests. */
#define PTX ".version 7.0\n.target sm_50\n.address_size 64\n"

static inline CUcontext device_start(void)
{
	CUcontext ctx = NULL;
	CUdevice dev;

	OK(cuInit(0));
	OK(cuDeviceGet(&dev, 0));
	OK(cuCtxCreate_v2(&ctx, 0, dev));
	if (!ctx)
		exit(1);
	return ctx;
}

/* Load a text and find a kernel in it; the module stays loaded as long as the context exists. */
static inline CUfunction device_kernel(const char *text, const char *name)
{
	char log[1024] = "";
	CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
	void *values[] = {log, (void *)sizeof log};
	CUfunction f = NULL;
	CUmodule m = NULL;
	CUresult r = cuModuleLoadDataEx(&m, text, 2, options, values);

	if (r)
		fprintf(stderr, "%s: %d: %s\n", name, r, log);
	OK(r);
	OK(cuModuleGetFunction(&f, m, name));
	return f;
}

static inline CUresult device_launch(CUfunction f, unsigned grid, unsigned block, CUstream s, void **args)
{
	return cuLaunchKernel(f, grid, 1, 1, block, 1, 1, 0, s, args, NULL);
}
