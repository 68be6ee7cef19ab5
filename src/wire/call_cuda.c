/* The plain calls, generated: call_cuX. */
#include "gen/cuda_client.h"
#include "wire/call.h"

#include "gen/cuda_client.inc"
