/* The exported functions of libnvidia-ml.so.1: generated, one indirect jump each. */
#include "front/nvml/front.h"

#define PUBLIC __attribute__((visibility("default")))
#define NOW    atomic_load_explicit(&nvml_now, memory_order_acquire)
#define START  nvml_start

#pragma GCC diagnostic ignored "-Wmissing-prototypes" /* applications use NVIDIA's header */
#include "gen/nvml_exports.inc"
