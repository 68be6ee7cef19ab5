/* nvml_errors.h - names and texts of nvmlReturn_t, from abi/nvml_errors.def. */
#pragma once

const char *nvml_result_name(int code);  /* "NVML_ERROR_NOT_FOUND"; NULL if unknown */
const char *nvml_result_words(int code); /* "Not Found"; never NULL */
