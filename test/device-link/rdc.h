/* Declarations shared by rdc.cu and rdc_other.cu. */
#pragma once

struct shape {
	__device__ virtual float area() const;
	__device__ virtual ~shape()
	{
	}
};

typedef float (*function)(float);

extern __device__ int counter;
extern __constant__ float scale[4];
extern __device__ function table[2];
__device__ float twice(float x);
__device__ shape *make(int kind, float side);
__device__ int other_mine();
void run_other(int *result);

/* Both translation units instantiate this kernel; the linker keeps one copy. */
template <class T> __global__ void fill(T *p, T v)
{
	p[threadIdx.x] = v;
}

__device__ __noinline__ inline int thrice(int x)
{
	return x * 3;
}
