// Output of kernels that are linked as device code (nvcc -rdc=true), and of kernels that kernels launch: identical natively
// and through Gangway.
#include <cstdio>
#include <cuda_runtime.h>

__global__ void child(int n)
{
	printf("child of launch %d\n", n);
}

__global__ void parent(int n)
{
	printf("launch %d\n", n);
	child<<<1, 1>>>(n);
}

__global__ void silent_parent(int n)
{
	child<<<1, 1>>>(n);
}

int main()
{
	cudaStream_t stream;

	cudaStreamCreate(&stream);
	for (int i = 0; i < 2; i++) {
		parent<<<1, 1, 0, stream>>>(i);
		cudaStreamSynchronize(stream);
		printf("after launch %d\n", i);
	}
	silent_parent<<<1, 1>>>(2);
	printf("%s\n", cudaGetErrorName(cudaDeviceSynchronize()));
	return 0;
}
