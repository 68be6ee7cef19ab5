/*
 * nvml_quota.h - the memory of a device as a client with a quota sees it through NVML: as cuMemGetInfo tells it.
 *
 * NVML and CUDA of one client have a worker each; the worker of CUDA's tells what it holds on a page (host/usage.h).
 * Where there are no such pages (GANGWAY_USAGE=0) what it holds is not known here, and all of the quota seems free.
 */
#pragma once

#include "gen/nvml_ops.h"

/* From now on the table tells the quotas of these devices, in CUDA's order. */
void nvml_quota_wrap(struct nvml_ops *table, const nvmlDevice_t *devices, unsigned count);
