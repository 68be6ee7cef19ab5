#include "backend/soft/open.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>

#include "backend/complete.h"
#include "backend/soft/backend.h"

/* A number with an optional K, M or G behind it; 0: not one. */
static unsigned long long number(const char *text)
{
	char *end;

	if (!text || !isdigit((unsigned char)*text))
		return 0;
	unsigned long long v = strtoull(text, &end, 10);
	int shift = *end == 'K' ? 10 : *end == 'M' ? 20 : *end == 'G' ? 30 : 0;
	if (end[shift != 0] || v > ~0ull >> shift)
		return 0;
	return v << shift;
}

/* An environment variable that must be a number from 1 to max; false: it is something else. */
static bool setting(const char *name, unsigned long long max, unsigned long long *value, char *why,
		    size_t size)
{
	const char *text = getenv(name);

	*value = 0;
	if (!text || !*text)
		return true;
	*value = number(text);
	if (*value && *value <= max)
		return true;
	snprintf(why, size, "%s=%s: want a number from 1 to %llu", name, text, max);
	return false;
}

CUresult soft_backend_open(const struct engine *e, const char *device, struct cuda_ops *table,
			   void (*ending)(CUcontext ctx), char *why, size_t size)
{
	static struct cuda_ops full;
	unsigned long long devices, memory, watchdog;

	(void)device;
	if (!setting("GANGWAY_DEVICE_COUNT", 64, &devices, why, size) ||
	    !setting("GANGWAY_DEVICE_MEMORY", 1ull << 48, &memory, why, size) ||
	    !setting("GANGWAY_WATCHDOG_MS", 1u << 31, &watchdog, why, size))
		return CUDA_ERROR_INVALID_VALUE;
	struct soft_config config = {
		.devices = (int)devices,
		.memory = memory,
		.watchdog_ms = watchdog,
		.visible = getenv("CUDA_VISIBLE_DEVICES"),
		.context_ending = ending,
	};
	CUresult r = soft_open(e, &config);
	if (r) {
		snprintf(why, size, "the %s device could not be set up", e->name);
		return r;
	}
	full = soft_ops;
	complete_table(&full);
	*table = full;
	return r;
}

CUresult soft_backend_primary(CUdevice dev, CUcontext *ctx)
{
	return soft_primary_handle(ctx, dev);
}

CUresult soft_backend_stream_id(CUcontext ctx, CUstream stream, unsigned long long *id)
{
	return soft_stream_identity(ctx, stream, 0, id);
}
