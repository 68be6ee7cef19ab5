/* trace_cuda.h - libcuda's traced table: prints a call and hands it on to trace_behind. */
#pragma once

#include "gen/cuda_ops.h"

extern const struct cuda_ops *trace_behind;
extern const struct cuda_ops cuda_trace_ops;
