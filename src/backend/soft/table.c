/* The ops table of the software driver, generated from api/cuda.api. */
#include "backend/soft/ops.h"

#include "gen/soft_table.inc"
