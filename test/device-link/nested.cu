/* Kernels launch kernels: a sum over a tree of grids, stream order, and a launch error that the launching kernel reads. */
#include <cstdio>

__global__ void leaf(int *sum, int n)
{
	atomicAdd(sum, n * (threadIdx.x + 1));
}

__global__ void tree(int *sum, int depth)
{
	if (depth == 0)
		leaf<<<2, 4>>>(sum, 1);
	else if (threadIdx.x < 2)
		tree<<<1, 32>>>(sum, depth - 1);
}

__global__ void note(int *list, int n)
{
	list[++list[0]] = n;
}

__global__ void order(int *list)
{
	cudaStream_t s;

	cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking);
	note<<<1, 1, 0, cudaStreamTailLaunch>>>(list, 3);
	note<<<1, 1, 0, s>>>(list, 1);
	note<<<1, 1, 0, s>>>(list, 2);
	cudaStreamDestroy(s);
	leaf<<<1, 4096>>>(list + 8, 1); /* exceeds the limit of 1024 threads per block */
	list[9] = cudaGetLastError();
	list[10] = cudaGetLastError();
}

int main()
{
	int *p, failed = 0;

	cudaMallocManaged(&p, 256);
	tree<<<1, 1>>>(p, 3);
	failed |= cudaDeviceSynchronize() != cudaSuccess;
	/* 1 * 2 * 2 grids of depth 0 with 32 threads each; every thread launches leaves that add 2 * (1 + 2 + 3 + 4). */
	printf("tree %d\n", *p);
	failed |= *p != 2 * 2 * 32 * 20;
	cudaMemset(p, 0, 256);
	order<<<1, 1>>>(p);
	failed |= cudaDeviceSynchronize() != cudaSuccess;
	printf("order %d: %d %d %d, errors %d %d, %d\n", p[0], p[1], p[2], p[3], p[9], p[10], p[8]);
	failed |= p[0] != 3 || p[1] != 1 || p[2] != 2 || p[3] != 3 || !p[9] || p[10] || p[8];
	return failed;
}
