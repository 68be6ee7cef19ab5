/* Opens the first device in the order of device_order.h that works. */
#include <string.h>
#include "backend/plugin.h"
#include "backend/remote/backend.h"
#include "front/device_choice.h"
#include "front/front.h"
#include "front/device_order.h"
#include "wire/trace.h"

static const struct backend *backend_find(const char *kind, char *why, size_t size)
{
	if (!strcmp(kind, "nvidia"))
		return &nvidia_backend;
	if (!strcmp(kind, "unix"))
		return &unix_backend;
	if (!strcmp(kind, "tcp"))
		return &tcp_backend;
	return plugin_backend(kind, why, size);
}

static CUresult try_device(
	const struct device_order *o, const struct backend **backend, struct cuda_ops *table, char *why, size_t size)
{
	memset(table, 0, sizeof *table);
	*backend = backend_find(o->kind, why, size);
	CUresult r =
		*backend ? (*backend)->open(o->device, table, front_storage_drop, why, size) : CUDA_ERROR_NO_DEVICE;
	if (!r)
		trace_note("device %s", o->device);
	return r;
}

/* A device that GANGWAY_DEVICE names must work.  Any other device that does not work is skipped, with a trace note. */
CUresult choose_device(const char *name, const struct backend **backend, struct cuda_ops *table, char *why, size_t size)
{
	struct device_order o;
	CUresult r = CUDA_ERROR_NO_DEVICE;

	if (!device_order_begin(&o, name, why, size))
		return r;
	while (r && device_order_next(&o)) {
		r = try_device(&o, backend, table, why, size);
		if (r && !o.asked)
			trace_note("skipping %s: %s", o.device, why);
	}
	return r;
}
