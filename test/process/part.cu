/* Second translation unit of the runtime test; the runtime registers its kernel and variables separately. */
#include "runtime.h"

#ifdef RDC
__device__ int part_counter = 5;
__device__ int part_twice(int x)
{
	return 2 * x;
}
#endif

static __device__ int hidden[4] = {1, 2, 3, 4};
static __constant__ short table[3] = {10, 20, 30};

/* Return the number of failures in this file since the last call. */
static int take_failures(void)
{
	int n = failures;

	failures = 0;
	return n;
}

static __global__ void part_kernel(int *out, int value)
{
	out[threadIdx.x] = value + hidden[threadIdx.x & 3] + table[threadIdx.x % 3];
}

int part_launch(int *out, int value, cudaStream_t stream)
{
	struct {
		int *out;
		int value;
	} p = {out, value};
	int back[32];

	part_kernel<<<1, 32, 0, stream>>>(out, value);
	OK(cudaGetLastError());
	expect_launch("part_kernel", 1, 1, 1, 32, 1, 1, &p, 12);
	OK(cudaMemcpyAsync(back, out, sizeof back, cudaMemcpyDeviceToHost, stream));
	OK(cudaStreamSynchronize(stream));
	for (int i = 0; i < 32 && expect_results(); i++)
		CHECK_EQ(back[i], value + 1 + (i & 3) + 10 + 10 * (i % 3));
	return take_failures();
}

int part_variables(void)
{
	int values[4] = {0}, more[4] = {9, 8, 7, 6};
	size_t size = 0;
	void *at = NULL;

	OK(cudaGetSymbolSize(&size, hidden));
	CHECK_EQ(size, sizeof values);
	OK(cudaGetSymbolAddress(&at, hidden));
	CHECK(at != NULL);
	OK(cudaMemcpyFromSymbol(values, hidden, sizeof values));
	if (expect_results())
		CHECK(values[0] == 1 && values[3] == 4);
	OK(cudaMemcpyToSymbol(hidden, more, sizeof more));
	OK(cudaMemcpyFromSymbol(values, hidden, sizeof values));
	CHECK(!memcmp(values, more, sizeof more));
	more[0] = 1, more[1] = 2, more[2] = 3, more[3] = 4;
	OK(cudaMemcpyToSymbol(hidden, more, sizeof more));
	return take_failures();
}

int part_check_launches(void)
{
	return check_launches();
}
