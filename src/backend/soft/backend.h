/*
 * backend.h - the software driver as the rest of Gangway sees it: opening the driver, and the few questions that
 * the front and the server ask besides the CUDA calls themselves (soft_ops, in ops.h).
 *
 * A process has one driver, as it has one libcuda.  soft_open creates the driver.  Nothing destroys it, because
 * destructors of other libraries call CUDA after main has returned.
 */
#pragma once

#include "abi/cuda.h"
#include "backend/soft/engine.h"
#include "backend/soft/ops.h"

struct soft_config {
	int devices;           /* before CUDA_VISIBLE_DEVICES is applied; 0 means 1 */
	const char *visible;   /* CUDA_VISIBLE_DEVICES, or NULL */
	size_t memory;         /* bytes of memory per device; 0: all of the machine's */
	unsigned end_grace_ms; /* time a context's running work gets when the context ends; 0: ten seconds */
	unsigned watchdog_ms;  /* time limit of a kernel; 0: none */
	bool report_usage;     /* publish our usage to other processes, and count theirs (host/usage.h) */

	/* Called before a context loses its objects (destroy, reset, last release), while all of them still exist. */
	void (*context_ending)(CUcontext ctx);
};

/* Open the driver.  If the driver is open already, ignore config and return CUDA_SUCCESS.  config may be NULL. */
CUresult soft_open(const struct engine *engine, const struct soft_config *config);

/* Share IPC handles through this broker instead of /proc.  Call it after soft_open and before any other call. */
struct ipc_broker;
void soft_use_broker(const struct ipc_broker *broker);

/* The primary context's handle, whether or not the context is active.  Does not retain it. */
CUresult soft_primary_handle(CUcontext *ctx, CUdevice dev);

/* The calling thread's current context, or NULL.  Never fails, takes no lock. */
CUcontext soft_current(void);

/* The number that cuCtxGetId returns; ctx NULL: the current context. */
CUresult soft_context_id(CUcontext ctx, unsigned long long *id);

/* A number that identifies the stream: two handles for one stream (0, 1 and 2 are resolved) have the same number. */
CUresult soft_stream_identity(CUcontext ctx, CUstream stream, int per_thread, unsigned long long *id);
