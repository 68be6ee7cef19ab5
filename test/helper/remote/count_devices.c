/* Prints the result of cuInit and the number of devices. */
#include <stdio.h>
#include "abi/cuda.h"
#include "gen/cuda_protos.h"

int main(void)
{
	CUresult r = cuInit(0);
	int n = 0;

	if (!r)
		r = cuDeviceGetCount(&n);
	printf("%d %d\n", r, n);
	return 0;
}
