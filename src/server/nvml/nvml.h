/*
 * nvml.h - NVML for clients: answered for the devices that the worker has open, and for no others.
 *
 *	libnvidia-ml.so.1 in a client ─▶ its own worker ─▶ the vendor's NVML, or our own for cpu and null
 *
 * The devices are those that CUDA shows in this worker, in CUDA's order.  nvml_processes.h says which processes a
 * client sees.  No call of a client changes the state of a device.
 */
#pragma once

#include <pthread.h>
#include "gen/nvml_ops.h"
#include "host/usage.h"
#include "server/session/dispatch.h"
#include "server/session/session.h"
#include "wire/nvml.h"

#define NVML_PARTS 64 /* MIG devices that a client may name, beyond the devices themselves */

struct nvml_state {
	const char *device;  /* what the worker has open: "nvidia", "cpu", "null" */
	struct nvml_ops ops; /* complete once `opened` is set */
	bool opened;
	bool vendor; /* `ops` is the vendor's library */
	nvmlReturn_t open_result;
	unsigned ndevices, nparts;
	nvmlDevice_t devices[WIRE_NVML_DEVICES_MAX], parts[NVML_PARTS];
	struct wire_nvml_devices identity; /* of the devices: constant */

	pthread_t context_releaser; /* nvml.c: gives up the context of a client that does not use CUDA */
	bool context_releasing;

	/* nvml_quota.c: the functions behind the wrapped ones */
	nvmlReturn_t (*memory_info)(nvmlDevice_t device, nvmlMemory_t *memory);
	nvmlReturn_t (*memory_info_v2)(nvmlDevice_t device, nvmlMemory_v2_t *memory);

	struct usage_client client;          /* whom this worker serves, as other workers see it */
	struct visible_processes *processes; /* nvml_processes.c: scratch memory */
	struct msg *batch_msg;               /* nvml_batch.c: scratch memory */
};

/* Allocates the state, before any client connects.  False: no memory. */
bool nvml_init(struct session *s, const char *device);

/* Opens the vendor's NVML, which takes time, before a client waits for it. */
void nvml_warm_up(struct session *s);

/* NULL: there is no such call. */
const struct served *nvml_find(unsigned op);

/* A client that began with NVML calls makes its first CUDA call: waits until its context has been given up. */
void nvml_settle(void);
