/*
 * front.h - the part of libnvidia-ml.so.1 between the exported functions and the ops table of a device.
 *
 *	exported nvmlX ──nvml_now──▶ boot table      before the first call
 *	                        └──▶ idle table      before nvmlInit: every other call returns NVML_ERROR_UNINITIALIZED
 *	                        └──▶ device's table  until the last nvmlShutdown; a vendor's table stays
 *
 * With GANGWAY_TRACE the trace table precedes the latter two.  Loading the library does no work: it opens no file and
 * starts no thread before the first nvmlInit.
 */
#pragma once

#include <stdatomic.h>
#include "backend/nvml/backend.h"
#include "gen/nvml_ml.h"
#include "gen/nvml_ops.h"

extern _Atomic(const struct nvml_ops *) nvml_now;
extern const struct nvml_ops nvml_boot_ops;

/* The first call: replaces the boot table by the idle table.  Returns the table in use, never NULL. */
const struct nvml_ops *nvml_start(void);

/* The device's table.  Valid in ml_nvmlX functions, except in nvmlInit (three versions) and nvmlErrorString. */
const struct nvml_ops *nvml_device(void);

/* Opens the same device as libcuda.so.1: GANGWAY_DEVICE, or the first that works in the order of device_order.h. */
nvmlReturn_t nvml_choose_device(const struct nvml_backend **backend, struct nvml_ops *table, char *why, size_t size);

/* A value of NVIDIA's private table, by its slot; NVML_ERROR_NOT_SUPPORTED if the device has no such table. */
struct wire_nvml_hidden;
nvmlReturn_t nvml_private_value(nvmlDevice_t device, unsigned slot, struct wire_nvml_hidden *value);

/* The last nvmlShutdown: invalidates all event sets (event_sets.c). */
void nvml_event_sets_end(void);
