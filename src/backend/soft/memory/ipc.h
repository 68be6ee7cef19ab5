/*
 * ipc.h - sharing memory and events between two processes of one user.
 *
 * A handle is 64 bytes that name a process, its descriptor of the store, and a place in the store.  The other process
 * opens /proc/<pid>/fd/<fd>.  The kernel allows this exactly if that process may inspect the first one (same user,
 * not hidden from each other), so no process has to serve a socket.
 *
 *	| magic 4 | kind 4 | pid 4 | fd 4 | dev 8 | inode 8 | offset 8 | size 8 | rest 12 | sum 4 |
 *
 * Trust: handles may be forged, stale, or meant for another process.  ipc_open checks the file's identity, name, seals
 * and owner, and compares offset and size with its length.
 */
#pragma once

#include <stdint.h>

#include "backend/soft/stream/event.h"

enum ipc_kind {
	IPC_MEMORY = 1,
	IPC_EVENT = 2,
};

struct ipc_place {
	int fd; /* open; the caller closes it */
	int pid;
	uint64_t inode;
	uint64_t offset, size;
};

/* Write a handle for a part of this process's store.  0 or -errno. */
int ipc_handle(void *handle, enum ipc_kind kind, uint64_t offset, uint64_t size);

/* 0; -EINVAL: not a handle of this kind; -ESRCH: gone, or no access; -EDEADLK: a handle of this process. */
int ipc_open(const void *handle, enum ipc_kind kind, struct ipc_place *place);

/* The operations of interprocess events (event->shared), in event_ipc.c. */
struct shared_event *shared_event_create(void);
void shared_event_destroy(struct shared_event *e);
CUresult shared_event_record(struct event *e, struct stream *s);
CUresult shared_event_wait(struct event *e, struct stream *s); /* makes s wait */
bool shared_event_done(struct shared_event *e);
void shared_event_sync(struct shared_event *e);
