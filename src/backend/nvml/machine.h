/*
 * machine.h - NVML for the devices that we drive ourselves: cpu and null.
 *
 * What is said is true or not said: identity is the driver's own (soft/describe.h), memory, time and processes come
 * from those who use the device (host/usage.h), clocks and temperature from the kernel.  Everything else is
 * NVML_ERROR_NOT_SUPPORTED.  Nothing is opened, and no state kept but what the devices are.
 */
#pragma once

#include "backend/nvml/backend.h"
#include "backend/soft/engine.h"
#include "gen/nvml_machine.h"
#include "host/usage.h"

struct machine_device {
	int physical; /* as its users count it */
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
 * Which devices there are.  `visible` is CUDA_VISIBLE_DEVICES where it counts, in a server, and NULL elsewhere:
 * NVML shows all.
 */
nvmlReturn_t machine_open(const char *kind, const char *visible, char *why, size_t size);

/* Its functions, NULL where it has none. */
extern const struct nvml_ops machine_ops;

/* The device of a handle, or NULL. */
const struct machine_device *machine_find(nvmlDevice_t handle);

/* Copies a text where it fits with its end: NVML_ERROR_INSUFFICIENT_SIZE otherwise. */
nvmlReturn_t machine_text(const char *text, char *to, unsigned size);
