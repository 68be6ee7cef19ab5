/*
 * code.h - the GPU code that a program or library carries: for which devices, and whether one of them is
 * ours.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct code_facts {
	unsigned fatbins;
	unsigned suitable; /* of those, how many have something for the device */
	bool malformed;    /* one of them was cut off or makes no sense */
	char text[512];    /* "cubin sm_86 sm_89, PTX 8.4 compute_75" */
};

struct code_device {
	bool known;
	unsigned major, minor;
	bool ptx_only; /* runs from text: a processor */
};

/* Of a mapped ELF file.  No GPU code: fatbins is 0. */
void code_read(const void *data, size_t size, const struct code_device *device, struct code_facts *facts);
