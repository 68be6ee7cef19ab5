/*
 * front.h - the library an application loads, up to the table of a device.
 *
 *	exported cuX ──now──▶ boot table      chooses the device at the first call, then calls on
 *	                 └──▶ trace table ──▶ device's table
 *	                 └──────────────────▶ device's table
 *
 * An exported function is one load and one jump: no check, no lock.  Nothing is opened, read or
 * started before the first call; loading the library does no work at all.
 */
#pragma once

#include <stdatomic.h>
#include "backend/backend.h"
#include "gen/cuda_ops.h"
#include "gen/cuda_protos.h"
#include "gen/front_ops.h"
#include "gen/version.h"

/* What cuDriverGetVersion says. */
#define FRONT_CUDA_VERSION GANGWAY_CUDA_VERSION

extern _Atomic(const struct cuda_ops *) front_now;
extern const struct cuda_ops cuda_boot_ops;

/* Chooses and opens the device if that has not happened; never NULL: a table of refusals if it fails. */
const struct cuda_ops *front_start(void);

/* What is behind the trace: valid for front_cuX functions, which only run once a device is open. */
const struct cuda_ops *front_device(void);
const struct backend *front_backend(void);

/* The backend's own functions, for those of ours that stand before one of them. */
const struct cuda_ops *front_behind(void);

/* CUDA_LAUNCH_BLOCKING, if it is set: launches of this table wait. */
void front_block_launches(struct cuda_ops *t);

/* cuInit succeeded: from now on a forked child may not go on with what it inherited. */
void front_initialised(void);

/* Context-local storage of NVIDIA's runtimes: run and forget what is stored for a context. */
void front_storage_drop(CUcontext ctx);

typedef void (*proc_fn)(void);

/* One version of one base name; rows of a name are together, oldest first, twins last. */
struct proc {
	const char *base;
	int since;
	int twin;
	proc_fn fn;
};

extern const struct proc cuda_procs[];
extern const size_t cuda_nprocs;

/* The newest version of `base` not newer than `version`; NULL with *known telling whether the name exists. */
const struct proc *front_find_proc(const char *base, int version, bool twin, bool *known);

/* cuGetProcAddress_v2 while a vendor's driver is traced, and the vendor's own behind it. */
CUresult front_traced_proc_address(
	const char *symbol, void **pfn, int version, cuuint64_t flags, CUdriverProcAddressQueryResult *status);
extern CUresult (*front_vendor_proc_address)(
	const char *symbol, void **pfn, int version, cuuint64_t flags, CUdriverProcAddressQueryResult *status);

/* Private tables that NVIDIA's own libraries ask for (export.c) and what is hashed into them (integrity.c). */
extern const void *const front_runtime_table[], *const front_integrity_table[];
CUresult front_integrity_answer(uint32_t version, uint64_t seconds, uint8_t out[16]);

/* Per-context storage (storage.c) behind the table that every CUDA runtime uses. */
CUresult front_storage_put(CUcontext ctx, void *key, void *value, void (*drop)(CUcontext, void *, void *));
CUresult front_storage_delete(CUcontext ctx, void *key);
CUresult front_storage_get(void **value, CUcontext ctx, void *key);
