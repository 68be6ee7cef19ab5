#include "wire/names.h"

#include "gen/nvml_names.inc"
