/*
 * Correct kernels of the runtime API, from CUB and cooperative groups: the checked mode must not report anything.
 * With an argument, a kernel writes past its memory, so that the report must name the source line.
 */
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cstdio>
#include <cub/cub.cuh>
#include <vector>

namespace cg = cooperative_groups;

constexpr int N = 20000, THREADS = 128, TILE = 16;

#define OK(call) \
	do { \
		cudaError_t e_ = (call); \
		if (e_ != cudaSuccess) { \
			printf("%s: %s\n", #call, cudaGetErrorString(e_)); \
			return 1; \
		} \
	} while (0)

template <typename F> static cudaError_t with_storage(F run)
{
	void *storage = nullptr;
	size_t bytes = 0;
	cudaError_t e = run(storage, bytes);

	if (!e)
		e = cudaMalloc(&storage, bytes);
	if (!e)
		e = run(storage, bytes);
	return e ? e : cudaFree(storage);
}

__global__ void block_sum(const int *in, int *out, int n)
{
	typedef cub::BlockReduce<int, THREADS> reduce;
	__shared__ typename reduce::TempStorage storage;
	int i = blockIdx.x * THREADS + threadIdx.x, sum = reduce(storage).Sum(i < n ? in[i] : 0);

	if (!threadIdx.x)
		atomicAdd(out, sum);
}

/* The classic reduction: strided in shared memory, then a tile of a warp. */
__global__ void group_sum(const int *in, int *out, int n)
{
	extern __shared__ int part[];
	cg::thread_block block = cg::this_thread_block();
	cg::thread_block_tile<32> tile = cg::tiled_partition<32>(block);
	int t = threadIdx.x, i = blockIdx.x * THREADS + t;

	part[t] = i < n ? in[i] : 0;
	block.sync();
	for (int step = THREADS / 2; step >= 32; step /= 2) {
		if (t < step)
			part[t] += part[t + step];
		block.sync();
	}
	if (t < 32) {
		int sum = cg::reduce(tile, part[t], cg::plus<int>());

		if (!t)
			atomicAdd(out, sum);
	}
}

__global__ void transpose(const int *in, int *out)
{
	__shared__ int tile[TILE][TILE + 1];

	tile[threadIdx.y][threadIdx.x] = in[threadIdx.y * TILE + threadIdx.x];
	__syncthreads();
	out[threadIdx.y * TILE + threadIdx.x] = tile[threadIdx.x][threadIdx.y];
}

__global__ void broken(int *out, int n)
{
	out[threadIdx.x + n] = 1; /* line 81 */
}

int main(int argc, char **argv)
{
	std::vector<int> host(N);
	int *in, *out, *result, blocks = (N + THREADS - 1) / THREADS, sum = 0, got[4];

	for (int i = 0; i < N; i++)
		sum += host[i] = i * 7919 % 1000;
	OK(cudaMalloc(&in, N * sizeof(int)));
	OK(cudaMalloc(&out, N * sizeof(int)));
	OK(cudaMalloc(&result, 4 * sizeof(int)));
	OK(cudaMemcpy(in, host.data(), N * sizeof(int), cudaMemcpyHostToDevice));
	OK(cudaMemset(result, 0, 4 * sizeof(int)));
	if (argc > 1) {
		broken<<<1, 32>>>(result, 4);
		return cudaDeviceSynchronize() == cudaErrorIllegalAddress ? 0 : 1;
	}
	OK(with_storage([&](void *s, size_t &n) { return cub::DeviceReduce::Sum(s, n, in, result, N); }));
	OK(with_storage([&](void *s, size_t &n) { return cub::DeviceScan::InclusiveSum(s, n, in, out, N); }));
	OK(cudaMemcpy(result + 1, out + N - 1, sizeof(int), cudaMemcpyDeviceToDevice));
	block_sum<<<blocks, THREADS>>>(in, result + 2, N);
	group_sum<<<blocks, THREADS, THREADS * sizeof(int)>>>(in, result + 3, N);
	transpose<<<1, dim3(TILE, TILE)>>>(in, out);
	OK(cudaMemcpy(got, result, sizeof got, cudaMemcpyDeviceToHost));
	OK(cudaFree(in));
	OK(cudaFree(out));
	OK(cudaFree(result));
	for (int i = 0; i < 4; i++)
		if (got[i] != sum) {
			printf("sum %d is %d, not %d\n", i, got[i], sum);
			return 1;
		}
	return 0;
}
