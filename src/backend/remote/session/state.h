/* state.h - the state of the session: records of handles, contexts and callbacks.  For the files of this room only. */
#pragma once

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include "transport/transport.h"
#include "util/handle.h"
#include "util/map.h"
#include "wire/devices.h"

struct context;
struct record_slot;

/* records.c: slots of handles, in chunks that are allocated when needed */
#define RECORD_CHUNK 4096 /* slots in a chunk, and chunks in the table */
struct record_table {
	pthread_mutex_t write_lock; /* lookups take no lock */
	_Atomic(struct record_slot *) chunks[RECORD_CHUNK];
	pthread_rwlock_t carried_lock;
	struct map carried; /* struct carried_record by handle: handles of a former client's that stay valid */
	_Atomic(bool) has_carried;
};

/* context.c */
struct context_table {
	pthread_mutex_t lock;
	/* Held from the beginning to the end of a reset: a thread that retains waits.  context_ending may come back here. */
	pthread_mutex_t reset_lock;
	struct {
		struct context *ctx; /* NULL: not yet asked for */
		unsigned retained, flags;
		bool held;       /* the client retains it in the server */
		uint64_t former; /* its handle with a former client, which it keeps; 0: none */
	} primary[WIRE_DEVICES_MAX];
	_Atomic(struct context *) newest;
	struct context *lost;  /* stands for contexts of former clients, or NULL */
	struct context *ended; /* destroyed contexts, which another thread may still have current */
	atomic_ullong numbers; /* last value of cuCtxGetId given out */
};

void contexts_finish(struct context_table *t);

/* callbacks.c */
struct callback_table {
	struct handle_table handles;
	pthread_mutex_t lock;
	struct map host_functions; /* of graphs: by function and data */
	atomic_bool running;       /* the callback thread uses this client */
	CUresult started;          /* CUDA_ERROR_NOT_INITIALIZED: the callback thread has not been started */
	struct lane *lane;         /* of the callback thread */
	struct piece done_words;   /* in the up arena: the server waits on them for a callback to return */
	atomic_uint pending; /* posted and not yet run: the application's functions, and those that write its memory */
	atomic_bool in_graphs; /* graphs have such functions, which may run at any time */
};

struct session_state {
	struct record_table records;
	struct context_table contexts;
	struct callback_table callbacks;
};

struct session_state *session_state_create(void); /* NULL: no memory */
void session_state_destroy(struct session_state *s);
