/*
 * soft.h - the inside of the software driver: objects, contexts, streams, commands, memory ranges.
 *
 * Objects.  Everything the application has a handle for starts with a struct driver_object.  object_find() checks a
 * handle and takes a reference, object_put() gives it back; object_close() makes the handle unknown.  A
 * context lists what it owns, and closes all of it when it ends.
 *
 * Streams are timelines: command number n is complete when stream->completed >= n.  A command runs when it is
 * at the head of its stream and all (stream, number) pairs it depends on are complete.
 *
 *	stream A   1 ── 2 ── 3		completed = 1: 2 runs, 3 waits
 *	stream B   1 ── 2		2 depends on (A, 3): an event recorded in A, awaited in B
 *
 * An event is such a pair.  The rules of the legacy default stream are pairs added when a command is
 *submitted.
 *
 * Locks, in the order in which they may be taken: context.lock, memory lock (range.c), soft.queue_lock (the
 *queues). None is held while a command runs, while an engine is called, or while the application is called.
 *
 * Entry points are functions named soft_<exported name>; ops.h declares them.
 */
#pragma once

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "abi/cuda.h"
#include "backend/soft/backend.h"
#include "backend/soft/core/describe.h"
#include "backend/soft/engine.h"
#include "backend/soft/ops.h"
#include "backend/soft/code/kernel_printf.h"
#include "backend/soft/memory/memory_state.h"
#include "backend/soft/stream/worker_state.h"
#include "util/handle.h"
#include "util/list.h"

struct context;
struct command;
struct stream;

/* ---- objects ------------------------------------------------------------------------------------------- */

enum object_kind {
	KIND_NONE,
	KIND_CONTEXT,
	KIND_STREAM,
	KIND_EVENT,
	KIND_MODULE,
	KIND_FUNCTION,
	KIND_LIBRARY,
	KIND_KERNEL,
	KIND_LINK,
	KIND_ARRAY,
	KIND_MIPMAP,
	KIND_TEXTURE, /* objects */
	KIND_SURFACE,
	KIND_TEXREF, /* references, the old way */
	KIND_SURFREF,
	KIND_POOL,
	KIND_PHYSICAL, /* cuMemCreate */
	KIND_GRAPH,
	KIND_GRAPH_NODE,
	KIND_GRAPH_EXEC,
	KIND_USER_OBJECT,
	KIND_GREEN_CONTEXT,
	KIND_CALLBACK,
};

struct driver_object {
	uint64_t handle;
	enum object_kind kind;
	struct context *ctx; /* referenced; NULL for what belongs to no context */
	struct list link;    /* in ctx->objects */
	void (*release)(void *object);
};

/* Give a zeroed object its handle.  release(object) frees it.  -ENOMEM, -ECANCELED (ctx has ended): the
 * caller frees. */
int object_init(struct driver_object *o, enum object_kind kind, struct context *ctx, void (*release)(void *object));

/*
 * The same, with a reference for the caller besides the handle's.  What belongs to a context can be closed by
 * another thread, with the context, as soon as it exists: who still looks at it after this wants a reference.
 */
int object_init_held(
	struct driver_object *o, enum object_kind kind, struct context *ctx, void (*release)(void *object));

void *object_find(const void *handle, enum object_kind kind); /* referenced, or NULL */
void *object_find64(uint64_t handle, enum object_kind kind);
void object_ref(void *object);
void object_put(void *object);    /* NULL is fine */
bool object_close(void *object);  /* true for exactly one caller */
void object_retire(void *object); /* close when all is complete that its context has been given so far */
#define object_handle(type, o) ((type)(uintptr_t)(o)->object.handle)

/* ---- the driver, devices ------------------------------------------------------------------------------- */

struct device {
	int ordinal;  /* as the application counts: the CUdevice */
	int physical; /* before CUDA_VISIBLE_DEVICES */
	struct engine_device info;
	CUuuid uuid;
	size_t memory; /* bytes in all */
	_Atomic size_t memory_used;
	struct context *primary;      /* always there, active or not */
	pthread_mutex_t primary_lock; /* retain, release, reset; recursive, for config.context_ending */
};

struct usage;

struct soft {
	atomic_bool ready; /* soft_open has succeeded */
	pthread_mutex_t open_lock;
	const struct engine *engine;
	struct soft_config config;
	int ndevices;
	struct device devices[MAX_DEVICES];
	struct handle_table handles;
	_Atomic unsigned long long last_id; /* of contexts, streams, buffers, grids: never 0, never reused */
	pthread_once_t usage_once;
	_Atomic(struct usage *)
		usage; /* published to other processes by usage_report.c; NULL until the first context */
	pthread_once_t thread_key_once;
	pthread_key_t thread_key;                 /* its destructor frees a thread's state: thread_state.c */
	pthread_mutex_t queue_lock;               /* streams and their commands: stream/queue.c */
	_Atomic(struct command *) spare_commands; /* taken as a whole list, so there is no ABA problem */
	_Atomic unsigned parallelism;             /* processors the process may use; 0: not counted yet */
	struct worker_state workers;
	struct memory_state memory;
};

extern struct soft soft;

struct device *device_find(CUdevice dev); /* or NULL */
unsigned long long soft_next_id(void);

/* ---- contexts ------------------------------------------------------------------------------------------ */

#define LIMITS 16

struct context {
	struct driver_object object;
	struct device *device;
	bool primary;
	atomic_bool active;        /* false: destroyed, or a primary context nobody retains */
	atomic_bool ending;        /* somebody has called cuCtxDestroy */
	atomic_bool closed;        /* ended: takes in no objects (under lock) and no memory (under its lock) */
	atomic_bool stop;          /* being destroyed: running kernels may give up */
	_Atomic int error;         /* the sticky one, a CUresult */
	unsigned retained;         /* primary_lock */
	_Atomic unsigned attached; /* cuCtxAttach, beyond the first */
	_Atomic unsigned flags;
	unsigned api_version;
	unsigned long long id;
	_Atomic int cache_config; /* CUfunc_cache */
	_Atomic uint64_t peers;   /* devices whose contexts this one may access */

	pthread_mutex_t lock; /* objects, limits */
	size_t limits[LIMITS];
	struct prints prints;        /* what its kernels have printed */
	_Atomic(void *) engine_data; /* the engine's */
	struct list objects;
	struct stream *legacy;

	struct stream *gate;     /* soft.queue_lock: all others wait for it, see ctxevent.c; or NULL */
	struct list busy;        /* soft.queue_lock: streams with unfinished commands */
	_Atomic(void *) capture; /* for graphs: not NULL while a stream of it is being captured */
};

/* Set while a thread of ours runs a function of the application's: calls that need a context are refused. */
extern __thread bool soft_in_callback __attribute__((tls_model("initial-exec")));

/*
 * Every call that needs a context starts with one of these.
 *	context_current: the thread's context, or 201 (none) / 709 (destroyed, not initialised), 3 (no cuInit)
 *	context_enter:   and its sticky error, if it has one
 * The thread's stack keeps the context alive for the length of the call.
 */
CUresult context_current(struct context **ctx);
CUresult context_enter(struct context **ctx);

/* ctx by handle (NULL: current), referenced: object_put it. */
CUresult context_find(CUcontext handle, struct context **ctx);

void context_fail(struct context *ctx, CUresult error);          /* it sticks, unless one already does */
bool context_wait_until(struct context *ctx, uint64_t deadline); /* ns; false: not all of it */
void context_wait(struct context *ctx);                          /* for everything submitted so far */

/* A synchronising call has waited: show what kernels printed, give back what pools need not keep. */
void context_synchronized(struct context *ctx);

struct context *context_create(struct device *dev, unsigned flags, bool primary);
CUresult context_activate(struct context *ctx);
void context_end(struct context *ctx); /* closes all it owns; the struct itself stays */

/* Put a context on, and take it off, the thread's stack. */
CUresult thread_push_context(struct context *ctx);
struct context *thread_pop_context(void);         /* its reference is now the caller's; NULL: none */
CUresult thread_set_context(struct context *ctx); /* NULL: pop */
struct context *thread_context(void);
struct stream *thread_stream(struct context *ctx); /* the thread's own, not referenced; NULL: memory */

/* ---- streams and commands ------------------------------------------------------------------------------ */

struct stream {
	struct driver_object object;
	unsigned flags; /* CU_STREAM_* */
	int priority;   /* soft.queue_lock */
	unsigned long long id;
	bool legacy; /* the context's stream 0 */

	/* soft.queue_lock, except that completed and submitted may be read at any time */
	struct command *head, *tail; /* head may be running */
	_Atomic uint64_t submitted, completed;
	struct list blocked; /* streams whose head waits for us */
	struct list wait;    /* our place in such a list, or in the list of ready streams */
	bool ready;          /* in the latter: nobody has begun with its head */
	struct list busy;    /* in context.busy */

	_Atomic uint32_t waiters, wake; /* threads asleep in stream_wait */

	_Atomic(void *) capture;         /* for graphs: not NULL while the stream is being captured */
	CUstreamAttrValue attributes[5]; /* soft.queue_lock; see streamattr.c */
};

struct dep {
	struct stream *stream; /* referenced */
	uint64_t number;
};

enum command_kind {
	COMMAND_OTHER,
	COMMAND_EMPTY,
	COMMAND_LAUNCH,
	COMMAND_COPY,
	COMMAND_FILL,
	COMMAND_HOST,
	COMMAND_RECORD,
	COMMAND_MEMOP,
};

struct command_ops {
	enum command_kind kind;
	CUresult (*run)(struct command *c); /* may run more than once: it must not use the payload up */
	void (*release)(struct command *c); /* may be NULL */
	bool always;                        /* run even when the context has failed */
};

/*
 * A piece of work.  The payload is what ops understand: struct copy, struct fill, struct kernel_node ... It is
 * a plain value, so that a graph can keep it, look at it, change it, and run it as often as it likes.
 */
#define COMMAND_INLINE 512
#define COMMAND_DEPS   4

struct command {
	const struct command_ops *ops;
	struct context *ctx; /* set by stream_submit */
	struct stream *stream;
	struct command *next;
	uint64_t number;
	bool released;
	unsigned ndeps, max_deps;
	struct dep *deps;
	struct dep inline_deps[COMMAND_DEPS];
	void *data; /* the payload, zeroed: here or on the heap */
	_Alignas(16) unsigned char inline_payload[COMMAND_INLINE];
};

extern const struct command_ops command_empty; /* does nothing; for its place and its dependencies */

struct command *command_create(const struct command_ops *ops, size_t payload); /* NULL: no memory */
void command_release(struct command *c); /* what the payload holds; before completion is told */
void command_destroy(struct command *c); /* release, and back to the free list; NULL is fine */
int command_depend(struct command *c, struct stream *s, uint64_t number); /* 0 or -ENOMEM */
CUresult command_run(struct command *c);                                  /* does it, here and now */

/*
 * Hand a command over.  This is the one place where a captured stream diverts it into its graph.
 * Takes the command in any case.  *number (may be NULL) is what to wait for.
 */
CUresult stream_submit(struct stream *s, struct command *c, uint64_t *number);

/* Submit, and wait until it is done; runs on this thread when nothing is ahead of it. */
CUresult stream_run(struct stream *s, struct command *c);

/* As stream_submit, but a command that is quick is run here and now if nothing is ahead of it. */
CUresult stream_submit_quick(struct stream *s, struct command *c);

void stream_wait(struct stream *s, uint64_t number, bool spin);
bool stream_done(struct stream *s, uint64_t number);
bool stream_idle(struct stream *s);           /* nothing it would wait for, by rule either */
bool stream_blocking(const struct stream *s); /* takes part in the legacy stream's rules */

/* With one reference, the handle's: object_close drops it. */
struct stream *stream_create(struct context *ctx, unsigned flags, int priority);
struct stream *stream_create_held(struct context *ctx, unsigned flags, int priority); /* and the caller's */

int stream_priority(int wanted); /* the nearest we have */

/*
 * The stream an application means, referenced, and its context, alive and without a sticky error.
 * 0 is the legacy stream, or the thread's own while per_thread_default is set; 1 and 2 name the two.
 */
CUresult stream_enter(CUstream handle, struct stream **s);

/* ---- graphs: what capture.c provides ---- */

CUresult capture_command(struct stream *s, struct command *c) __attribute__((weak)); /* takes the command */
CUresult capture_forbids(struct stream *s) __attribute__((weak)); /* for calls a capturing stream may not see */
/* s is about to be destroyed: a stream that joined a capture leaves its work behind, the first one may not go. */
CUresult capture_leave(struct stream *s) __attribute__((weak));

/* Memory in stream order, of a captured stream. */
CUresult capture_alloc(struct stream *s, struct device *d, size_t size, CUdeviceptr *out);
CUresult capture_free(struct stream *s, CUdeviceptr ptr);

/* Free what a graph's alloc node allocated, in stream order, *r saying how it went; false: it is no such
 * thing. */
bool graph_free(struct stream *s, CUdeviceptr ptr, CUresult *r);

/* For calls that may be unsafe while anything is captured (cuMemAlloc ...): an error if a capture forbids
 * them. */
CUresult capture_unsafe(void);

CUresult capture_context(struct context *ctx); /* for calls that wait for all of a context */
void capture_end_context(struct context *ctx); /* ends what is being captured there */

/* ---- device usage, published to other processes (usage_report.c) -------------------------------------- */

void usage_report_context(struct device *d, int change);    /* +1 or -1 contexts */
void usage_report_memory(struct device *d, int64_t change); /* bytes */
size_t usage_of_others(struct device *d);                   /* bytes of the device's memory that other processes hold */

/* Count the device as busy while c runs.  The result, which may be NULL, goes to usage_report_end. */
struct usage *usage_report_begin(const struct command *c);
void usage_report_end(struct usage *u, const struct command *c);

/* ---- worker threads ------------------------------------------------------------------------------------ */

void workers_add_ready(struct stream *s); /* soft.queue_lock held: its head can run */
uint64_t soft_now(void);                  /* CLOCK_MONOTONIC, ns */
