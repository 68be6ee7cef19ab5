/*
 * vendor.h - finds the vendor's libcuda.so.1 and libnvidia-ml.so.1 on this machine.
 *
 * Opening the libraries by name would return ours, so this code searches the places of the dynamic loader itself.  A
 * library without our build note is the vendor's.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* False: `path` is empty, and `why` lists the places searched. */
bool vendor_find(char *path, size_t size, char *why, size_t why_size);
bool vendor_find_nvml(char *path, size_t size, char *why, size_t why_size);

/* Is a kernel driver loaded?  Checks for the device nodes that a vendor library opens. */
bool vendor_has_device(void);
