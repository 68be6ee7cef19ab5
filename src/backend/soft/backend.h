/*
 * backend.h - the software driver as the rest of Gangway sees it: opening it, and the few things that the
 * front and the server ask besides the CUDA calls themselves (soft_ops, in ops.h).
 *
 * There is one driver in a process, as there is one libcuda.  It is created by soft_open and never torn down:
 * other libraries' destructors call CUDA after main has returned.
 */
#pragma once

#include "abi/cuda.h"
#include "backend/soft/engine.h"
#include "backend/soft/ops.h"

struct soft_config {
	int devices;           /* before CUDA_VISIBLE_DEVICES; 0 means 1 */
	const char *visible;   /* CUDA_VISIBLE_DEVICES, or NULL */
	size_t memory;         /* bytes a device has; 0: what the machine has */
	unsigned end_grace_ms; /* a context that ends stops its work after this; 0: ten seconds */
	unsigned watchdog_ms;  /* longest a kernel may run; 0: for ever */
	bool report_usage;     /* other processes see what we use, and we count what they do (host/usage.h) */

	/* A context is about to lose all that is in it: destroy, reset, last release.  It is still whole
	 * then. */
	void (*context_ending)(CUcontext ctx);
};

/* CUDA_SUCCESS also when it is open already, whatever config says then.  config may be NULL. */
CUresult soft_open(const struct engine *engine, const struct soft_config *config);

/* The primary context's handle, whether or not it is active; nothing is retained. */
CUresult soft_primary_handle(CUcontext *ctx, CUdevice dev);

/* The calling thread's current context, NULL if none.  Never fails, takes no lock. */
CUcontext soft_current(void);

/* The number cuCtxGetId would give; ctx NULL: the current one. */
CUresult soft_context_id(CUcontext ctx, unsigned long long *id);

/* A number that two handles share exactly if they mean the same stream (0, 1 and 2 are resolved). */
CUresult soft_stream_identity(CUcontext ctx, CUstream stream, int per_thread, unsigned long long *id);
