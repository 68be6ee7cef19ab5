// CUB's block and device algorithms: the widest mix of forms a header library emits.
#include <cub/cub.cuh>

__global__ void block(int *a, unsigned *k)
{
	typedef cub::BlockRadixSort<unsigned, 128, 4> Sort;
	typedef cub::BlockScan<int, 128> Scan;
	typedef cub::BlockReduce<double, 128> Reduce;
	__shared__ union { typename Sort::TempStorage sort; typename Scan::TempStorage scan; typename Reduce::TempStorage red; } s;
	unsigned v[4];
	int sum;
	for (int i = 0; i < 4; i++)
		v[i] = k[threadIdx.x * 4 + i];
	Sort(s.sort).Sort(v);
	__syncthreads();
	Scan(s.scan).ExclusiveSum(a[threadIdx.x], sum);
	__syncthreads();
	a[threadIdx.x] = sum + (int)Reduce(s.red).Sum(sum * .5);
	for (int i = 0; i < 4; i++)
		k[threadIdx.x * 4 + i] = v[i];
}

void device(int *in, int *out, int n)
{
	size_t bytes = 0;
	cub::DeviceScan::ExclusiveSum(nullptr, bytes, in, out, n);
	cub::DeviceRadixSort::SortKeys(nullptr, bytes, in, out, n);
	cub::DeviceReduce::Sum(nullptr, bytes, in, out, n);
	cub::DeviceHistogram::HistogramEven(nullptr, bytes, in, out, 65, 0, 64, n);
}
