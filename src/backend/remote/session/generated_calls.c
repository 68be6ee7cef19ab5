/* The plain calls, generated: call_cuX. */
#include "backend/remote/session/call.h"
#include "gen/cuda_client.h"

#include "gen/cuda_client.inc"
