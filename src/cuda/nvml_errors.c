/* Names and texts of nvmlReturn_t. */
#include <stddef.h>
#include "abi/nvml.h"
#include "cuda/nvml_errors.h"

const char *nvml_result_name(int code)
{
	switch (code) {
#define NVML_RESULT(name, value, words) \
	case value: \
		return #name;
#include "abi/nvml_errors.def"
#undef NVML_RESULT
	default:
		return NULL;
	}
}

const char *nvml_result_words(int code)
{
	switch (code) {
#define NVML_RESULT(name, value, words) \
	case value: \
		return words;
#include "abi/nvml_errors.def"
#undef NVML_RESULT
	default:
		return nvml_result_words(NVML_ERROR_UNKNOWN);
	}
}
