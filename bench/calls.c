/*
 * What an exported function costs over calling its implementation: the trace and the choice of a
 * device must cost nothing once they are not happening.
 *
 *	bench/calls		with GANGWAY_DEVICE=null; again with GANGWAY_TRACE=/dev/null to see the trace
 *
 * Prints nanoseconds a call for cuDriverGetVersion through the library, and for a function of the
 * same size called once directly and once through a pointer.
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
