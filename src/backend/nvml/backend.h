/*
 * backend.h - a thing that can answer NVML's questions, seen from the front.
 *
 *	libnvidia-ml.so.1 ─ front ─┬─ nvidia   the vendor's library, passed through
 *	                           ├─ machine  the devices that we drive ourselves: cpu, null
 *	                           └─ remote   a server, which has one of these itself
 *
 * A backend fills a struct nvml_ops.  A vendor's library fills all of it.  Ours fill what they can answer
 * truly; the front adds what every one of ours answers alike, and NVML_ERROR_NOT_SUPPORTED for the rest.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "gen/nvml_ops.h"

struct wire_nvml_hidden;

struct nvml_backend {
	bool vendor;

	/*
	 * Opens the device that `device` names and fills `table` (all NULL before).  Not NVML_SUCCESS: what
	 * nvmlInit will answer, and `why` says it in a sentence.  May be called again, after a close too.
	 */
	nvmlReturn_t (*open)(const char *device, struct nvml_ops *table, char *why, size_t size);
	void (*close)(void);  /* the last nvmlShutdown; calls may still be under way.  May be NULL */
	void (*forked)(void); /* in a child, where the parent's connection must be let go.  May be NULL */

	/* A value from the vendor's private table, by its place there (front/nvml/private.c).  May be NULL */
	nvmlReturn_t (*hidden)(nvmlDevice_t device, unsigned slot, struct wire_nvml_hidden *value);
};

extern const struct nvml_backend nvml_nvidia_backend, nvml_machine_backend, nvml_remote_backend;

/* One device of ours, as all of them name it: an index that cannot be taken for a pointer or a number. */
#define NVML_HANDLES     0x47570000u
#define NVML_HANDLE(i)   ((nvmlDevice_t)(uintptr_t)(NVML_HANDLES + (unsigned)(i) + 1))
#define NVML_DEVICES_MAX 64

/* The index in a handle, or -1. */
static inline int nvml_handle_index(nvmlDevice_t device, int count)
{
	uintptr_t i = (uintptr_t)device - NVML_HANDLES - 1;

	return i < (uintptr_t)count ? (int)i : -1;
}
