/* The exported functions of libcuda.so.1: generated, one indirect jump each. */
#include "front/front.h"

#define PUBLIC __attribute__((visibility("default")))
#define NOW    atomic_load_explicit(&front_now, memory_order_acquire)
#define START  front_start

#include "gen/cuda_exports.inc"
