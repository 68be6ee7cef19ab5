/* vendor.h - the vendor's NVML in this process: for the pass-through, and for a server that answers from it. */
#pragma once

#include <stddef.h>
#include "gen/nvml_ops.h"

/* All its functions, NULL where it has none; NVML_ERROR_LIBRARY_NOT_FOUND and a sentence if there is none. */
nvmlReturn_t nvml_vendor_open(struct nvml_ops *table, char *why, size_t size);
