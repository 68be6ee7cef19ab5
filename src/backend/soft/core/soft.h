/*
 * soft.h - the internals of the software driver: objects, contexts, streams, commands.
 *
 * Objects.  Everything that has a handle starts with a struct driver_object.  object_find() checks a handle and
 * takes a reference, object_put() drops a reference, object_close() invalidates the handle.  A context lists the
 * objects it owns, and closes all of them when it ends.
 *
 * Streams are timelines: command number n is complete when stream->completed >= n.  A command runs when it is
 * at the head of its stream and all (stream, number) pairs it depends on are complete.
 *
 *	stream A   1 ── 2 ── 3		completed = 1: 2 runs, 3 waits
 *	stream B   1 ── 2		2 depends on (A, 3): an event recorded in A, awaited in B
 *
 * An event is such a pair.  The rules of the legacy default stream are pairs, too, added when a command is submitted.
 *
 * Locks, in the order in which a thread may take them: context.lock, the memory lock (range.c), soft.queue_lock.
 * No thread holds one of them while it runs a command, calls an engine, or calls the application.
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
#include "backend/soft/code/kernel_printf.h"
#include "backend/soft/check.h"
#include "backend/soft/core/describe.h"
#include "backend/soft/engine.h"
#include "backend/soft/memory/memory_state.h"
#include "backend/soft/ops.h"
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
	KIND_TEXTURE, /* texture and surface objects */
	KIND_SURFACE,
	KIND_TEXREF, /* texture and surface references, deprecated in CUDA */
	KIND_SURFREF,
	KIND_POOL,
	KIND_PHYSICAL, /* cuMemCreate */
	KIND_GRAPH,
	KIND_GRAPH_NODE,
	KIND_GRAPH_EXEC,
	KIND_USER_OBJECT,
};

struct driver_object {
	uint64_t handle;
	enum object_kind kind;
	struct context *ctx; /* referenced; NULL: belongs to no context */
	struct list link;    /* in ctx->objects */
	void (*release)(void *object);
};

/*
 * Give a zeroed object its handle and one reference, which belongs to the handle.  release(object) frees the object.
 * On failure (-ENOMEM; -ECANCELED: ctx has ended) the caller frees it.
 */
int object_init(struct driver_object *o, enum object_kind kind, struct context *ctx, void (*release)(void *object));

/*
 * As object_init, with a second reference for the caller.  Another thread may end the context, and with it close the
 * new object, at any time: a caller that uses the object after creating it needs its own reference.
 */
int object_init_held(
	struct driver_object *o, enum object_kind kind, struct context *ctx, void (*release)(void *object));

void *object_find(const void *handle, enum object_kind kind); /* referenced, or NULL */
void *object_find64(uint64_t handle, enum object_kind kind);
void object_ref(void *object);
void object_put(void *object);    /* drop a reference; NULL is allowed */
bool object_close(void *object);  /* invalidate the handle and drop its reference; true for exactly one caller */
void object_retire(void *object); /* close the object when all work submitted to its context so far is complete */
#define object_handle(type, o) ((type)(uintptr_t)(o)->object.handle)

/* ---- the driver, devices ------------------------------------------------------------------------------- */

struct device {
	int ordinal;  /* the application's number for it: the CUdevice */
	int physical; /* number before CUDA_VISIBLE_DEVICES is applied */
	struct engine_device info;
	CUuuid uuid;
	size_t memory; /* bytes, total */
	_Atomic size_t memory_used;
	struct context *primary;      /* exists always, active or not */
	pthread_mutex_t primary_lock; /* for retain, release, reset; recursive: config.context_ending may call CUDA */
};

struct usage;

#define CACHE_LINE 64 /* fields that many threads write are in cache lines of their own */

struct soft {
	/* Rarely written. */
	atomic_bool ready; /* soft_open has succeeded */
	pthread_mutex_t open_lock;
	const struct engine *engine;
	struct soft_config config;
	int ndevices;
	struct device devices[MAX_DEVICES];
	_Atomic unsigned parallelism;  /* processors that the process may use; 0: not counted yet */
	_Atomic(struct usage *) usage; /* published by usage_report.c; NULL until the first context */
	pthread_once_t usage_once, thread_key_once;
	pthread_key_t thread_key; /* its destructor frees the state of a thread: thread_state.c */

	pthread_mutex_t contexts_lock; /* a leaf: no other lock is taken under it */
	struct list contexts;          /* of struct context, also those that are not active */

	_Alignas(CACHE_LINE) struct handle_table handles;
	_Atomic unsigned long long last_id; /* of contexts, streams, buffers, grids: never 0, never reused */

	_Alignas(CACHE_LINE) pthread_mutex_t queue_lock;               /* streams and commands: stream/queue.c */
	_Alignas(CACHE_LINE) _Atomic(struct command *) spare_commands; /* taken as a whole list: no ABA problem */
	_Alignas(CACHE_LINE) struct worker_state workers;
	_Alignas(CACHE_LINE) struct memory_state memory;
	struct check_state check; /* the checked mode */
};

extern struct soft soft;

struct device *device_find(CUdevice dev); /* NULL: no such device */
unsigned long long soft_next_id(void);

/* ---- contexts ------------------------------------------------------------------------------------------ */

#define LIMITS 16

struct context {
	struct driver_object object;
	struct device *device;
	bool primary;
	atomic_bool active; /* false: destroyed, or a primary context that is not retained */
	atomic_bool ending; /* cuCtxDestroy was called */
	atomic_bool closed; /* ended: accepts no objects (checked under lock) and no ranges (under the memory lock) */
	atomic_bool stop;   /* ending, grace time over: running kernels give up */
	_Atomic int error;  /* the sticky error, a CUresult */
	unsigned retained;  /* primary_lock */
	_Atomic unsigned attached; /* cuCtxAttach, beyond the first */
	_Atomic unsigned flags;
	unsigned api_version;
	unsigned long long id;
	_Atomic int cache_config; /* CUfunc_cache */
	_Atomic uint64_t peers;   /* bit mask of devices with peer access enabled */

	pthread_mutex_t lock; /* objects, limits */
	size_t limits[LIMITS];
	struct printf_buffer printf_buffer; /* output of its kernels */
	_Atomic(void *) engine_data;        /* see engine.h */
	struct list objects;
	struct stream *legacy;

	struct stream *gate;     /* soft.queue_lock: all other streams wait for it, see context_event.c; or NULL */
	struct list busy;        /* soft.queue_lock: streams with unfinished commands */
	struct list all;         /* link in soft.contexts */
	_Atomic(void *) capture; /* not NULL while one of its streams is being captured: graph/ */
};

/* Set while a worker runs a function of the application, which must not make calls that need a context. */
extern __thread bool soft_in_callback __attribute__((tls_model("initial-exec")));

/*
 * Every call that needs a context starts with one of these.
 *	context_current: the thread's context; errors 201 (none), 709 (destroyed or inactive), 3 (no cuInit)
 *	context_enter:   the same; a sticky error of the context is an error, too
 * The reference of the thread's context stack keeps the context alive during the call.
 */
CUresult context_current(struct context **ctx);
CUresult context_enter(struct context **ctx);

/* Find a context by handle (NULL: the current one).  The caller drops the reference with object_put. */
CUresult context_find(CUcontext handle, struct context **ctx);

void context_fail(struct context *ctx, CUresult error);          /* set the sticky error, unless there is one already */
bool context_wait_until(struct context *ctx, uint64_t deadline); /* false: the deadline (ns) passed first */
void context_wait(struct context *ctx);                          /* until everything submitted so far is complete */
void contexts_wait(void);                                        /* the same for all contexts */

/* Called after a synchronising call has waited: shows the output of kernels and trims the memory pools. */
void context_synchronized(struct context *ctx);

bool context_flags_ok(unsigned flags); /* CU_CTX_* as cuCtxCreate accepts them */
struct context *context_create(struct device *dev, unsigned flags, bool primary);
CUresult context_activate(struct context *ctx);
void context_end(struct context *ctx); /* closes all objects it owns; the struct itself remains */

/* The calling thread's stack of contexts. */
CUresult thread_push_context(struct context *ctx);
struct context *thread_pop_context(void);         /* the caller gets the reference; NULL: the stack is empty */
CUresult thread_set_context(struct context *ctx); /* replace the top; NULL: pop */
struct context *thread_context(void);
struct stream *thread_stream(struct context *ctx); /* its per-thread default stream, not referenced; NULL: no memory */

/* ---- streams and commands ------------------------------------------------------------------------------ */

struct stream {
	struct driver_object object;
	unsigned flags; /* CU_STREAM_* */
	int priority;   /* soft.queue_lock */
	unsigned long long id;
	bool legacy; /* this is the context's stream 0 */

	/* Protected by soft.queue_lock; completed and submitted may be read without it. */
	struct command *head, *tail; /* the head may be running */
	_Atomic uint64_t submitted, completed;
	struct list blocked; /* streams whose head waits for this one */
	struct list wait;    /* link in another stream's `blocked`, or in the list of ready streams */
	bool ready;          /* in the list of ready streams: no thread has taken its head yet */
	struct list busy;    /* link in context.busy */

	_Atomic uint32_t waiters, wake; /* threads that sleep in stream_wait; the futex word they sleep on */

	_Atomic(void *) capture;         /* not NULL while the stream is being captured: graph/ */
	CUstreamAttrValue attributes[5]; /* soft.queue_lock; see stream_attribute.c */
};

/* A point on a timeline: command `number` of `stream`. */
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
	CUresult (*run)(struct command *c); /* may be called more than once: must not consume the payload */
	void (*release)(struct command *c); /* may be NULL */
	bool always;                        /* runs even if the context has a sticky error */
};

/*
 * A command.  Its payload (struct copy, struct fill, struct kernel_node ...) is a plain value that ops understand, so
 * that a graph can keep it, read it, change it, and run it repeatedly.
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
	bool blocks; /* until something outside the device happens: runs on a worker only */
	unsigned ndeps, max_deps;
	struct dep *deps;
	struct dep inline_deps[COMMAND_DEPS];
	void *data; /* the payload, initially zero: inline_payload, or on the heap */
	_Alignas(16) unsigned char inline_payload[COMMAND_INLINE];
};

extern const struct command_ops command_empty; /* does nothing: for its place in the stream and its dependencies */

struct command *command_create(const struct command_ops *ops, size_t payload); /* NULL: no memory; payload in bytes */
void command_release(struct command *c); /* drop what the payload references; before the command completes */
void command_destroy(struct command *c); /* release and free; NULL is allowed */
int command_depend(struct command *c, struct stream *s, uint64_t number); /* 0 or -ENOMEM */
int command_depend_on_context(struct command *c, struct context *ctx);    /* on all its work; soft.queue_lock held */
CUresult command_run(struct command *c);                                  /* on this thread, at once */

/*
 * Append a command to a stream.  If the stream is being captured, the command goes into the graph: this is the only
 * place that decides so.  Takes the command, even on failure.  *number (may be NULL) is the command's number.
 */
CUresult stream_submit(struct stream *s, struct command *c, uint64_t *number);

/* Submit a command and wait until it is complete.  Runs it on this thread if nothing is ahead of it. */
CUresult stream_run(struct stream *s, struct command *c);

/* As stream_submit, for a short command: runs it on this thread at once if nothing is ahead of it. */
CUresult stream_submit_quick(struct stream *s, struct command *c);

/* Make the commands that follow in s wait until a point is complete.  Takes the reference to the point's stream. */
CUresult stream_wait_point(struct stream *s, struct dep point);

void stream_wait(struct stream *s, uint64_t number, bool spin);
bool stream_done(struct stream *s, uint64_t number);
bool stream_idle(struct stream *s);           /* no command pending in it or, by the rules of CUDA, ahead of it */
bool stream_blocking(const struct stream *s); /* synchronises with the legacy stream */

/* Create a stream with one reference, the handle's: object_close drops it. */
struct stream *stream_create(struct context *ctx, unsigned flags, int priority);
struct stream *stream_create_held(struct context *ctx, unsigned flags, int priority); /* and one for the caller */

int stream_priority(int wanted); /* clamped to the supported range */

/*
 * Find the stream that a handle means, referenced; fails if a context is missing, inactive or has a sticky error.
 * Handle 0 is the legacy stream, or the per-thread stream while per_thread_default is set; 1 and 2 are these two.
 */
CUresult stream_enter(CUstream handle, struct stream **s);

/* ---- graphs (capture.c, graph_memory.c) --------------------------------------------------------------- */

CUresult capture_command(struct stream *s, struct command *c); /* takes the command */

/* For calls that a captured stream does not allow: invalidates the capture of s and returns the error. */
CUresult capture_reject_stream(struct stream *s);

/* The same, and CUDA_SUCCESS if s is not being captured. */
static inline CUresult stream_check_uncaptured(struct stream *s)
{
	return atomic_load_explicit(&s->capture, memory_order_acquire) ? capture_reject_stream(s) : CUDA_SUCCESS;
}

/* Called before s is destroyed.  A stream that joined a capture leaves its nodes there; the origin stream fails. */
CUresult capture_reject_destroy(struct stream *s);

/* Stream-ordered allocation in a captured stream. */
CUresult capture_alloc(struct stream *s, struct device *d, size_t size, CUdeviceptr *out);
CUresult capture_free(struct stream *s, CUdeviceptr ptr);

/* Free memory of a graph's alloc node in stream order, with the result in *r.  False: ptr is no such memory. */
bool graph_free(struct stream *s, CUdeviceptr ptr, CUresult *r);

/* The error for calls that CUDA calls potentially unsafe during capture (cuMemAlloc ...), if a capture forbids them. */
CUresult capture_reject_unsafe_call(void);

CUresult capture_reject_context(struct context *ctx); /* the same, for calls that wait for a whole context */
void capture_end_context(struct context *ctx);        /* ends all captures in ctx */

/* ---- device usage, published to other processes (usage_report.c) -------------------------------------- */

void usage_report_context(struct device *d, int change);    /* +1 or -1 contexts */
void usage_report_memory(struct device *d, int64_t change); /* bytes */
size_t usage_of_others(struct device *d);                   /* bytes of the device's memory that other processes hold */

/* Count the device as busy while c runs.  The result, which may be NULL, goes to usage_report_end. */
struct usage *usage_report_begin(const struct command *c);
void usage_report_end(struct usage *u, const struct command *c);

uint64_t soft_now(void); /* CLOCK_MONOTONIC, ns */
