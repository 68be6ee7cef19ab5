/* Opens the first device in the order of front/device_order.h that works. */
#include <stdlib.h>
#include <string.h>
#include "front/nvml/front.h"
#include "front/device_order.h"
#include "wire/trace.h"

static const struct nvml_backend *backend_find(const char *kind)
{
	if (!strcmp(kind, "nvidia"))
		return &nvml_nvidia_backend;
	if (!strcmp(kind, "unix") || !strcmp(kind, "tcp"))
		return &nvml_remote_backend;
	return &nvml_machine_backend;
}

/* A device that GANGWAY_DEVICE names must work.  Any other device that does not work is skipped, with a trace note. */
nvmlReturn_t nvml_choose_device(const struct nvml_backend **backend, struct nvml_ops *table, char *why, size_t size)
{
	struct device_order o;
	nvmlReturn_t r = NVML_ERROR_DRIVER_NOT_LOADED;

	if (!device_order_begin(&o, secure_getenv("GANGWAY_DEVICE"), why, size))
		return r;
	/* If only the vendor's NVML is missing, libcuda.so.1 uses the GPU, and so no other device is tried here. */
	while (r && r != NVML_ERROR_LIBRARY_NOT_FOUND && device_order_next(&o)) {
		memset(table, 0, sizeof *table);
		*backend = backend_find(o.kind);
		r = (*backend)->open(o.device, table, why, size);
		if (r && !o.asked)
			trace_note("skipping %s: %s", o.device, why);
	}
	return r;
}
