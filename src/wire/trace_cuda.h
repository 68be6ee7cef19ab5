/* trace_cuda.h - the traced table of libcuda: prints each call and passes it on to trace_behind. */
#pragma once

#include "gen/cuda_ops.h"

extern _Atomic(const struct cuda_ops *) trace_behind; /* changes with cuInit */
extern const struct cuda_ops cuda_trace_ops;
