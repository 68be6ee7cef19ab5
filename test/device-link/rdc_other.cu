/* Second translation unit of the rdc test. */
#include "rdc.h"

__device__ int counter = 7;
__constant__ float scale[4];
static __device__ int mine = 100;

struct square : shape {
	float side;
	__device__ square(float s) : side(s) {}
	__device__ float area() const override
	{
		return side * side;
	}
};

__device__ float twice(float x)
{
	return 2 * x;
}

static __device__ float triple(float x)
{
	return 3 * x;
}

__device__ function table[2] = {twice, triple};

__device__ shape *make(int kind, float side)
{
	__shared__ int scratch[32];

	scratch[threadIdx.x] = -1;
	return kind ? (shape *)new square(side) : new shape;
}

__device__ int other_mine()
{
	return mine + thrice(0);
}

__global__ void sum(int *out)
{
	*out = mine + counter;
}

void run_other(int *result)
{
	int *d;

	cudaMalloc(&d, sizeof *d);
	fill<int><<<1, 1>>>(d, 0);
	sum<<<1, 1>>>(d);
	cudaMemcpy(result, d, sizeof *d, cudaMemcpyDeviceToHost);
}
