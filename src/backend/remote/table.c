/* The functions named remote_cuX, and those named call_cuX. */
#include "backend/remote/session/remote.h"
#include "gen/cuda_ops.h"

#include "gen/call_table.inc"
#include "gen/remote_table.inc"
