/*
 * describe.h - what the devices that we drive ourselves are like: how many, how large, what they are called.
 *
 * The driver and NVML say the same because they ask here.  Nothing is opened for it.
 */
#pragma once

#include "backend/soft/engine.h"

#define MAX_DEVICES 64

/* The environment: GANGWAY_DEVICE_COUNT, GANGWAY_DEVICE_MEMORY (bytes, or with K, M or G), GANGWAY_WATCHDOG_MS. */
struct describe_settings {
	int devices;   /* before CUDA_VISIBLE_DEVICES; 0: not given */
	size_t memory; /* bytes a device has; 0: not given */
	unsigned watchdog_ms;
};

/* False: something in it makes no sense, and `why` says what. */
bool describe_settings(struct describe_settings *s, char *why, size_t size);

/* `engine` is the engine's describe, or NULL; multiprocessors stays 0. */
void describe_device(void (*engine)(int ordinal, struct engine_device *dev), int physical, struct engine_device *info);
size_t describe_memory(size_t given);
void describe_uuid(const char *engine, int physical, unsigned char uuid[16]);

/* Device n sits alone on bus n + 1 of domain 0. */
static inline unsigned describe_bus(int physical)
{
	return (unsigned)physical + 1;
}
