/*
 * describe.h - properties of the devices that the software driver drives: their number, memory, names.
 *
 * The driver and NVML both use these functions, so their answers agree.  No function here opens the driver.
 */
#pragma once

#include "backend/soft/engine.h"

#define MAX_DEVICES 64

/* The environment: GANGWAY_DEVICE_COUNT, GANGWAY_DEVICE_MEMORY (bytes, or with K, M or G), GANGWAY_WATCHDOG_MS. */
struct describe_settings {
	int devices;   /* before CUDA_VISIBLE_DEVICES is applied; 0: not given */
	size_t memory; /* bytes per device; 0: not given */
	unsigned watchdog_ms;
};

/* Read the settings.  False: a variable has an invalid value; `why` says which. */
bool describe_settings(struct describe_settings *s, char *why, size_t size);

/* `engine` is the engine's describe function, or NULL.  Leaves multiprocessors 0 unless the engine sets it. */
void describe_device(void (*engine)(int ordinal, struct engine_device *dev), int physical, struct engine_device *info);
size_t describe_memory(size_t given); /* bytes of device memory; given 0: all of the machine's */
void describe_uuid(const char *engine, int physical, unsigned char uuid[16]);

/* Device n is the only device on PCI bus n + 1 of domain 0. */
static inline unsigned describe_bus(int physical)
{
	return (unsigned)physical + 1;
}
