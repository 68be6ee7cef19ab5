/*
 * device_order.h - the devices to try, in order; the same for libcuda.so.1 and libnvidia-ml.so.1.
 *
 * GANGWAY_DEVICE names one device.  Without it the order is: a server that runs on this machine for this user or for
 * all users, the GPU of this machine, its CPU.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct device_order {
	bool asked;       /* GANGWAY_DEVICE names a device: no other is tried */
	const char *kind; /* "nvidia", "cpu", "null", "unix" or "tcp" */
	char device[256]; /* full name: "unix:/run/gangway.sock" */
	unsigned next;
};

/* `name` is GANGWAY_DEVICE, or NULL.  False: there is no such device; `why` lists the known ones. */
bool device_order_begin(struct device_order *o, const char *name, char *why, size_t size);

/* Sets kind and device to the next one to try.  False: no more. */
bool device_order_next(struct device_order *o);
