/* CUDA::cuda_driver adds the toolkit's include folder. */
#include <cuda.h>

int header(CUresult r);

int header(CUresult r)
{
	return r == CUDA_SUCCESS;
}
