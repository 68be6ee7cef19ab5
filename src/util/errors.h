/* errors.h - names and sentences of CUresult, from abi/errors.def. */
#pragma once

const char *result_name(int code); /* "CUDA_ERROR_INVALID_VALUE"; NULL: not one of CUDA's */
const char *result_text(int code);
