/* Prints the result of cuInit, for devices.sh. */
#include <stdio.h>
#include "abi/cuda.h"
#include "gen/cuda_protos.h"

int main(void)
{
	printf("%d\n", cuInit(0));
	return 0;
}
