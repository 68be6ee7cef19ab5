/*
 * Two translation units with relocatable device code (-rdc=true). One unit uses functions, variables, constants,
 * function pointers and virtual functions of the other. Static names and shared memory stay private to each unit.
 */
#include <cstdio>

#include "rdc.h"

static __device__ int mine = 5;
extern __shared__ float dynamic[];

__device__ float shape::area() const
{
	return 0;
}

__global__ void all(float *out)
{
	__shared__ int fixed[32];
	int i = threadIdx.x;

	fixed[i] = i;
	dynamic[i] = twice(scale[i & 3]);
	__syncthreads();
	atomicAdd(&counter, 1);
	shape *s = make(i & 1, 3);
	out[i] = dynamic[31 - i] + table[i & 1](1) + s->area() + other_mine() + mine + thrice(fixed[i]);
	delete s;
}

static float expected(int i)
{
	return 2 * ((31 - i) % 4 + 1) + (i & 1 ? 3 : 2) + (i & 1 ? 9 : 0) + 100 + 5 + 3 * i;
}

int main()
{
	const float values[4] = {1, 2, 3, 4};
	float *d, got[32];
	int n = 0, other = 0, bad = 0;

	cudaMalloc(&d, sizeof got);
	cudaMemcpyToSymbol(scale, values, sizeof values);
	all<<<1, 32, sizeof got>>>(d);
	cudaError_t e = cudaMemcpy(got, d, sizeof got, cudaMemcpyDeviceToHost);
	if (e) {
		printf("%s\n", cudaGetErrorString(e));
		return 1;
	}
	for (int i = 0; i < 32; i++)
		if (got[i] != expected(i)) {
			printf("lane %d: got %g, expected %g\n", i, got[i], expected(i));
			bad = 1;
		}
	fill<float><<<1, 32>>>(d, 7);
	cudaMemcpy(got, d, sizeof got, cudaMemcpyDeviceToHost);
	cudaMemcpyFromSymbol(&n, counter, sizeof n);
	run_other(&other);
	if (got[31] != 7 || n != 39 || other != 139) {
		printf("fill %g, counter %d, other %d\n", got[31], n, other);
		bad = 1;
	}
	return bad;
}
