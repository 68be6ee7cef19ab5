// A program with machine code for one GPU and without PTX: each launch must fail, and the program continues.
#include <cstdio>

__global__ void first_kernel(int *out)
{
	*out = 1;
}

__global__ void second_kernel(int *out)
{
	*out = 2;
}

int main(void)
{
	int *p = NULL;

	if (cudaMalloc(&p, 4) != cudaSuccess)
		return 1;
	for (int i = 0; i < 2; i++) {
		first_kernel<<<1, 1>>>(p);
		cudaError_t e = cudaGetLastError();
		printf("%d %s\n", e, cudaGetErrorString(e));
		if (e != cudaErrorNoKernelImageForDevice)
			return 1;
	}
	second_kernel<<<1, 1>>>(p);
	return cudaGetLastError() == cudaErrorNoKernelImageForDevice && cudaFree(p) == cudaSuccess ? 0 : 1;
}
