/*
 * main returns while other threads copy and launch: the process must exit promptly, with main's status and without a crash.
 */
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>
#include "abi/cuda.h"
#include "gen/cuda_protos.h"
#include "test/check.h"

static const char ptx[] = ".version 6.0\n.target sm_50\n.address_size 64\n.visible .entry nothing()\n{\n	"
			  "ret;\n}\n";

static CUcontext context;
static CUfunction function;
static CUdeviceptr memory;

static void *busy(void *arg)
{
	char bytes[4096] = {0};
	CUdeviceptr mine = memory + (uintptr_t)arg * sizeof bytes;

	cuCtxSetCurrent(context);
	for (;;) {
		cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL);
		cuMemcpyHtoD_v2(mine, bytes, sizeof bytes);
		cuCtxSynchronize();
	}
	return NULL;
}

/* Runs after main returns, while the threads still copy and launch. */
static void last(void)
{
	char bytes[64];

	CHECK_EQ(cuMemcpyDtoH_v2(bytes, memory, sizeof bytes), CUDA_SUCCESS);
	CHECK_EQ(cuCtxSynchronize(), CUDA_SUCCESS);
	if (failures)
		_exit(1);
}

int main(void)
{
	CUmodule module;
	pthread_t t;

	atexit(last);
	CHECK_EQ(cuInit(0), CUDA_SUCCESS);
	CHECK_EQ(cuDevicePrimaryCtxRetain(&context, 0), CUDA_SUCCESS);
	CHECK_EQ(cuCtxSetCurrent(context), CUDA_SUCCESS);
	CHECK_EQ(cuMemAlloc_v2(&memory, 5 * 4096), CUDA_SUCCESS);
	CHECK_EQ(cuModuleLoadData(&module, ptx), CUDA_SUCCESS);
	CHECK_EQ(cuModuleGetFunction(&function, module, "nothing"), CUDA_SUCCESS);
	for (uintptr_t i = 1; i <= 4; i++)
		CHECK_EQ(pthread_create(&t, NULL, busy, (void *)i), 0);
	usleep(50000);
	return RESULT();
}
