/* The driver's target brings the toolkit's headers. */
#include <cuda.h>

int header(CUresult r);

int header(CUresult r)
{
	return r == CUDA_SUCCESS;
}
