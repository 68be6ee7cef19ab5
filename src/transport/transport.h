/*
 * transport.h - frames, bulk bytes and descriptors between a client process and its worker.
 *
 *	client process                                       worker process
 *	thread A -- lane 0 === frames up ==================> link_next: one thread takes the frames
 *	                   <== replies down ================ of all lanes in the order of their tickets
 *	thread B -- lane 1 === ...
 *	            bulk up   (the client writes)            large payloads lie here; a frame names
 *	            bulk down (the worker writes)            the pieces that belong to it
 *	            words     (the worker or its GPU writes) "this much is done": one u32 a thing
 *
 * One link joins one client process to one worker.  On one host (unix:PATH) everything above is memory that
 * both map, and the socket stays open for descriptors and to notice a death.  Over tcp://HOST:PORT the same
 * calls move the same bytes: pieces named by a frame are in place before the frame can be seen, pieces
 * named by a reply or by a word before those can be seen.
 *
 * Every frame has a ticket, drawn from one counter of the client process as it is published; the worker sees
 * them without gaps and in order.  So what one thread did before it woke another comes first.
 *
 * Waiting spins for a bounded time, then sleeps in the kernel; an idle link costs no processor time on
 * either side.  A peer that dies ends every wait with -EPIPE, within milliseconds.
 *
 * Trust: none, either way.  The other side may write anything into shared memory at any time.  Heads are
 * copied before they are checked, each side keeps its own cursors, and what makes no sense breaks the link
 * for good (-EPROTO, with a sentence in link_error).  A payload stays where the peer can change it: copy what
 * you check.  Shared memory cannot shrink under us.
 *
 * Functions return 0 or -errno.  A link that is broken stays so; all its calls then return the same error.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define LINK_ERROR_TEXT 256 /* room for a sentence */
#define LINK_BUILD_TEXT 64
#define LINK_LANES      1024 /* at most, a link */
#define LINK_PIECES     16   /* at most, a frame */

struct link;
struct lane;

/* A range of a bulk arena. */
struct piece {
	uint32_t offset, size;
};

/* A frame that was received.  payload stays valid until it is released, and the peer may change it. */
struct frame {
	uint32_t op;
	uint32_t size; /* of the payload */
	uint64_t ticket;
	const void *payload; /* 8-byte aligned */
	struct lane *lane;
	unsigned npieces;
	struct piece pieces[LINK_PIECES]; /* checked: they lie inside the arena */
};

struct link_memory;

struct link_config {
	const char *build;    /* who we are, for the other side's messages: "gangway 0.1.0 (c7f9283)" */
	uint64_t protocol;    /* must be equal on both sides */
	unsigned spin_us;     /* how long a wait spins before it sleeps; 0: not at all */
	unsigned timeout_ms;  /* for connecting, and for a client's hello */
	unsigned patience_ms; /* client: for the answer of a server that was reached */
	/* The client asks for these; the server grants no more than its own. */
	uint32_t up_size; /* bulk arenas, in bytes */
	uint32_t down_size;
	uint32_t ring_size; /* of each lane, each way: a power of two */
	uint32_t words;
	uint32_t sides;             /* over TCP: connections beside the first, for bulk bytes */
	struct link_memory *memory; /* server: made before; used if it has the sizes that were agreed on */
};

/*
 * The usual values: 50 us (client) or 200 us (server), 5 s, 30 s, 64 MiB, 64 MiB, 256 KiB, 4096, and none (client)
 * or as many as there can be (server).
 */
struct link_config link_defaults(bool server);

/* ---- Making and ending a link ---- */

/*
 * Listen on "unix:PATH" or "tcp://HOST:PORT" (port 0: any, see link_address).  A socket file that nobody
 * listens on any more is replaced; mode is the permission of a new one.  Returns the descriptor or -errno.
 */
int link_listen(const char *address, mode_t mode, char error[LINK_ERROR_TEXT]);

/*
 * A connected descriptor, to be given to link_serve, here or in another process.  It blocks; poll first.
 * -ECONNABORTED: whoever it was has gone again.
 */
int link_accept(int listener);

/*
 * Is this one of the further connections of a link that is served already, here or in another process of this user
 * on this machine?  Then it has been given there, and the descriptor is closed.  Does not wait.
 */
bool link_side(int fd);

/* How many connections a link has by now. */
unsigned link_connections(struct link *link);

/* What a listening descriptor is called, in the form that link_connect understands. */
int link_address(int listener, char *text, size_t size);

/* The same addresses for a plain stream of bytes, which is no link: a descriptor or -errno. */
int text_listen(const char *address, mode_t mode, char error[LINK_ERROR_TEXT]);
int text_connect(const char *address, unsigned timeout_ms, char error[LINK_ERROR_TEXT]);

/* Does anybody listen there?  Without disturbing a server on this machine.  0 or -errno and a sentence. */
int link_probe(const char *address, char error[LINK_ERROR_TEXT]);

/*
 * The memory of a link that does not exist yet: words and arenas as large as the config says.  So a server can let a
 * device take it in, for milliseconds, before anybody waits.  It is not freed.
 */
int link_memory_make(struct link_memory **memory, const struct link_config *config);
void *link_memory_words(const struct link_memory *memory, size_t *size);

/* Client. */
int link_connect(
	struct link **link, const char *address, const struct link_config *config, char error[LINK_ERROR_TEXT]);

/* Server, on a connected descriptor, which is the link's from now on (closed on failure too). */
int link_serve(struct link **link, int fd, const struct link_config *config, char error[LINK_ERROR_TEXT]);

/* Server, instead of link_serve: tells the client why not, and closes the descriptor. */
void link_refuse(int fd, const struct link_config *config, const char *why);

/* No other thread may be inside a call on this link.  In a forked child it lets go without disturbing the
 * parent's link.  NULL is fine. */
void link_destroy(struct link *link);

/* Break the link from any thread: every wait on both sides ends. */
void link_shutdown(struct link *link);

/* What the other side said makes no sense to those above: broken with -EPROTO, which is returned. */
int link_reject(struct link *link, const char *why);

/* 0 while the link works, else what broke it; text (may be NULL) receives a sentence. */
int link_error(struct link *link, char text[LINK_ERROR_TEXT]);

/* The same 0 or error, to be looked at often. */
const _Atomic int *link_state(const struct link *link);

struct link_peer {
	bool local; /* shared memory: words and arenas are the very memory that the other side sees */
	bool known; /* pid, uid and gid come from the kernel (unix sockets, as seen by the server) */
	pid_t pid;  /* else: what the peer says */
	uid_t uid;
	gid_t gid;
	char build[LINK_BUILD_TEXT];
};

const struct link_peer *link_peer(const struct link *link);

/* ---- Client: lanes.  One thread at a time uses a lane. ---- */

/* A lane nobody uses, or a new one.  Closing gives it back; all its replies must have been taken. */
int lane_open(struct link *link, struct lane **lane);
void lane_close(struct lane *lane);

/* The most a payload may have; more goes through a bulk arena. */
uint32_t lane_payload_max(const struct lane *lane);

/* Room for a payload of up to size bytes, waiting for it if need be.  -EMSGSIZE: too large, ever. */
int lane_reserve(struct lane *lane, uint32_t size, void **payload);

/*
 * Publish what was reserved: size bytes of it, and the pieces of the up arena that go with it.  lane_post:
 * nobody waits for it.  lane_call: the caller is about to wait for the reply, which is the next that comes, and
 * carries its ticket: another one breaks the link.  ticket may be NULL.
 * A reservation that is not wanted is simply not published.
 */
int lane_post(
	struct lane *lane, uint32_t op, uint32_t size, const struct piece *pieces, unsigned npieces, uint64_t *ticket);
int lane_call(
	struct lane *lane, uint32_t op, uint32_t size, const struct piece *pieces, unsigned npieces, uint64_t *ticket);

/* Wait for the next reply; timeout_ms < 0: for ever, else -ETIMEDOUT.  Release it before the next wait. */
int lane_wait_reply(struct lane *lane, struct frame *reply, int timeout_ms);
void lane_release(struct lane *lane);

/* ---- Server: frames and replies ---- */

/*
 * The frame with the next ticket, whichever lane it came by.  It is released by the next call.  One thread.
 * Frames published before the client went away are still delivered; then -EPIPE.  -ETIMEDOUT; once no frame
 * is there, -EINTR after link_interrupt.
 */
int link_next(struct link *link, struct frame *frame, int timeout_ms);
void link_interrupt(struct link *link);

/* The newest ticket that the client has published by now, as far as a glance tells.  Shared memory only: false. */
bool link_newest(struct link *link, uint64_t *ticket);

/*
 * Is the very next frame there already, the same call by the same lane, byte for byte?  For calls of which only
 * the last counts.  A guess: false when it would take more than a look.
 */
bool link_repeats(struct link *link, const struct frame *frame);

/* Lanes are numbered from 0 by the client; what the server keeps for one hangs here. */
unsigned lane_number(const struct lane *lane);
void lane_set_data(struct lane *lane, void *data);
void *lane_data(const struct lane *lane);

/*
 * A reply, from any thread, one at a time for a lane; ticket is passed through.  Also without a request:
 * a client thread that only waits on a lane receives events there.
 */
int lane_reply_reserve(struct lane *lane, uint32_t size, void **payload);
int lane_reply(
	struct lane *lane, uint32_t op, uint64_t ticket, uint32_t size, const struct piece *pieces, unsigned npieces);

/* ---- Bulk arenas: the client allocates in both, the server only uses what it was told ---- */

enum bulk { BULK_UP, BULK_DOWN };

/* Where an arena lies in this process: page-aligned; size is a multiple of the page size. */
void *bulk_base(struct link *link, enum bulk which, size_t *size);
void *link_memory_bulk(const struct link_memory *memory, enum bulk which, size_t *size);

/* A page-aligned piece of at least size bytes (piece.size is size).  -EAGAIN: none free now;
 * -EMSGSIZE: larger than the arena. */
int bulk_alloc(struct link *link, enum bulk which, uint32_t size, struct piece *piece);
void bulk_free(struct link *link, enum bulk which, struct piece piece);

/* ---- Words: what is done, as numbers that only grow (and wrap) ---- */

#define WORD_STRIDE 64 /* bytes from one word to the next */

/* Where the words lie in this process: page-aligned.  A local server may let its GPU write them. */
void *word_base(struct link *link, size_t *size);
uint32_t *word_address(struct link *link, unsigned index);

/* Client. A word starts with the value it has, which word_alloc tells. -EAGAIN: all are taken. */
int word_alloc(struct link *link, unsigned *index, uint32_t *value);
void word_free(struct link *link, unsigned index);

/* Has the word reached value, counting around? */
bool word_reached(struct link *link, unsigned index, uint32_t value);

/*
 * Wait until it has.  Before it sleeps for the first time it calls on_sleep(arg), if there is one, to ask the
 * server for a word_wake: a GPU that writes the word wakes nobody.  on_sleep's error ends the wait.
 */
int word_wait(struct link *link, unsigned index, uint32_t value, int timeout_ms, int (*on_sleep)(void *arg), void *arg);

/* Server.  Set the word and wake who sleeps on it; pieces of the down arena are there before it changes. */
int word_set(struct link *link, unsigned index, uint32_t value, const struct piece *pieces, unsigned npieces);

/* As word_set, but a word that has come further already, because somebody else (the GPU) writes it too, stays there. */
int word_raise(struct link *link, unsigned index, uint32_t value, const struct piece *pieces, unsigned npieces);

/* The word was written here by somebody else (the GPU): wake who sleeps on it; over TCP, as word_set of
 * the value it has. */
int word_wake(struct link *link, unsigned index, const struct piece *pieces, unsigned npieces);

/* ---- Descriptors: unix only (-ENOTSUP over TCP) ---- */

/* id names it: send it before the frame that speaks of it.  The descriptor stays the caller's.  It waits
 * while the other side has some hundreds of them that it has not asked for. */
int link_send_fd(struct link *link, uint64_t id, int fd);

/* The descriptor that was sent with id, now the caller's; -ETIMEDOUT. */
int link_recv_fd(struct link *link, uint64_t id, int timeout_ms);
