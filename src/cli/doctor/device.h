/*
 * device.h - the device that a program would get, asked in the way a program asks: our libcuda.so.1 is loaded
 * and called, in a process of its own, so that a driver that crashes or hangs takes nothing with it.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include "loader/sysroot.h"

#define DEVICE_MAX 16

struct device_facts {
	bool opened;       /* cuInit answered CUDA_SUCCESS */
	char chosen[256];  /* "cpu", "unix:/run/gangway.sock"; "" if unknown */
	char why[512];     /* not opened: a sentence */
	char passed[1024]; /* devices that came first and were passed over, a line each */
	int result;        /* CUresult of the call that failed, or 0 */
	int version;       /* cuDriverGetVersion */
	int count;
	struct device_fact {
		char name[256];
		int major, minor;
		size_t memory;
	} device[DEVICE_MAX];
};

/* `library` is our libcuda.so.1; the environment is the world's, but GANGWAY_DEVICE is `device`, "" if unset.
 */
void device_ask(const struct sysroot *sys, const char *library, const char *device, struct device_facts *facts);
