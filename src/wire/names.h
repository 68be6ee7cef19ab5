/* names.h - the name of every exported function, in the order of struct cuda_ops; made from api/cuda.api. */
#pragma once

extern const char *const cuda_names[];
