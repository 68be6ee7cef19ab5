/*
 * The cost of an exported function compared with a direct call of its implementation. Tracing and device
 * selection must cost nothing when they are inactive.
 *
 *	bench/calls		with GANGWAY_DEVICE=null; again with GANGWAY_TRACE=/dev/null to see the trace
 *
 * Prints nanoseconds per call for cuDriverGetVersion through the library, and for a function of the same size
 * called directly and through a pointer.
 */
#include <stdio.h>
#include <time.h>
#include "abi/cuda.h"
#include "gen/cuda_protos.h"

#define CALLS 20000000

static __attribute__((noinline)) CUresult here(int *version)
{
	if (!version)
		return CUDA_ERROR_INVALID_VALUE;
	*version = 13000;
	__asm__ volatile("");
	return CUDA_SUCCESS;
}

static double measure(CUresult (*f)(int *))
{
	struct timespec a, b;
	double best = 1e9;
	int v;

	for (int round = 0; round < 7; round++) {
		clock_gettime(CLOCK_MONOTONIC, &a);
		for (int i = 0; i < CALLS / 7; i++) {
			f(&v);
			__asm__ volatile("" ::: "memory");
		}
		clock_gettime(CLOCK_MONOTONIC, &b);
		double ns = ((b.tv_sec - a.tv_sec) * 1e9 + (b.tv_nsec - a.tv_nsec)) / (CALLS / 7);
		best = ns < best ? ns : best;
	}
	return best;
}

int main(void)
{
	CUresult (*volatile direct)(int *) = here;
	CUresult (*volatile exported)(int *) = cuDriverGetVersion;
	int v;

	cuDriverGetVersion(&v);
	double a = measure(direct), b = measure(exported);
	printf("function_ns %.2f\nexported_ns %.2f\ndifference_ns %.2f\n", a, b, b - a);
	return 0;
}
