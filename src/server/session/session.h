/*
 * session.h - one client process, in a worker process of its own.
 *
 *	link_next ─▶ msg ─▶ serve_cuX ─▶ the device's table ─▶ answer
 *
 * One thread, the dispatcher, takes the client's calls in the order in which they were issued.  A
 * session ends with its client, and with it everything the client had: contexts are destroyed, memory
 * is freed, and the process exits.
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include "backend/backend.h"
#include "server/session/handles.h"
#include "transport/transport.h"
#include "util/map.h"
#include "wire/wire.h"

struct images;
struct events;
struct waiters;

#define SESSION_PRINTING 8
#define MSG_FEW          4096        /* bytes that need no allocation */
#define MSG_OUT          (16u << 20) /* the largest answer: memory that is not used until then */

struct session {
	struct link *link;
	const struct cuda_ops *ops;
	struct handles *handles;
	CUcontext context; /* current in the dispatcher */
	uint64_t words;    /* where the device sees the link's words; 0: it does not */
	struct waiters *waiters;
	unsigned look_us;      /* how long they look at a device before they sleep; 0: it wakes them at once */
	struct images *images; /* what the client has sent: images.c */
	_Atomic(struct events *) events; /* where the client listens: events.c; NULL: it does not */
	bool freed;               /* to a pool: it gives back what it need not keep when somebody waits by a call */
	bool keeps;               /* pools keep everything */
	bool pumped;              /* frames come through a pump: the link's next one is not the next */
	_Atomic(unsigned) prints; /* what loaded code may do: enum wire_prints */
	CUstream printing[SESSION_PRINTING]; /* where something may have printed since the client last waited there */
	unsigned nprinting;                  /* more than there is room for: anywhere */
	struct map host;                     /* memory shared with the client, by address: hostmem.c */
	struct map empty;                    /* addresses that were, and stay empty */
	uint64_t window, window_size;
	struct map textures; /* texture and surface objects: texture.c */
	struct map retained; /* allocations that are not held just once: vmm.c */
	struct map mapped;   /* and where they are, by address */
	uint64_t calls, answers;
	uint64_t watched, watched_from, watched_at; /* tickets and a time: how long calls wait */
	unsigned op;                                /* the latest call */
};

struct msg {
	struct session *session;
	struct frame frame;
	uint64_t context;
	bool broken;    /* the frame makes no sense: the session ends */
	CUresult error; /* why the call is not made */
	CUresult result;
	int32_t value; /* of an NVML call: what it returned */
	uint8_t *in, *in_end;
	size_t out_used;
	void *heap_in;
	_Alignas(16) uint8_t few_in[MSG_FEW], out[MSG_OUT];
};

typedef void (*serve_fn)(const struct cuda_ops *ops, struct msg *m);

/* Who serves a call, and whether its client waits for an answer. */
struct served {
	unsigned op;
	serve_fn serve;
	bool waits;
};

void serve_init(void);                        /* once, before serve_find */
const struct served *serve_find(unsigned op); /* NULL: there is no such call */
void serve_nvml_only(void);                   /* until a call of CUDA's comes, which then waits for nvml_settle */

/* Calls of our own (enum wire_op), each in the file named by its subject. */
void serve_devices(const struct cuda_ops *ops, struct msg *m);
void serve_function(const struct cuda_ops *ops, struct msg *m);
void serve_load(const struct cuda_ops *ops, struct msg *m);
void serve_flush(const struct cuda_ops *ops, struct msg *m);
void serve_context(const struct cuda_ops *ops, struct msg *m);
void serve_launch(const struct cuda_ops *ops, struct msg *m);
void serve_copy_up(const struct cuda_ops *ops, struct msg *m);
void serve_copy_down(const struct cuda_ops *ops, struct msg *m);
void serve_sync(const struct cuda_ops *ops, struct msg *m);
void serve_wake(const struct cuda_ops *ops, struct msg *m);
void serve_window(const struct cuda_ops *ops, struct msg *m);
void serve_host_map(const struct cuda_ops *ops, struct msg *m);
void serve_host_unmap(const struct cuda_ops *ops, struct msg *m);
void serve_mirror(const struct cuda_ops *ops, struct msg *m);
void serve_mirror_drop(const struct cuda_ops *ops, struct msg *m);
void serve_mirror_up(const struct cuda_ops *ops, struct msg *m);
void serve_mirror_down(const struct cuda_ops *ops, struct msg *m);
void serve_block(const struct cuda_ops *ops, struct msg *m);
void serve_pointer(const struct cuda_ops *ops, struct msg *m);
void serve_texture(const struct cuda_ops *ops, struct msg *m);
void serve_resource(const struct cuda_ops *ops, struct msg *m);
void serve_share_out(const struct cuda_ops *ops, struct msg *m);
void serve_share_in(const struct cuda_ops *ops, struct msg *m);
void serve_retain(const struct cuda_ops *ops, struct msg *m);
void serve_pool(const struct cuda_ops *ops, struct msg *m);
void serve_tensor(const struct cuda_ops *ops, struct msg *m);

/* And of CUDA's. */
void serve_unified(const struct cuda_ops *ops, struct msg *m);
void serve_map(const struct cuda_ops *ops, struct msg *m);
void serve_unmap(const struct cuda_ops *ops, struct msg *m);
void serve_release(const struct cuda_ops *ops, struct msg *m);
void serve_texture_destroy(const struct cuda_ops *ops, struct msg *m);
void serve_surface_destroy(const struct cuda_ops *ops, struct msg *m);
void serve_texture_desc(const struct cuda_ops *ops, struct msg *m);
void serve_view_desc(const struct cuda_ops *ops, struct msg *m);

/*
 * Lets the device see the link's words and bulk memory, where they are shared.  The context must be current.  That takes
 * milliseconds, so a worker does it before its client comes, if it can: memory for link_serve, or NULL.
 */
struct link_memory *share_ahead(const struct cuda_ops *ops, const struct link_config *config);
void session_share(struct session *s);
void session_unshared(CUcontext context); /* it has ended: maybe it was the one that all this was registered in */
void session_share_again(struct session *s, bool now); /* if it was; now: the current context will do */

/* With link and ops set: everything else.  0 or -ENOMEM. */
int session_start(struct session *s);

/* Runs until the client is gone; 0, or -errno if it broke the rules. */
int session_run(struct session *s);

/*
 * Sets a word when `stream` has come to here: the device writes it itself where it can see it, else a
 * thread of ours waits for it.  `piece` (may be NULL) of the down arena is then in place.
 */
void session_word(struct session *s, CUstream stream, uint32_t word, uint32_t value, const struct piece *piece);

/* The word is set now, whatever happened: the client must not wait for ever. */
void session_word_now(struct session *s, uint32_t word, uint32_t value);

/* Streams of ours that were in a context are gone with it. */
void session_context_gone(CUcontext context);

/* A call that nobody waits for has failed in a context (NULL: in none): the client is told by a word. */
void session_late(struct session *s, CUcontext context, CUresult r);
/* The same by a thread to which that comes later: told only if the context still lives the same life as then. */
uint64_t session_life(CUcontext context);
void session_late_in(struct session *s, CUcontext context, uint64_t life, CUresult r);

/* A word that a client may name. */
bool session_has_word(struct session *s, uint32_t word);

/* Makes the client's context current; a CUDA error otherwise. */
CUresult session_enter(struct session *s, uint64_t context);
