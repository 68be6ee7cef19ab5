/* The backend nvidia of NVML: the functions of the vendor's library, with nothing in between. */
#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include "backend/nvml/backend.h"
#include "backend/nvml/vendor.h"
#include "backend/vendor.h"
#include "wire/names.h"

nvmlReturn_t nvml_vendor_open(struct nvml_ops *table, char *why, size_t size)
{
	static void *library; /* never closed, as programs expect */
	char path[PATH_MAX];
	void **slots = (void **)table;

	if (!library && !vendor_find_nvml(path, sizeof path, why, size))
		return NVML_ERROR_LIBRARY_NOT_FOUND;
	if (!library)
		library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (!library) {
		snprintf(why, size, "cannot load the vendor's NVML: %s", dlerror());
		return NVML_ERROR_LIBRARY_NOT_FOUND;
	}
	for (int i = 0; i < nvml_OP_COUNT; i++)
		slots[i] = dlsym(library, nvml_names[i]);
	if (table->nvmlInit_v2)
		return NVML_SUCCESS;
	snprintf(why, size, "the vendor's library has no nvmlInit_v2, so it is not NVML");
	return NVML_ERROR_LIBRARY_NOT_FOUND;
}

/* Follows libcuda.so.1: this device is skipped if and only if libcuda.so.1 finds no vendor driver. */
static nvmlReturn_t open_nvidia(const char *device, struct nvml_ops *table, char *why, size_t size)
{
	char path[PATH_MAX];

	(void)device;
	if (!vendor_find(path, sizeof path, why, size))
		return NVML_ERROR_DRIVER_NOT_LOADED;
	return nvml_vendor_open(table, why, size);
}

const struct nvml_backend nvml_nvidia_backend = {.vendor = true, .open = open_nvidia};
