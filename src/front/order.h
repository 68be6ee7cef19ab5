/*
 * order.h - which devices are tried, and in which order: the same for libcuda.so.1 and libnvidia-ml.so.1.
 *
 * GANGWAY_DEVICE names one; without it a server that runs here for this user or for all, then this
 * machine's GPU, then its processor.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct order {
	bool asked;       /* a device was named: it or none */
	const char *kind; /* "nvidia", "cpu", "null", "unix" or "tcp" */
	char device[256]; /* all of the name: "unix:/run/gangway.sock" */
	unsigned next;
};

/* `name` is GANGWAY_DEVICE, or NULL.  False: there is no such device, and `why` lists those there are. */
bool order_begin(struct order *o, const char *name, char *why, size_t size);

/* The next to try, in kind and device; false: that was all. */
bool order_next(struct order *o);
