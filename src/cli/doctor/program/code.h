/*
 * code.h - the GPU code in a program or library: for which devices it is, and whether the given device can run it.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct code_facts {
	unsigned fatbins;
	unsigned suitable; /* the number of fatbins with code for the device */
	bool malformed;    /* at least one fatbin is truncated or malformed */
	char text[512];    /* "cubin sm_86 sm_89, PTX 8.4 compute_75" */
};

struct code_device {
	bool known;
	unsigned major, minor;
	bool ptx_only; /* runs PTX only: the CPU device */
};

/* Read the GPU code in an ELF file. Without GPU code, fatbins is 0. */
void code_read(const void *data, size_t size, const struct code_device *device, struct code_facts *facts);
