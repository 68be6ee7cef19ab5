/* The null backend: the software driver over the engine that runs nothing. */
#include "backend/backend.h"
#include "backend/null/null.h"
#include "backend/soft/open.h"

static CUresult open_null(
	const char *device, struct cuda_ops *table, void (*ending)(CUcontext ctx), char *why, size_t size)
{
	return soft_backend_open(&null_engine, device, table, ending, why, size);
}

const struct backend null_backend = {
	.name = "null",
	.open = open_null,
	.primary = soft_backend_primary,
	.stream_id = soft_backend_stream_id,
	.use_broker = soft_backend_use_broker,
};
