#include "wire/names.h"

#include "gen/cuda_names.inc"
