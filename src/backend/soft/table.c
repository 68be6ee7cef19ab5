#include "backend/soft/ops.h"

#include "gen/soft_table.inc"
