/*
 * client.h - the state of one connection to a server, reached from one pointer.
 *
 * open.c creates a client when the application opens its device, and destroys it in a forked child.  renew.c puts another
 * client into its place after the link was lost.  The link, the devices and the fields that every call reads are here;
 * each room keeps the rest in a struct that only its own files look into.  State of a thread (its lane, its current
 * contexts) is thread-local and not part of a client.
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include "backend/remote/session/async_errors.h"
#include "transport/transport.h"
#include "wire/devices.h"

struct client {
	struct link *link;
	char *address;                         /* of the server */
	unsigned life;                         /* clients that this process had before */
	struct client *next;                   /* retired before this one: renew.c */
	const _Atomic int *link_state;         /* not 0: the link is broken */
	bool local;                            /* the link is over shared memory, not TCP */
	struct wire_devices *devices;          /* as the server described them when the link was opened */
	void (*context_ending)(CUcontext ctx); /* of the front: called before a context loses everything in it */

	struct async_errors errors; /* of calls posted without a context */
	_Atomic(bool) lost_noted;   /* the trace says that the device is lost */
	_Atomic(unsigned) captures; /* streams being captured: call_send */
	_Atomic(bool) has_mirrors;  /* mirrored memory exists: mirror_before_work */

	struct session_state *session;
	struct wait_state *wait;
	struct copy_state *copy;
	struct graph_state *graph;
	struct memory_state *memory;
	struct code_state *code;
};

/* The client that this thread uses: guard.h.  NULL before its first call, and in a forked child. */
extern __thread struct client *client __attribute__((tls_model("initial-exec")));

/* A client of this link, which becomes its own; NULL: no memory, and the link stays the caller's. */
struct client *client_create(struct link *link);
/* Connects to a server and asks for its devices; this thread's client is the new one on success.  life: see client. */
CUresult client_connect(const char *address, unsigned life, char *why, size_t size);

/*
 * The link is broken: opens another one to the same server, with a client that takes the place of this one in all threads
 * (renew.c).  On failure nothing has changed, and the next attempt may succeed.
 */
CUresult client_renew(void);

/*
 * Destroys the link and all state.  No other thread may be inside a call.  In a forked child the parent's link is not
 * disturbed.  NULL is fine.
 */
void client_destroy(struct client *c);
