/*
 * remote.h - the inside of the client: a device in another process or on another machine.
 *
 * What CUDA defines as asynchronous is posted without an answer; what never changes is asked once; what
 * belongs to the thread (current contexts) never leaves the process.  The rest is a round trip, generated
 * (wire/call.h).  A function named remote_cuX is written by hand and wins over the generated call_cuX.
 *
 * Handles are the server's numbers.  For some of them we keep a record: what is known of a stream or
 * function without asking.  Records are found by the handle's slot and checked against all of it.
 */
#pragma once

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include "gen/call_ops.h"
#include "gen/remote_ops.h"
#include "util/list.h"
#include "util/map.h"
#include "wire/call.h"
#include "wire/devices.h"

/* ---- records.c: handle -> what we know ---- */

void *record_find(uint64_t handle, enum handle_kind kind); /* or NULL */
/* What the server gave, which says itself what kind it is: another kind is nonsense, and no record is taken for one. */
CUresult record_put(uint64_t handle, enum handle_kind kind, void *record);
void *record_take(uint64_t handle); /* forgets it; NULL: there was none */

/*
 * What has ended is not freed, because another thread may be looking at it, but used again for another of its
 * kind: the one that has lain on the shelf longest, once there are more than SHELF_REST.
 */
#define SHELF_REST 256

struct shelved {
	struct shelved *next;
};

struct shelf {
	pthread_mutex_t lock;
	struct shelved *first, *last;
	unsigned count;
};

void *shelf_take(struct shelf *s); /* as it was left; NULL: there is none */
void shelf_put(struct shelf *s, struct shelved *r);

/* ---- thread.c ---- */

/* When this thread ends, unless the link is gone by then.  False: no memory. */
bool thread_at_end(void (*f)(void *arg), void *arg);

/* ---- words.c: the link's words, for streams and events ---- */

/* The value is the last one that was asked for. */
bool words_take(struct wire_tell *w); /* false: all are in use */
void words_leave(struct wire_tell w); /* it may still be set, up to its value */

/* ---- the server's devices ---- */

struct remote {
	struct wire_devices *devices;
	void (*ending)(CUcontext ctx);
	bool local; /* shared memory, not TCP */
};

extern struct remote remote;

const struct wire_device *device_find(CUdevice dev);
void denied_apply(struct wire_device *d, bool local); /* says no to what cannot be elsewhere */

/* ---- contexts ---- */

struct stream;

struct context {
	struct context *next_ended;
	uint64_t id;
	_Atomic(uint32_t) times; /* how often it has ended: what was made in it before is gone */
	_Atomic(uint64_t) wire;  /* the same, or WIRE_CONTEXT_ENDED: destroyed, or a primary one that nobody retains */
	CUdevice device;
	bool primary;
	unsigned flags;
	unsigned long long number; /* cuCtxGetId */
	struct stream *legacy;
	struct late late; /* calls posted in it that have failed */
	struct wire_tell late_word;
	pthread_mutex_t lock;
	struct list streams;
	/* Asked once: asked.c. */
	_Atomic(uint32_t) limits_known;
	_Atomic(uint64_t) limits[16];
	_Atomic(bool) priorities_known;
	_Atomic(int) least, greatest;
};

struct context *context_current(void); /* or NULL: */
CUresult context_none(void);           /* what to answer then */

static inline bool context_ended(const struct context *c)
{
	return atomic_load_explicit(&c->wire, memory_order_relaxed) == WIRE_CONTEXT_ENDED;
}

struct context *context_find(CUcontext ctx);
void context_posted(struct context *c); /* something was posted that all its streams may have to do with */
void context_quiet(void);               /* waits until nothing of the current one is on its way */

/* ---- streams ---- */

/*
 * One that is destroyed stays in its context's list until what was posted to it is done: a context's
 * synchronizing waits for that, too.  Then its record is used again.  work and settled go on counting, so that
 * an event which was recorded in it before stays what it is: done.
 */
struct stream {
	struct shelved shelved;
	_Atomic(uint64_t) id; /* as the server knows it: 0 is the context's legacy stream */
	_Atomic(struct context *) ctx;
	struct list link; /* in ctx->streams */
	_Atomic(unsigned) flags;
	_Atomic(int) priority;
	pthread_mutex_t whole;     /* held from a copy's first piece to its last: other copies are not in between */
	pthread_mutex_t lock;      /* the word's next value is asked for in order */
	struct wire_tell tell;     /* the stream's word, and the last value asked for */
	_Atomic(bool) ended;       /* destroyed: done when the word has it */
	_Atomic(uint64_t) work;    /* commands posted; counted when they are in the ring */
	_Atomic(uint64_t) settled; /* commands known to be done */
	_Atomic(bool) capturing;
	_Atomic(struct stage *) stage; /* bulk memory that the device may still read */
	struct piece later[2]; /* of copies that are made later, down and up; size 0: none yet.  By who has `whole` */
	_Atomic(uint64_t) capture;    /* which: capture.c */
	_Atomic(uint64_t) asked;      /* when so much is done, */
	_Atomic(uint64_t) asked_tell; /* the word (above) has the value (below) */
};

struct stream *stream_legacy(struct context *c); /* a new context's; NULL: no memory */
void streams_reap(struct context *c);            /* those that have ended, if they are through */
void streams_gone(struct context *c, bool all); /* the context has ended, or been emptied: not its legacy stream then */

/* The stream a handle means, 0, 1 and 2 included; NULL: none. */
struct stream *stream_find(CUstream handle, CUresult *why);

static inline void stream_posted(struct stream *s)
{
	atomic_fetch_add_explicit(&s->work, 1, memory_order_relaxed);
}

/* What has failed in its context. */
static inline CUresult stream_late(struct stream *s)
{
	return call_late_in(&s->ctx->late);
}

CUresult stream_settle(struct stream *s); /* waits until all posted so far is done; late errors too */
bool stream_settled(struct stream *s);
bool stream_passed(struct stream *s); /* of one that has ended: is it through? */

/* The word and the value it will have when what is posted next, with them, is done.  Lock held from begin to end. */
void stream_word_begin(struct stream *s, uint32_t *value);
void stream_word_end(struct stream *s);
CUresult stream_word_wait(struct stream *s, uint32_t value);
/* The same, which ends with letting the lock go: the stream may be destroyed meanwhile. */
CUresult stream_word_end_wait(struct stream *s, uint32_t value);

CUresult stream_post_sync(struct stream *s, unsigned op, uint32_t value); /* WIRE_SYNC, or WIRE_WAKE */
/* Post args, which start with a wire_tell, and learn what the stream's word has when they are done. */
CUresult stream_ask(struct stream *s, unsigned op, const void *args, size_t size, uint32_t *value);
void stream_came(struct stream *s, uint64_t work); /* so much of it is known to be done */

/*
 * What is done when the next thing posted is: taken before it is posted, told when it is done.  What the legacy
 * stream does comes after all that its context's blocking streams had.
 */
#define POINT_STREAMS 8
struct stream_point {
	uint64_t work;
	unsigned ahead;
	struct {
		struct stream *stream;
		uint64_t work;
	} of[POINT_STREAMS];
};
void stream_point(struct stream *s, struct stream_point *p);
void stream_reached(struct stream *s, const struct stream_point *p);

/* ---- capture.c: what must not be done meanwhile ---- */

/* A call that CUDA calls unsafe: an error, and captures that do not allow it become invalid.  Nothing in most cases. */
CUresult capture_forbids(void);
/* Waiting for all of a context does so too. */
CUresult capture_forbids_in(struct context *c);

static inline CUresult capture_unsafe(void)
{
	return __builtin_expect(atomic_load_explicit(&call_careful, memory_order_relaxed), 0) ? capture_forbids()
											      : CUDA_SUCCESS;
}

/* The legacy stream would wait for streams that are being captured: only the server knows. */
static inline bool stream_in_the_way(const struct stream *s)
{
	return s->capturing || (!s->id && atomic_load_explicit(&call_careful, memory_order_relaxed));
}

/* ---- stage.c: bulk memory on its way up ---- */

#define STAGE_SMALL (32u << 10) /* such copies share a slab of the stream's */

/* A piece of the up arena, waiting for one if need be; it is the caller's. */
CUresult stage_take(struct stream *s, uint32_t size, struct piece *piece);
/* Post a frame with its piece, free again when the device has come past it; args start with a wire_tell. */
CUresult stage_post(struct stream *s, unsigned op, const void *args, size_t size, struct piece piece);
/* A copy of at most STAGE_SMALL bytes. */
CUresult stage_small(struct stream *s, CUdeviceptr dst, const void *src, uint32_t size);
void stage_reclaim(struct stream *s);
void stage_drop(struct stream *s); /* nothing of it is on its way any more */
void later_drop(struct stream *s); /* later.c: the same */

/* ---- value.c: waits for values in memory ---- */

/* Around the posting of one; NULL: nothing to keep of it.  The end gives r on. */
struct stream *values_begin(CUstream handle);
CUresult values_end(struct stream *s, CUresult r);
bool values_pending(void);                                               /* a stream may have yet to come past one */
void values_in_graph(const CUstreamBatchMemOpParams *p, unsigned count); /* these come with a graph's launches */
bool values_push(
	void); /* is there one, and something that the host may have written for it?  The server has it then. */
/* As word_wait for as long as it takes, with values_push meanwhile. */
int values_word_wait(uint32_t word, uint32_t value, int (*on_sleep)(void *arg), void *arg);

/* ---- copier.c: large copies by several threads ---- */

struct copy_job {
	struct copy_job *next;
	CUresult (*chunk)(struct copy_job *j, unsigned index);
	unsigned count;
	unsigned inside; /* helpers at work on it */
	const _Atomic(uint64_t) *context;
	_Atomic(unsigned) taken;
	_Atomic(CUresult) error;
};

/* Runs chunk() for all indices, some of them on other threads; returns when all have returned. */
CUresult copier_run(struct copy_job *j);

/* ---- memory ---- */

enum place { PLACE_HOST, PLACE_DEVICE, PLACE_SHARED };

enum place memory_place(uint64_t address);

/* Ranges of the device's addresses that we have been given. */
enum range_kind {
	RANGE_ALLOC,    /* cuMemAlloc: cuMemFree ends it */
	RANGE_POOL,     /* the same, from a pool */
	RANGE_GLOBAL,   /* a module's variable */
	RANGE_RESERVED, /* addresses to map at */
	RANGE_FOREIGN,  /* another process's */
	RANGE_GRAPH,    /* a graph's: its launches allocate and free it, again and again */
	RANGE_IMPORTED, /* the same, from a pool: cuMemFree ends it; its size is not always known */
	RANGE_LEFT,     /* of one that another was laid over: only the server knows what is there */
};

/*
 * What the server gave.  Nonsense: no address that can be one.  One that lies over another does not undo that: what is
 * left of it stays the device's, for what is taken for host memory is touched.
 */
CUresult memory_note(uint64_t address, size_t size, enum range_kind kind);
CUresult memory_note_pool(uint64_t address, size_t size, enum range_kind kind, uint64_t pool);
bool memory_remove(uint64_t address); /* what starts here and cuMemFree ends: true */
bool memory_of_graph(uint64_t address);

/* A range that starts here, ended. */
struct taken_range {
	uint64_t address;
	size_t size;
	uint64_t pool, context; /* pool: as it was noted */
};
bool memory_take_pool(uint64_t address, struct taken_range *out);
bool memory_take_reserved(uint64_t address, struct taken_range *out);

/* Bytes that the device is to read or write. */
enum known {
	KNOWN_GOOD,
	KNOWN_BAD, /* CUDA_ERROR_INVALID_VALUE, at once */
	UNKNOWN,   /* the server has to say: CUDA would say it at once */
};

enum known memory_known(uint64_t address, size_t size, bool write);

/* A call has been posted: what became of it, where that was not known before. */
static inline CUresult memory_told(CUresult r, enum known k)
{
	return r || k != UNKNOWN ? r : call_flush();
}

/* ---- array.c ---- */

size_t array_texel(CUarray array); /* 0: it is not known */

/* ---- mirror.c: managed memory that is in two places ---- */

void mirror_pull(void); /* something was waited for */
/*
 * Behind a function that the server has run here: what the function has written, on the lane on which the server must hear
 * that it has run.  False: there is no such memory.
 */
bool mirror_push_there(struct lane *lane);
/* A module's variable, which the server has here: CUDA_ERROR_NOT_SUPPORTED if we have something else there. */
CUresult mirror_variable(uint64_t address, size_t size);
void mirror_variable_gone(uint64_t address);
bool mirror_holds(uint64_t address); /* the host may touch it, here */

/* ---- mapping.c: what is mapped at reserved addresses ---- */

void mapping_add(uint64_t address, size_t size);
void mapping_remove(uint64_t address, size_t size);
void mapping_access(uint64_t address, size_t size, const CUmemAccessDesc *desc, size_t count);
bool mapping_allows(uint64_t address, size_t size, CUdevice device, bool write);

bool memory_drop(uint64_t address, enum range_kind kind);
void memory_forget(uint64_t context); /* it is gone, and what was allocated in it */

/* Host memory that the server maps too, all of it. */
bool hostmem_shared(const void *p, size_t size);
/* Host memory that CUDA knows, shared or not: a copy of it that is not asynchronous is done when the call returns. */
bool hostmem_pinned(const void *p);
CUresult hostmem_free_managed(CUdeviceptr dptr);
void hostmem_gone(uint64_t context); /* it has ended, and with it what was allocated or registered in it */
