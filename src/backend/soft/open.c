/* Opening the software driver over an engine, with the settings from the environment. */
#include "backend/soft/open.h"

#include <stdio.h>
#include <stdlib.h>

#include "backend/soft/backend.h"
#include "backend/soft/core/describe.h"
#include "backend/soft/ops.h"

CUresult soft_backend_open(const struct engine *e, const char *device, struct cuda_ops *table,
	void (*ending)(CUcontext ctx), char *why, size_t size)
{
	struct describe_settings s;

	(void)device;
	if (!describe_settings(&s, why, size))
		return CUDA_ERROR_INVALID_VALUE;
	struct soft_config config = {
		.devices = s.devices,
		.memory = s.memory,
		.watchdog_ms = s.watchdog_ms,
		.report_usage = true,
		.visible = secure_getenv("CUDA_VISIBLE_DEVICES"),
		.context_ending = ending,
	};
	CUresult r = soft_open(e, &config);
	if (r) {
		snprintf(why, size, "cannot set up the %s device: out of memory", e->name);
		return r;
	}
	*table = *soft_complete_ops();
	return r;
}

void soft_backend_use_broker(const struct ipc_broker *broker)
{
	soft_use_broker(broker);
}

CUresult soft_backend_primary(CUdevice dev, CUcontext *ctx)
{
	return soft_primary_handle(ctx, dev);
}

CUresult soft_backend_stream_id(CUcontext ctx, CUstream stream, unsigned long long *id)
{
	return soft_stream_identity(ctx, stream, 0, id);
}
