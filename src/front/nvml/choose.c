#include <stdlib.h>
#include <string.h>
#include "front/nvml/front.h"
#include "front/order.h"
#include "wire/trace.h"

static const struct nvml_backend *find(const char *kind)
{
	if (!strcmp(kind, "nvidia"))
		return &nvml_nvidia_backend;
	if (!strcmp(kind, "unix") || !strcmp(kind, "tcp"))
		return &nvml_remote_backend;
	return &nvml_machine_backend;
}

/* What does not work and was not asked for is passed over, and the trace says why. */
nvmlReturn_t nvml_choose(const struct nvml_backend **backend, struct nvml_ops *table, char *why, size_t size)
{
	struct order o;
	nvmlReturn_t r = NVML_ERROR_DRIVER_NOT_LOADED;

	if (!order_begin(&o, getenv("GANGWAY_DEVICE"), why, size))
		return r;
	/* A missing library is no missing device: libcuda.so.1 has taken that one. */
	while (r && r != NVML_ERROR_LIBRARY_NOT_FOUND && order_next(&o)) {
		memset(table, 0, sizeof *table);
		*backend = find(o.kind);
		r = (*backend)->open(o.device, table, why, size);
		if (r && !o.asked)
			trace_note("passing over %s: %s", o.device, why);
	}
	return r;
}
