/* The client's ops table, generated from the classes in api/cuda.api, with older names and per-thread twins. */
#include "cuda/per_thread.h"
#include "gen/cuda_client.h"

#define PER_THREAD(stream) ((stream) ? (stream) : CU_STREAM_PER_THREAD)

#include "gen/cuda_client_table.inc"
