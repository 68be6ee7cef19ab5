/* errors.h - names and texts of CUresult, from abi/errors.def. */
#pragma once

#include <stdbool.h>

const char *result_name(int code); /* "CUDA_ERROR_INVALID_VALUE"; NULL if unknown */
const char *result_text(int code);

bool result_is_sticky(int code); /* does the context keep this error for the rest of its life? */
