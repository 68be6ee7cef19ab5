/* trace_cuda.h - the traced table of libcuda: prints each call and passes it on to trace_behind. */
#pragma once

#include "gen/cuda_ops.h"

extern const struct cuda_ops *trace_behind;
extern const struct cuda_ops cuda_trace_ops;
