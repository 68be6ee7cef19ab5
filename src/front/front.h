/*
 * front.h - the part of libcuda.so.1 between the exported functions and the ops table of a device.
 *
 *	exported cuX ──front_now──▶ boot table      chooses the device at the first call, then calls on
 *	                       └──▶ trace table ──▶ device's table
 *	                       └──────────────────▶ device's table
 *
 * An exported function is one load and one jump: no check, no lock.  Loading the library does no work: it opens no
 * file and starts no thread before the first call.
 */
#pragma once

#include <stdatomic.h>
#include "backend/backend.h"
#include "gen/cuda_ops.h"
#include "gen/cuda_protos.h"
#include "gen/front_ops.h"
#include "gen/version.h"

/* The result of cuDriverGetVersion. */
#define FRONT_CUDA_VERSION GANGWAY_CUDA_VERSION

extern _Atomic(const struct cuda_ops *) front_now;
extern const struct cuda_ops cuda_boot_ops;

/* Opens the device unless it is open.  Never NULL: a table whose functions all return the error if opening fails. */
const struct cuda_ops *front_start(void);

/* The device's complete table, without the trace.  Valid in front_cuX functions: they run only while a device is open. */
const struct cuda_ops *front_device(void);
const struct backend *front_backend(void);

/* The table that the backend filled, for a front_cuX function that calls the backend's function of the same name. */
const struct cuda_ops *front_backend_ops(void);

/* If CUDA_LAUNCH_BLOCKING is set: makes the launches of this table wait for their kernels (launch_blocking.c). */
void front_block_launches(struct cuda_ops *t);

/* cuInit has succeeded: from now on a forked child gets CUDA_ERROR_NOT_INITIALIZED from every call. */
void front_initialised(void);

typedef void (*proc_fn)(void);

/* One version of one base name.  Rows are sorted by name, then twins last, then by version. */
struct proc {
	const char *base;
	int since;
	int twin;
	proc_fn fn;
};

extern const struct proc cuda_procs[];
extern const size_t cuda_nprocs;

/* The newest version of `base` that is not newer than `version`, or NULL.  *known: does the name exist at all? */
const struct proc *front_find_proc(const char *base, int version, bool twin, bool *known);

/* cuGetProcAddress_v2 while a vendor driver is traced, and the vendor's own function behind it. */
CUresult front_traced_proc_address(
	const char *symbol, void **pfn, int version, cuuint64_t flags, CUdriverProcAddressQueryResult *status);
extern CUresult (*front_vendor_proc_address)(
	const char *symbol, void **pfn, int version, cuuint64_t flags, CUdriverProcAddressQueryResult *status);

/* Private tables of NVIDIA's libraries (private_tables.c), and the answer to the integrity check (integrity.c). */
extern const void *const front_runtime_table[], *const front_integrity_table[];
CUresult front_integrity_answer(uint32_t version, uint64_t seconds, uint8_t out[16]);

/* Context-local storage of NVIDIA's runtimes (context_storage.c).  A NULL context means the current one. */
CUresult front_storage_put(CUcontext ctx, void *key, void *value, void (*drop)(CUcontext, void *, void *));
CUresult front_storage_delete(CUcontext ctx, void *key);
CUresult front_storage_get(void **value, CUcontext ctx, void *key);

/* The context is about to be destroyed: removes its values and calls their `drop` functions. */
void front_storage_drop(CUcontext ctx);
