/*
 * backend.h - a thing that can execute CUDA calls, seen from the front.
 *
 * A backend fills a struct cuda_ops: the driver API itself.  A vendor's driver fills all of it.
 * Ours fill what they implement, with older names and per-thread twins; the front adds
 * what is answered in the application's process (front_ops), and CUDA_ERROR_NOT_SUPPORTED for the rest.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include "abi/cuda.h"
#include "gen/cuda_ops.h"

struct backend {
	const char *name; /* GANGWAY_DEVICE: "null", or the scheme before the colon of "unix:..." */
	bool vendor;

	/*
	 * Opens the device that `device` names and fills `table` (all NULL before).  Not CUDA_SUCCESS:
	 * what cuInit will answer, and `why` says it in a sentence.  May be called again.  A backend of
	 * ours calls `ending` when a context is about to lose all that is in it.
	 */
	CUresult (*open)(
		const char *device, struct cuda_ops *table, void (*ending)(CUcontext ctx), char *why, size_t size);

	/* In a forked child, where nothing of the device can be used: lets go.  `open` may follow.  May be NULL. */
	void (*forked)(void);

	/* For NVIDIA's private tables; a vendor's driver answers those itself. */
	CUresult (*primary)(CUdevice dev, CUcontext *ctx); /* the handle, not retained, not active */
	CUresult (*stream_id)(CUcontext ctx, CUstream stream, unsigned long long *id);
};

extern const struct backend nvidia_backend;
