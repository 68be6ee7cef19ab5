/*
 * ipc.h - memory and events in two processes of one user.
 *
 * A handle is 64 bytes that say where to look: the process, its descriptor of the store, and what lies there.
 * The other process opens /proc/<pid>/fd/<fd>: the kernel lets it exactly if it may look into the first one
 * (the same user, not hidden from each other), and nobody has to serve a socket.
 *
 *	| magic 4 | kind 4 | pid 4 | fd 4 | dev 8 | inode 8 | offset 8 | size 8 | rest 12 | sum 4 |
 *
 * Trust: handles are forged, stale, and meant for others.  ipc_open goes by the file's identity, its name,
 *its seals and its owner, and holds the offsets against its length.
 */
#pragma once

#include <stdint.h>

#include "backend/soft/stream/event.h"

enum ipc_kind {
	IPC_MEMORY = 1,
	IPC_EVENT = 2,
};

struct ipc_place {
	int fd; /* opened; the caller closes it */
	int pid;
	uint64_t inode;
	uint64_t offset, size;
};

/* A handle for a piece of our store. */
int ipc_handle(void *handle, enum ipc_kind kind, uint64_t offset, uint64_t size);

/* 0, -EINVAL: not a handle of this kind; -ESRCH: gone, or not ours to see; -EDEADLK: our own. */
int ipc_open(const void *handle, enum ipc_kind kind, struct ipc_place *place);

/* What interprocess events (event->shared) do in place of others. */
struct shared_event *shared_event_create(void);
void shared_event_destroy(struct shared_event *e);
CUresult shared_event_record(struct event *e, struct stream *s);
CUresult shared_event_wait(struct event *e, struct stream *s); /* in stream order */
bool shared_event_done(struct shared_event *e);
void shared_event_sync(struct shared_event *e);
