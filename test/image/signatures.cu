/* The kernels and variables that nvcc.c compiles and reads back; see signatures.h. */
#include "signatures.h"

#define K(name, members) extern "C" __global__ void name(members) {}
#define F(type, name) type name
#define P(type, name) , type name
ALL_SIGNATURES

__device__ int counter;
__device__ int first = 7;
__constant__ float coef[5];
__managed__ int everywhere = 3;
static __device__ char hidden[33];

extern "C" __global__ void nothing()
{
	counter++;
}

extern "C" __global__ void __launch_bounds__(128, 2) bounded(int *p)
{
	__shared__ int words[SHARED_WORDS];

	words[threadIdx.x] = p[0];
	__syncthreads();
	p[threadIdx.x] = words[threadIdx.x ^ 1] + first + coef[p[1]] + everywhere + hidden[p[2]]++;
}

#if __CUDA_ARCH__ >= 900
extern "C" __global__ void __cluster_dims__(2, 1, 1) clustered(int *p)
{
	*p = 1;
}
#endif
