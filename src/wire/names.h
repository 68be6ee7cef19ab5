/* names.h - the name of every exported function, in the order of its table; generated from api/. */
#pragma once

extern const char *const cuda_names[];
extern const char *const nvml_names[];
