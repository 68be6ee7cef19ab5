#include "front/nvml/front.h"

#include "gen/nvml_ml.inc"
