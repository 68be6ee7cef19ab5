/* The plain calls, generated: call_cuX. */
#include "gen/call_ops.h"
#include "wire/call.h"

#include "gen/cuda_client.inc"
