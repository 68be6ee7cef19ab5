/* Names and texts of CUresult. */
#include <stddef.h>
#include "abi/cuda.h"
#include "cuda/errors.h"

static const struct {
	int code;
	const char *name, *text;
} errors[] = {
#define ERROR(name, value, text) {value, #name, text},
#include "abi/errors.def"
#undef ERROR
};

static int error_find(int code)
{
	for (size_t i = 0; i < sizeof errors / sizeof *errors; i++)
		if (errors[i].code == code)
			return i;
	return -1;
}

const char *result_name(int code)
{
	int i = error_find(code);

	return i < 0 ? NULL : errors[i].name;
}

const char *result_text(int code)
{
	int i = error_find(code);

	return i < 0 ? NULL : errors[i].text;
}

bool result_is_sticky(int code)
{
	switch (code) {
	case CUDA_ERROR_ECC_UNCORRECTABLE:
	case CUDA_ERROR_NVLINK_UNCORRECTABLE:
	case CUDA_ERROR_CONTAINED:
	case CUDA_ERROR_ILLEGAL_ADDRESS:
	case CUDA_ERROR_LAUNCH_TIMEOUT:
	case CUDA_ERROR_ASSERT:
	case CUDA_ERROR_HARDWARE_STACK_ERROR:
	case CUDA_ERROR_ILLEGAL_INSTRUCTION:
	case CUDA_ERROR_MISALIGNED_ADDRESS:
	case CUDA_ERROR_INVALID_ADDRESS_SPACE:
	case CUDA_ERROR_INVALID_PC:
	case CUDA_ERROR_LAUNCH_FAILED:
	case CUDA_ERROR_TENSOR_MEMORY_LEAK:
		return true;
	default:
		return false;
	}
}
