/*
 * sensor.h - questions whose answers move by themselves: sensors and counters of a device.
 *
 * An answer to one of these may be a few milliseconds old, and nobody can tell.  What a program's own doing changes at
 * once (memory, processes) is none of them.  Both sides of a link go by this list: the worker, which may read them
 * before they are asked for, and the client, which may ask for several of them together.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* A plain call's arguments begin with a whole device: parts of devices (MIG) come and go. */
bool nvml_of_device(const void *args, size_t size);

/* op: WIRE_NVML and the call's number. */
bool nvml_is_sensor(unsigned op, const void *args, size_t size);
