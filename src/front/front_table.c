/* The table of the functions named front_cuX: what is answered in the application's own process. */
#include "front/front.h"

#include "gen/front_table.inc"
