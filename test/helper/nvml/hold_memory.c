/* hold_memory MIB FILE: allocates MIB MiB on device 0, creates FILE, and waits to be killed. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include "abi/cuda.h"
#include "gen/cuda_protos.h"

int main(int argc, char **argv)
{
	CUcontext context;
	CUdeviceptr p;

	if (argc != 3 || cuInit(0) || cuCtxCreate_v2(&context, 0, 0) || cuMemAlloc_v2(&p, (size_t)atoi(argv[1]) << 20))
		return 1;
	if (close(open(argv[2], O_WRONLY | O_CREAT, 0600)))
		return 1;
	for (;;)
		pause();
}
