/* vendor.h - opens the vendor's NVML: for the backend nvidia, and for a worker that answers its client's calls. */
#pragma once

#include <stddef.h>
#include "gen/nvml_ops.h"

/* Fills the table, NULL where the library has no such function.  NVML_ERROR_LIBRARY_NOT_FOUND: `why` has the reason. */
nvmlReturn_t nvml_vendor_open(struct nvml_ops *table, char *why, size_t size);
