/* application.h - helpers for tests that are ordinary applications and use only the CUDA driver API. */
#pragma once

#include <stdlib.h>
#include <string.h>
#include "abi/cuda.h"
#include "gen/cuda_protos.h"
#include "test/check.h"

static inline CUcontext check_start(void)
{
	CUcontext ctx = NULL;

	OK(cuInit(0));
	OK(cuDevicePrimaryCtxRetain(&ctx, 0));
	OK(cuCtxSetCurrent(ctx));
	if (failures)
		exit(1);
	return ctx;
}

/* No ThreadSanitizer: a check of every byte would make this loop too slow. */
__attribute__((no_sanitize("thread"))) static inline void fill_bytes(void *p, size_t n, unsigned seed)
{
	unsigned char *b = p;

	for (size_t i = 0; i < n; i++)
		b[i] = (unsigned char)((i * 2654435761u + seed) >> 13 ^ i >> 8);
}

/* Does the link have shared memory?  Not over TCP. */
static inline int check_shares(void)
{
	const char *device = getenv("GANGWAY_DEVICE");

	return !device || strncmp(device, "tcp:", 4);
}

static inline int check_remote(void)
{
	const char *device = getenv("GANGWAY_DEVICE");

	return device && (!strncmp(device, "tcp:", 4) || !strncmp(device, "unix:", 5));
}
