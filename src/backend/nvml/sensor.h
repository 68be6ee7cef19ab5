/*
 * sensor.h - the calls that read sensors and counters of a device.
 *
 * The values change by themselves, so an answer may be a few milliseconds old.  Values that the program's own calls
 * change at once (memory, processes) are not sensors.  A client may read several sensors in one request
 * (sensor_poll.h), and the worker accepts no other calls in such a request.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* Is the first argument of a generated call a whole device?  MIG devices are excluded: they come and go. */
bool nvml_names_device(const void *args, size_t size);

/* `op` is WIRE_NVML plus the number of the call. */
bool nvml_is_sensor(unsigned op, const void *args, size_t size);
