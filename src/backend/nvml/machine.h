/*
 * machine.h - NVML for the devices of the software driver: cpu and null.
 *
 * Every answer is true: the identity is the one that the software driver reports (soft/core/describe.h), memory,
 * utilisation and processes come from the usage pages of the processes that use the device (host/usage.h), clocks and
 * temperature from the kernel.  Everything else is NVML_ERROR_NOT_SUPPORTED.  The only state is the list of devices.
 */
#pragma once

#include "backend/nvml/backend.h"
#include "backend/soft/engine.h"
#include "gen/nvml_machine.h"
#include "host/usage.h"

struct machine_device {
	int physical; /* index among all devices of this kind, as in struct usage_page */
	unsigned char uuid[16];
	unsigned long long memory;
	struct engine_device info;
};

struct machine {
	char kind[8]; /* "cpu" or "null" */
	int count;
	struct machine_device device[NVML_DEVICES_MAX];
};

extern struct machine machine;

/*
 * Fills the list of devices.  `visible` is CUDA_VISIBLE_DEVICES in a server, whose clients see the devices of CUDA.
 * Elsewhere it is NULL: NVML shows all devices.
 */
nvmlReturn_t machine_open(const char *kind, const char *visible, char *why, size_t size);

/* NULL where there is no true answer. */
extern const struct nvml_ops machine_ops;

/* The device of a handle, or NULL. */
const struct machine_device *machine_find(nvmlDevice_t handle);
