/* The last error of each thread, and names and texts of errors. */
#include "cudart/runtime.h"

static _Thread_local cudaError_t last_error;

cudaError_t error_note(cudaError_t e)
{
	if (e)
		last_error = e;
	return e;
}

cudaError_t rt_cudaGetLastError(void)
{
	cudaError_t e = last_error;

	last_error = cudaSuccess;
	return e;
}

cudaError_t rt_cudaPeekAtLastError(void)
{
	return last_error;
}

const char *rt_cudaGetErrorName(cudaError_t error)
{
	switch (error) {
#define ERROR(name, value, text) \
	case value: \
		return #name;
#include "abi/cudart_errors.def"
	}
	return "unrecognized error code";
}

const char *rt_cudaGetErrorString(cudaError_t error)
{
	switch (error) {
#define ERROR(name, value, text) \
	case value: \
		return text;
#include "abi/cudart_errors.def"
	}
	return "unrecognized error code";
}
