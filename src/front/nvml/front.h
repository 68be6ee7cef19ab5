/*
 * front.h - the library that a program loads to look at GPUs, up to the table of a device.
 *
 *	exported nvmlX ──now──▶ boot table     nothing has been called yet
 *	                  └──▶ idle table      not initialised: refuses, but for nvmlInit, which chooses the device
 *	                  └──▶ device's table  until the last nvmlShutdown; a vendor's for good
 *
 * With GANGWAY_TRACE the traced table stands before the latter two.  Nothing is opened, read or started
 * before the first nvmlInit; loading the library does no work at all.
 */
#pragma once

#include <stdatomic.h>
#include "backend/nvml/backend.h"
#include "gen/nvml_ml.h"
#include "gen/nvml_ops.h"

extern _Atomic(const struct nvml_ops *) nvml_now;
extern const struct nvml_ops nvml_boot_ops;

/* The table in use after a first call; never NULL. */
const struct nvml_ops *nvml_start(void);

/* The device in use: valid for ml_nvmlX functions, but for the four that come before it. */
const struct nvml_ops *nvml_device(void);

/* Which device GANGWAY_DEVICE, or the order of order.h, means: as for libcuda.so.1. */
nvmlReturn_t nvml_choose(const struct nvml_backend **backend, struct nvml_ops *table, char *why, size_t size);

/* What only the vendor's own tool asks for, by its place in the private table; NVML_ERROR_NOT_SUPPORTED where it is not. */
struct wire_nvml_hidden;
nvmlReturn_t nvml_hidden(nvmlDevice_t device, unsigned slot, struct wire_nvml_hidden *value);

/* The last nvmlShutdown: no event set is one any longer (events.c). */
void nvml_events_end(void);
