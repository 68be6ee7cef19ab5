/* Calls of class local that need no other file: cuInit, cuDriverGetVersion, error names; and the table of all of them. */
#include "front/front.h"
#include "cuda/errors.h"

#include "gen/front_table.inc"

CUresult front_cuInit(unsigned int flags)
{
	const struct cuda_ops *b = front_backend_ops();
	CUresult r = flags ? CUDA_ERROR_INVALID_VALUE : b->cuInit ? b->cuInit(flags) : CUDA_SUCCESS;

	if (r == CUDA_SUCCESS)
		front_initialised();
	return r;
}

CUresult front_cuDriverGetVersion(int *version)
{
	if (!version)
		return CUDA_ERROR_INVALID_VALUE;
	*version = FRONT_CUDA_VERSION;
	return CUDA_SUCCESS;
}

static CUresult return_text(const char **out, const char *text)
{
	if (!out)
		return CUDA_ERROR_INVALID_VALUE;
	*out = text;
	return text ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult front_cuGetErrorName(CUresult error, const char **pStr)
{
	return return_text(pStr, result_name(error));
}

CUresult front_cuGetErrorString(CUresult error, const char **pStr)
{
	return return_text(pStr, result_text(error));
}
