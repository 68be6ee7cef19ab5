/* trace_nvml.h - libnvidia-ml's traced table: prints a call and hands it on to nvml_trace_behind. */
#pragma once

#include "gen/nvml_ops.h"

extern _Atomic(const struct nvml_ops *) nvml_trace_behind; /* changes with nvmlInit and nvmlShutdown */
extern const struct nvml_ops nvml_trace_ops;
