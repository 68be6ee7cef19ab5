/*
 * complete.h - what follows from a table's own functions: older names and per-thread twins.
 *
 * A backend writes cuMemcpyHtoD_v2; cuMemcpyHtoD_v2_ptds is the same with the thread's own default
 * stream, and cuEventDestroy is cuEventDestroy_v2.  Generated from api/cuda.api.
 */
#pragma once

#include "abi/cuda.h"
#include "gen/cuda_ops.h"

/* Fills what is NULL in `t` and follows; `t` must stay where it is: the twins call through it. */
void complete_table(struct cuda_ops *t);
