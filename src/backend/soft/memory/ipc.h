/*
 * ipc.h - sharing memory and events between two processes of one user.
 *
 * Each exported piece of the store has a record in the export table, a memfd of the exporting process.  A handle is 64
 * bytes that name the process, its descriptor of the table and the record, and carry the record's random secret.
 *
 *	handle	| magic 4 | kind 4 | pid 4 | fd 4 | dev 8 | inode 8 | record 8 | zero 8 | secret 16 |
 *	record	| secret 16 | offset 8 | size 8 | store's inode 8 | store's fd 4 | pid 4 | kind 4 | zero 4 |
 *
 * The other process opens /proc/<pid>/fd/<fd>.  The kernel allows this exactly if that process may inspect the first
 * one (same user, not hidden from each other), so no process has to serve a socket.
 *
 * A worker of a server cannot open descriptors of other workers.  There the export is published to a broker (backend.h),
 * which passes the store on to processes that know the secret; such a handle has fd -1, and zeros
 * in place of process, file and record.
 *
 * Trust: handles may be forged, stale, or meant for another process.  A handle opens only the piece that its record
 * describes, and only with the record's secret: 128 random bits, new for each export and erased when the piece is freed.
 * The table is a file of its own because other processes write to the store.  ipc_open checks identity, name, seals and
 * owner of both files, and compares offset and size with the length of the store.
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

/* A piece of this process's store that other processes may open. */
struct ipc_export {
	unsigned char handle[CU_IPC_HANDLE_SIZE];
	uint64_t record;  /* index in the export table */
	struct list link; /* in soft.memory.ipc.unused_exports */
};

struct ipc_export *ipc_export_create(enum ipc_kind kind, uint64_t offset, uint64_t size); /* NULL: failed */
void ipc_export_destroy(struct ipc_export *e); /* the handle becomes invalid; NULL is allowed */

/* 0; -EINVAL: not a handle of this kind; -ESRCH: gone, or no access; -EDEADLK: a handle of this process. */
int ipc_open(const void *handle, enum ipc_kind kind, struct ipc_place *place);

bool ipc_process_alive(int pid); /* does this process, which shares something with us, still run? */

/* The operations of interprocess events (event->shared), in event_ipc.c. */
struct shared_event *shared_event_create(void);
void shared_event_destroy(struct shared_event *e);
CUresult shared_event_record(struct event *e, struct stream *s);
CUresult shared_event_wait(struct event *e, struct stream *s); /* makes s wait */
bool shared_event_done(struct shared_event *e);
void shared_event_sync(struct shared_event *e);
