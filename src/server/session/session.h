/*
 * session.h - everything that a worker knows of its client.
 *
 *	link_next ─▶ msg ─▶ serve_cuX ─▶ the device's ops table ─▶ reply
 *
 * One thread, the dispatcher, takes the client's calls in ticket order.  A session ends with its client: contexts are
 * destroyed, memory is freed, and the process exits.  doc/threads.md lists the worker's other threads and its locks.
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include "backend/backend.h"
#include "server/copy/mirror.h"
#include "server/session/async_errors.h"
#include "server/session/handles.h"
#include "server/session/shared_registration.h"
#include "server/wait/kernel_output.h"
#include "server/wait/stream_signal.h"
#include "transport/transport.h"
#include "util/map.h"
#include "wire/wire.h"

struct account;
struct callbacks;
struct linker;
struct nvml_state;
struct parent_channel;
struct pump;
struct session_image;
struct wait_threads;

#define MSG_FEW 4096        /* bytes of a request that need no allocation */
#define MSG_OUT (16u << 20) /* the largest reply; its pages stay untouched until a reply needs them */

struct session {
	struct link *link;
	const struct cuda_ops *ops; /* the device's table, as wrapped by quota/account.h */
	struct account *account;
	struct handles *handles;
	CUcontext context; /* current in the dispatcher */
	struct async_errors errors;

	struct shared_registration shared; /* words and arenas as the device sees them */
	struct wait_threads *wait_threads;
	unsigned spin_us; /* how long a wait thread polls the device before it sleeps; 0: the device wakes it at once */
	struct followers followers;
	_Atomic(struct callbacks *) callbacks; /* NULL until the client listens for callbacks */
	struct callbacks *callbacks_new;       /* WIRE_LISTEN has not been answered yet */
	struct pump *pump;                     /* NULL: the dispatcher takes frames off the link itself */
	atomic_uint callbacks_awaited;         /* callbacks that a driver thread waits for */
	struct kernel_output output;
	bool pool_freed; /* memory went back to a pool: the next wait lets the driver trim its pools */
	bool pool_keeps; /* the client told its pools to keep everything */

	struct session_image *images; /* images that the client has sent */
	uint64_t images_stored;       /* bytes of them that went to the image store */
	uint64_t image_cache;         /* bytes of the image store */
	struct map loaded;            /* images of loaded code, by the driver's module or library */
	struct linker *linkers;       /* cuLink states in progress */
	int image_folder;             /* the image store; -1: none, IMAGE_FOLDER_UNOPENED: not opened yet */
	int dot_fd;                   /* the graph drawn last, for cuGraphDebugDotPrint; -1: none */

	struct mirrors mirrors;
	struct map host;              /* host memory shared with the client, by address */
	unsigned host_pageable;       /* ranges of it whose registration ended with a context */
	unsigned host_refusals;       /* addresses that the client asked for and that this process uses */
	struct map vacated;           /* address ranges that the client gave back and that stay unused */
	uint64_t window, window_size; /* addresses reserved in both processes */
	struct map textures;          /* texture and surface objects, by the driver's value */
	struct map retained;          /* allocation handles that are not held exactly once, by handle */
	struct map mapped;            /* mappings of allocations, by address */
	struct nvml_state *nvml;
	struct parent_channel *parent; /* requests to the parent; NULL outside a worker, as in tests */

	uint64_t calls, answers; /* calls served; calls that the client waited for */
	unsigned op;             /* the latest call */

	/* How long calls wait in the ring: one sample at a time. */
	struct {
		uint64_t ticket; /* the call being timed; 0: none */
		uint64_t first;  /* the ticket served when the sample began */
		uint64_t began;  /* ns */
	} queue_sample;
};

/*
 * The worker's only session.  For functions whose signature CUDA or NVML fixes: entry points that quota/ and nvml/
 * wrap, and callbacks of the driver.  All others get the session as an argument.
 */
extern struct session *worker_session;

struct msg {
	struct session *session;
	struct frame frame;
	uint64_t context;
	bool broken;    /* protocol error: the session ends */
	CUresult error; /* why the call must not be made */
	CUresult result;
	int32_t value; /* result of an NVML call */
	uint8_t *in, *in_end;
	size_t out_used;
	void *heap_in;
	_Alignas(16) uint8_t few_in[MSG_FEW], out[MSG_OUT];
};

/* Prepares a zeroed session for everything that happens before a client connects, and makes it worker_session. */
void session_init(struct session *s);

/* With link, ops and account set: prepares the rest.  0 or -ENOMEM. */
int session_start(struct session *s);

/* Serves the client until it is gone.  0, or -errno if the client violated the protocol. */
int session_run(struct session *s);

/* Makes the client's context current. */
CUresult session_enter(struct session *s, uint64_t context);

/* The context has been destroyed or reset: drops what the session had in it. */
void session_context_ended(struct session *s, CUcontext context);
