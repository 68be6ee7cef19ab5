#include <string.h>
#include "backend/plugin.h"
#include "backend/remote/backend.h"
#include "front/choose.h"
#include "front/front.h"
#include "front/order.h"
#include "wire/trace.h"

static const struct backend *find(const char *kind, char *why, size_t size)
{
	if (!strcmp(kind, "nvidia"))
		return &nvidia_backend;
	if (!strcmp(kind, "unix"))
		return &unix_backend;
	if (!strcmp(kind, "tcp"))
		return &tcp_backend;
	return plugin_backend(kind, why, size);
}

static CUresult try(
	const struct order *o, const struct backend **backend, struct cuda_ops *table, char *why, size_t size)
{
	memset(table, 0, sizeof *table);
	*backend = find(o->kind, why, size);
	CUresult r =
		*backend ? (*backend)->open(o->device, table, front_storage_drop, why, size) : CUDA_ERROR_NO_DEVICE;
	if (!r)
		trace_note("device %s", o->device);
	return r;
}

/* What does not work and was not asked for is passed over, and the trace says why. */
CUresult choose_device(const char *name, const struct backend **backend, struct cuda_ops *table, char *why, size_t size)
{
	struct order o;
	CUresult r = CUDA_ERROR_NO_DEVICE;

	if (!order_begin(&o, name, why, size))
		return r;
	while (r && order_next(&o)) {
		r = try(&o, backend, table, why, size);
		if (r && !o.asked)
			trace_note("passing over %s: %s", o.device, why);
	}
	return r;
}
