/*
 * backend.h - the interface between the front and an implementation of CUDA.
 *
 * A backend fills a struct cuda_ops, the ops table of the driver API.  A vendor driver fills all of it.  Our own backends
 * fill the functions that they implement, with older names and per-thread twins; the front adds the calls of class local
 * (front_ops), and CUDA_ERROR_NOT_SUPPORTED for the rest.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "abi/cuda.h"
#include "gen/cuda_ops.h"

#define IPC_SECRET 16 /* bytes: random, the proof that a process was given an IPC handle */

/*
 * Passes descriptors between processes that cannot open each other's files: the workers of a server.  Published is a place
 * in the process's store, which is one file.
 */
struct ipc_broker {
	int (*publish)(
		const unsigned char secret[IPC_SECRET], uint32_t kind, int store, uint64_t offset, uint64_t size);
	void (*revoke)(const unsigned char secret[IPC_SECRET]);

	/* A descriptor of the other process's store; -ENOENT: unknown, or not for this process; -EDEADLK: our own. */
	int (*open)(const unsigned char secret[IPC_SECRET], uint32_t kind, uint64_t *offset, uint64_t *size);
	bool (*alive)(int pid); /* does this process still run? */
};

struct backend {
	const char *name; /* GANGWAY_DEVICE: "null", or the scheme before the colon of "unix:..." */
	bool vendor;      /* the table is the vendor driver's and stays as it is */

	/*
	 * Opens the device named `device` and fills `table`, which has only NULLs before.  On failure, returns the error
	 * that cuInit is to return, with the reason in `why`; may be called again.  A backend of ours calls `ending`
	 * before it destroys or resets a context.
	 */
	CUresult (*open)(
		const char *device, struct cuda_ops *table, void (*ending)(CUcontext ctx), char *why, size_t size);

	/* In a forked child, which cannot use the device: closes what the child inherited.  `open` may follow.  May be NULL. */
	void (*forked)(void);

	/* For NVIDIA's private tables, which a vendor driver implements itself. */
	CUresult (*primary)(
		CUdevice dev, CUcontext *ctx); /* the primary context's handle; neither retained nor active */
	CUresult (*stream_id)(CUcontext ctx, CUstream stream, unsigned long long *id);

	/* After `open`: share IPC handles through this broker, which stays valid.  May be NULL. */
	void (*use_broker)(const struct ipc_broker *broker);
};

extern const struct backend nvidia_backend;
