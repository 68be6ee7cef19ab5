/* The cpu backend: the software driver over the PTX interpreter. */
#include <stdio.h>
#include <stdlib.h>

#include "backend/backend.h"
#include "backend/cpu/check.h"
#include "backend/cpu/cpu.h"
#include "backend/soft/open.h"

static CUresult open_cpu(
	const char *device, struct cuda_ops *table, void (*ending)(CUcontext ctx), char *why, size_t size)
{
	int major, minor;

	if (!cpu_capability(&major, &minor)) {
		cpu_capability_explain(why, size);
		return CUDA_ERROR_INVALID_VALUE;
	}
	if (!check_begin(why, size))
		return CUDA_ERROR_INVALID_VALUE;
	return soft_backend_open(&cpu_engine, device, table, ending, why, size);
}

const struct backend cpu_backend = {
	.name = "cpu",
	.open = open_cpu,
	.primary = soft_backend_primary,
	.stream_id = soft_backend_stream_id,
	.use_broker = soft_backend_use_broker,
};
