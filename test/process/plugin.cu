/* A shared object with its own static runtime; two.c loads two of them into one process. */
#include "runtime.h"

__device__ int mine = sizeof WHO + WHO[0];

__global__ void stamp(int *out, int value, int lane)
{
	out[lane] = value + mine;
}

/* Returns the number of failures. *pointer receives device memory that the other plug-in may read. */
extern "C" int plugin_run(int value, int **pointer)
{
	struct {
		int *out;
		int value, lane;
	} p;
	int in[128], out[128] = {0};

	for (int i = 0; i < 128; i++)
		in[i] = value * 1000 + i;
	OK(cudaMalloc(&p.out, sizeof in));
	OK(cudaMemcpy(p.out, in, sizeof in, cudaMemcpyHostToDevice));
	OK(cudaMemcpy(out, p.out, sizeof out, cudaMemcpyDeviceToHost));
	CHECK(!memcmp(in, out, sizeof in));
	p.value = value, p.lane = 3;
	stamp<<<2, 1>>>(p.out, p.value, p.lane);
	OK(cudaDeviceSynchronize());
	expect_launch("stamp", 2, 1, 1, 1, 1, 1, &p, sizeof p);
	OK(cudaMemcpy(out, p.out, sizeof out, cudaMemcpyDeviceToHost));
	if (expect_results())
		CHECK_EQ(out[3], value + (int)sizeof WHO + WHO[0]);
	*pointer = p.out;
	printf("plugin %s: ran with %d\n", WHO, value);
	return failures + check_launches();
}

extern "C" int plugin_read(int *pointer, int lane)
{
	int value = -1;

	OK(cudaMemcpy(&value, pointer + lane, sizeof value, cudaMemcpyDeviceToHost));
	return value;
}

extern "C" int plugin_free(int *pointer)
{
	OK(cudaFree(pointer));
	return failures;
}
