/*
 * vendor.h - where this machine keeps the GPU vendor's libcuda.so.1 and libnvidia-ml.so.1.
 *
 * Asking the loader by name would give ourselves, so the places where it would look are gone
 * through by hand.  A file is the vendor's when it is not ours: not the library this code is in,
 * and without our build note.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* False: `path` is empty and `why` says where was looked. */
bool vendor_find(char *path, size_t size, char *why, size_t why_size);
bool vendor_find_nvml(char *path, size_t size, char *why, size_t why_size);

/* A kernel driver is there: some device node a vendor's library would open. */
bool vendor_has_device(void);
