/*
 * code.h - messages about code: images, functions, and what runs in the client on the server's behalf.
 *
 *	image	sent once per content: a load names it by its hash, and only bytes that the server
 *		lacks are sent (WIRE_IMAGE, in pieces of bulk memory)
 *	event	the other way: the server asks the client's listening thread to do something
 *
 * Trust: the server believes a hash only after it has computed it itself; the client looks up what an
 * event names and follows nothing.
 */
#pragma once

#include <stdint.h>
#include "abi/cuda.h"
#include "util/hash.h"

#define WIRE_IMAGE_PARTS 64           /* of a device-linked program */
#define WIRE_IMAGE_MAX   (2ull << 30) /* bytes of one */
#define WIRE_JIT_OPTIONS 64
#define WIRE_JIT_LOG     (32u << 10) /* bytes of a log that come back */
#define WIRE_PARAMS      8192        /* of one function: more than 32 KB of parameters can be */
#define WIRE_FUNC_ATTRS  16
#define WIRE_NAME        4096 /* bytes of a name, with its NUL */

struct wire_image {
	uint8_t hash[HASH_BYTES];
	uint64_t size;
};

/* Up with the frame's pieces: bytes of an image from offset on; the last one completes it. */
struct wire_upload {
	struct wire_image image;
	uint64_t offset;
};

struct wire_jit {
	uint64_t option, value;
};

/* Behind it: wire_image of each part, wire_jit of each option.  One piece: the bytes of the only part. */
enum wire_loads { WIRE_MODULE, WIRE_LIBRARY, WIRE_LAZY_LIBRARY };

/* Output of a module's kernels, which the client fetches when it waits: printed text, failed assertions. */
enum wire_prints { WIRE_PRINTS = 1, WIRE_ASSERTS = 2 };

struct wire_load {
	uint32_t library; /* enum wire_loads */
	uint32_t parts;
	uint32_t options;
	uint32_t prints; /* its kernels may: enum wire_prints */
};

/* The answer; behind it the options' values, and the logs. */
struct wire_loaded {
	int32_t result;
	uint32_t missing; /* so many parts are to be sent first */
	uint64_t id;
	uint32_t info, error; /* bytes of logs */
};

struct wire_param {
	uint16_t offset, size;
};

/* The answer to WIRE_FUNCTION; wire_param of each parameter behind it. */
struct wire_function {
	uint32_t params;
	uint32_t bytes;
	int32_t attribute[WIRE_FUNC_ATTRS];
	uint8_t known[WIRE_FUNC_ATTRS];
};

/* The name of a function or kernel. */
struct wire_name {
	uint64_t id;
	uint32_t kernel;
	uint32_t unused;
};

/* cuOccupancyMaxActiveClusters and cuOccupancyMaxPotentialClusterSize: attributes behind it. */
struct wire_cluster {
	uint64_t function, stream;
	uint32_t grid[3], block[3], shared;
	uint32_t potential;
	uint32_t attributes;
	uint32_t unused;
};

/* ---- linking: cuLink* ---- */

/* Options behind it. */
struct wire_link_create {
	uint32_t options;
	uint32_t unused;
};

/* Behind it: the name, and the options; the bytes are an image that was sent before. */
struct wire_link_add {
	uint64_t state;
	struct wire_image image;
	uint32_t type;
	uint32_t name; /* bytes with the NUL */
	uint32_t options;
	uint32_t unused;
};

/* Completing, and taking the result: bytes from offset on come back. */
struct wire_link_take {
	uint64_t state, offset;
};

/* The answer to all of these; behind it the options' values, the logs, and for _TAKE the bytes. */
struct wire_linked {
	int32_t result;
	uint32_t bytes;
	uint64_t id;
	uint64_t size; /* of the cubin */
	uint32_t info, error;
};

#define WIRE_LINK_BYTES (64u << 10)

/* ---- events: from the server to the client's listening thread ---- */

enum wire_event_kind {
	WIRE_EVENT_HOST,     /* run a host function */
	WIRE_EVENT_CALLBACK, /* run a stream callback: with a stream and a status */
	WIRE_EVENT_DESTROY,  /* a user object's destructor: nobody waits for it */
	WIRE_EVENT_OUTPUT,   /* text for stdout behind it */
	WIRE_EVENT_ERRORS,   /* text for stderr behind it */
	WIRE_EVENT_NOTIFY,   /* an asynchronous notification */
};

struct wire_event {
	uint32_t kind;
	int32_t status;
	uint64_t id;          /* as the client gave it */
	uint32_t slot, value; /* when it is done: slot's word in the page takes this value; 0: nobody waits */
};

#define WIRE_SLOTS 64 /* events that can be under way */

/* WIRE_LISTEN: its lane is for events from now on; its piece is the page of done-words, one a slot. */

/* WIRE_CALLED: the same over a network, where there is no such page that both see. */
struct wire_called {
	uint32_t slot, value;
};

/* cuLaunchHostFunc (kind WIRE_EVENT_HOST) or cuStreamAddCallback. */
struct wire_host_call {
	uint64_t stream, id;
	uint32_t kind, flags;
	uint32_t offset,
		size; /* of a host function: a piece of the down arena that comes with the event; size 0: none */
};

/* cuUserObjectCreate: the answer is the object's number. */
struct wire_object {
	uint64_t id;
	uint32_t count, flags;
};
