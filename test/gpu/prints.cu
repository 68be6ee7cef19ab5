// Kernel printf output, and the message and effect of a failed assertion: identical natively and through Gangway.
#include <cassert>
#include <cstdio>
#include <cuda_runtime.h>

__global__ void say(int n)
{
	printf("block %d thread %d of launch %d: %s %.3f\n", blockIdx.x, threadIdx.x, n, "text", n / 3.0);
}

__global__ void claim(int n)
{
	assert(n < 3);
}

int main()
{
	cudaStream_t streams[3];

	for (int i = 0; i < 3; i++) {
		cudaStreamCreate(&streams[i]);
		say<<<1, 2, 0, streams[i]>>>(i);
		cudaStreamSynchronize(streams[i]);
		printf("after launch %d\n", i);
	}
	say<<<2, 1>>>(3);
	cudaDeviceSynchronize();
	claim<<<1, 1>>>(2);
	printf("assertion that holds: %s\n", cudaGetErrorName(cudaDeviceSynchronize()));
	claim<<<1, 1>>>(3);
	printf("assertion that fails: %s\n", cudaGetErrorName(cudaDeviceSynchronize()));
	printf("calls after the failed assertion: %s\n", cudaGetErrorName(cudaFree(nullptr)));
	return 0;
}
