/*
 * device_query.h - the device that a program would get. Our libcuda.so.1 is loaded and called in a separate process, so that a
 * driver that crashes or hangs does no harm.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include "loader/sysroot.h"

#define DEVICE_MAX 16

struct device_facts {
	bool opened;       /* cuInit and all queries succeeded */
	char chosen[256];  /* "cpu", "unix:/run/gangway.sock"; "" if unknown */
	char why[512];     /* the reason if not opened */
	char passed[1024]; /* devices that were tried first and passed over, one line each */
	int result;        /* CUresult of the call that failed, or 0 */
	int version;       /* cuDriverGetVersion */
	int count;
	struct device_fact {
		char name[256];
		int major, minor;
		size_t memory;
	} device[DEVICE_MAX];
};

/*
 * Query the devices through `library`, our libcuda.so.1, in the environment of the sysroot with GANGWAY_DEVICE set to
 * `device` (unless that is "").
 */
void device_query(const struct sysroot *sys, const char *library, const char *device, struct device_facts *facts);
