/* What libnvidia-ml.so.1 exports: generated, one indirect jump each. */
#include "front/nvml/front.h"

#define PUBLIC __attribute__((visibility("default")))
#define NOW    atomic_load_explicit(&nvml_now, memory_order_acquire)
#define START  nvml_start

#pragma GCC diagnostic ignored "-Wmissing-prototypes" /* their callers have NVIDIA's header */
#include "gen/nvml_exports.inc"
