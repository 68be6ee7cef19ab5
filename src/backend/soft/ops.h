/*
 * ops.h - the prototypes of the entry points, soft_cuInit and so on, and their table, soft_ops: made from
 * api/cuda.api.  All are weak: what nobody defines is NULL in the table.
 */
#pragma once

#include "abi/cuda.h"
#include "gen/cuda_ops.h"
#include "gen/soft_ops.h"
