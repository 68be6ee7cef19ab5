/* What follows from the functions a backend has: older names and per-thread twins. */
#include "front/front.h"
#include "front/table.h"
#include "util/per_thread.h"

#define BASE	      front_device()
#define PER_THREAD(s) ((s) ? (s) : CU_STREAM_PER_THREAD)

#include "gen/cuda_complete.inc"
