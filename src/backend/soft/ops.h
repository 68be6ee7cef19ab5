/*
 * ops.h - prototypes of the entry points (soft_cuInit and so on) and their ops table, soft_ops; generated from
 * api/cuda.api.  The prototypes are weak: an entry point that no file defines is NULL in the table.
 */
#pragma once

#include "abi/cuda.h"
#include "gen/cuda_ops.h"
#include "gen/soft_ops.h"

/* The table with older names and per-thread twins. */
const struct cuda_ops *soft_complete_ops(void);
