/* errors.h - names and sentences of CUresult, from abi/errors.def. */
#pragma once

#include <stdbool.h>

const char *result_name(int code); /* "CUDA_ERROR_INVALID_VALUE"; NULL: not one of CUDA's */
const char *result_text(int code);

bool result_sticks(int code); /* a context in which this has happened answers it ever after */
