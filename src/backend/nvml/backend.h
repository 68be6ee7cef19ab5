/*
 * backend.h - the interface between the front and an implementation of NVML.
 *
 *	libnvidia-ml.so.1 ─ front ─┬─ nvidia   the vendor's library, passed through
 *	                           ├─ machine  the devices of the software driver: cpu, null
 *	                           └─ remote   a server, which uses one of the other two
 *
 * A backend fills a struct nvml_ops, the ops table of NVML.  A vendor's library fills all of it.  Our own backends fill
 * the functions for which they have a true answer; the front adds the calls of class local (ml_ops), and
 * NVML_ERROR_NOT_SUPPORTED for the rest.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include "gen/nvml_ops.h"

struct wire_nvml_hidden;

struct nvml_backend {
	bool vendor;

	/*
	 * Opens the device named `device` and fills `table`, which has only NULLs before.  On failure, returns the error
	 * that nvmlInit is to return, with the reason in `why`.  May be called again, also after a close.
	 */
	nvmlReturn_t (*open)(const char *device, struct nvml_ops *table, char *why, size_t size);
	void (*close)(void);  /* the last nvmlShutdown; other calls may still be running.  May be NULL */
	void (*forked)(void); /* in a child: closes the inherited connection.  May be NULL */

	/* A value of the vendor's private table, by its slot (front/nvml/private_table.c).  May be NULL */
	nvmlReturn_t (*private_value)(nvmlDevice_t device, unsigned slot, struct wire_nvml_hidden *value);
};

extern const struct nvml_backend nvml_nvidia_backend, nvml_machine_backend, nvml_remote_backend;

/* The handle of a device of ours: its index, with a mark that no pointer and no small number has. */
#define NVML_HANDLES     0x47570000u
#define NVML_HANDLE(i)   ((nvmlDevice_t)(uintptr_t)(NVML_HANDLES + (unsigned)(i) + 1))
#define NVML_DEVICES_MAX 64

/* The index of a handle, or -1 if there is no such device. */
static inline int nvml_handle_index(nvmlDevice_t device, int count)
{
	uintptr_t i = (uintptr_t)device - NVML_HANDLES - 1;

	return i < (uintptr_t)count ? (int)i : -1;
}

/* Copies a string into the buffer of an application. */
static inline nvmlReturn_t nvml_copy_text(const char *text, char *to, unsigned size)
{
	if (!to)
		return NVML_ERROR_INVALID_ARGUMENT;
	if (strlen(text) >= size)
		return NVML_ERROR_INSUFFICIENT_SIZE;
	strcpy(to, text);
	return NVML_SUCCESS;
}
