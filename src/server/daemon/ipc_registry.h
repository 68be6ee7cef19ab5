/*
 * ipc_registry.h - the parent's table of what workers of the CPU device share by IPC handles.
 *
 *	exporting worker ─ PUBLISH: secret, place, store ─▶ parent ◀─ OPEN: secret ─ importing worker
 *	                                                       └────── place, store ──────▶
 *
 * Workers cannot open each other's descriptors.  A worker publishes the 128 random bits of a handle with the place that the
 * handle means in the worker's store, a memfd.  A worker whose client was given the handle asks for the secret and gets
 * the store, if both clients have the same identity (identity.h).  Everything that a worker has published goes with it.
 *
 * Trust: messages of workers are as untrustworthy as their clients.  The parent only compares and passes on; the importing
 * worker checks store and place.  The number of entries of each worker is limited.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include "server/worker/fd_handoff.h"
#include "util/map.h"

#define IPC_ENTRIES_MAX 16384 /* of one worker */

struct worker;
struct ipc_entry;

/* The body of the messages and of their answers. */
struct handoff_ipc {
	uint64_t secret[2];
	uint64_t offset, size; /* in the store */
	uint32_t kind;
	int32_t result; /* of the answer: 0 or -errno */
};

struct ipc_registry {
	struct map entries; /* by the first half of the secret */
};

/* The entries of one worker. */
struct ipc_worker {
	struct ipc_entry *entries;
	unsigned count;
	int store; /* -1: none yet */
};

struct worker_pool;

/* Handles the messages HANDOFF_IPC_*.  False: the message is malformed, or its sender does not read the answer. */
bool ipc_registry_serve(struct worker_pool *p, struct worker *w, struct handoff_message *m);

/* The worker has ended. */
void ipc_registry_forget(struct ipc_registry *r, struct ipc_worker *w);
