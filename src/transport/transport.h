/*
 * transport.h - frames, bulk bytes and descriptors between a client process and its worker.
 *
 *	client process                                       worker process
 *	thread A -- lane 0 === frames up ==================> link_next: one thread takes the frames
 *	                   <== replies down ================ of all lanes in ticket order
 *	thread B -- lane 1 === ...
 *	            up arena   (the client writes)           large payloads; a frame names the pieces
 *	            down arena (the worker writes)           of the arena that belong to it
 *	            words      (the worker or its GPU writes) "done up to here": one u32 for each stream or event
 *
 * One link joins one client process to one worker. On one host (unix:PATH) everything above is memory that both
 * processes map; the socket stays open to pass descriptors and to notice the peer's death. Over tcp://HOST:PORT the same
 * calls move the same bytes: a frame, reply or word becomes visible only after the pieces that it names are in place.
 *
 * Every frame has a ticket, drawn from one counter of the client process when the frame is published. The worker takes
 * frames without gaps and in order. So if thread A publishes a frame and then wakes thread B, the worker takes A's frame
 * before B's.
 *
 * A wait spins for a bounded time, then sleeps in the kernel; an idle link uses no processor time on either side. When
 * the peer dies, every wait ends with -EPIPE within milliseconds.
 *
 * Trust: none, either way. The peer may write anything into shared memory at any time. So heads are copied before they
 * are checked, each side keeps its own cursors, and a violation of the protocol breaks the link for good (-EPROTO, with
 * the reason in link_error). A payload stays where the peer can change it: copy it, then check the copy. Shared memory
 * cannot shrink.
 *
 * Functions return 0 or -errno. A broken link stays broken: all its calls return the same error.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define LINK_ERROR_TEXT  256 /* size of the buffer for an error message */
#define LINK_BUILD_TEXT  64
#define LINK_DEVICE_TEXT 32
#define LINK_LANES       1024 /* most lanes of a link */
#define LINK_PIECES      16   /* most pieces of a frame */

struct link;
struct lane;

/* A range of an arena. */
struct piece {
	uint32_t offset, size;
};

/* A received frame. payload stays valid until the frame is released; the peer may change it meanwhile. */
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
	const char *build;    /* shown in the peer's messages: "gangway 0.1.0 (c7f9283)" */
	uint64_t protocol;    /* must be equal on both sides */
	unsigned spin_us;     /* spinning time of a wait before it sleeps */
	unsigned timeout_ms;  /* for connecting, and for the client's hello */
	unsigned patience_ms; /* client: for the answer of a server that accepted the connection */
	/* The client asks for these sizes; the server grants at most its own. */
	uint32_t up_size; /* bytes of the arenas */
	uint32_t down_size;
	uint32_t ring_size; /* of each ring of a lane: a power of two */
	uint32_t words;
	uint32_t extras; /* over TCP: extra connections for large payloads */
	/*
	 * Over TCP: the interval of heartbeats (0: none), the silence after which on_silence(arg, true) is called, if not
	 * NULL, and the silence that breaks the link. on_silence(arg, false) follows when the peer is heard again.
	 */
	unsigned beat_ms, notice_ms, silence_ms;
	void (*on_silence)(void *arg, bool silent);
	void *on_silence_arg;
	struct link_memory *memory; /* server: made in advance; used if it has the sizes that were agreed on */
};

/*
 * Defaults: spin 50 us (client) or 200 us (server), timeouts 5 s and 30 s, arenas 64 MiB each, rings 256 KiB, 4096 words,
 * no extra connections (client) or as many as possible (server). Heartbeats every 5 s; a client gives a silent server up
 * after 25 s. A server notices a silent client then, too, but keeps it for 10 min: it may be stopped in a debugger.
 */
struct link_config link_defaults(bool server);

/* ---- Making and ending a link ---- */

/*
 * Listens on "unix:PATH" or "tcp://HOST:PORT" (port 0: any, see link_address). Replaces a socket file whose server is
 * gone; `mode` is the permission of the new one. Returns the descriptor or -errno.
 */
int link_listen(const char *address, mode_t mode, char error[LINK_ERROR_TEXT]);

/*
 * Accepts a connection: a descriptor for link_serve, in this or another process. Blocks; poll first.
 * -ECONNABORTED: the client has disconnected already.
 */
int link_accept(int listener);

/*
 * Server: looks at the hello of an accepted connection, which stays in the socket for link_serve or link_refuse. 0: the
 * hello is complete and acceptable; -EAGAIN: call again when the descriptor is readable; -EPROTO: refuse it for the reason
 * in `error`; others: the connection is of no use. Does not block.
 */
int link_check_hello(int fd, const struct link_config *config, char error[LINK_ERROR_TEXT]);

/*
 * If the connection is an extra connection of an existing link, hands it to the worker that serves the link, closes the
 * descriptor and returns true. Does not block: call it when the hello has arrived.
 */
bool link_hand_in_extra(int fd);

/* Number of TCP connections of the link. */
unsigned link_connections(struct link *link);

/* The address of a listening descriptor, in the form that link_connect takes. */
int link_address(int listener, char *text, size_t size);

/* The same addresses for a plain byte stream instead of a link: a descriptor or -errno. */
int text_listen(const char *address, mode_t mode, char error[LINK_ERROR_TEXT]);
int text_connect(const char *address, unsigned timeout_ms, char error[LINK_ERROR_TEXT]);

/* 0 if a server listens there, else -errno and the reason. Does not disturb a server on this machine. */
int link_probe(const char *address, char error[LINK_ERROR_TEXT]);

/*
 * Makes the memory of a future link: words and arenas of the config's sizes. A server can then register it with its
 * device, which takes milliseconds, before a client waits for it. It is never freed.
 */
int link_memory_create(struct link_memory **memory, const struct link_config *config);
void *link_memory_words(const struct link_memory *memory, size_t *size);

/* Client: asks a server for the name of its device ("nvidia", "cpu"); takes no worker and makes no link. */
int link_ask_device(const char *address, const struct link_config *config, char device[LINK_DEVICE_TEXT],
	char error[LINK_ERROR_TEXT]);

/* Server: if the complete hello of an accepted connection asks for the device, answers, closes the descriptor and returns
 * true. */
bool link_answer_device(int fd, const struct link_config *config, const char *device);

/* Client. */
int link_connect(
	struct link **link, const char *address, const struct link_config *config, char error[LINK_ERROR_TEXT]);

/* Server: takes over a connected descriptor; closes it on failure, too. */
int link_serve(struct link **link, int fd, const struct link_config *config, char error[LINK_ERROR_TEXT]);

/* Server, instead of link_serve: sends the client the reason for the refusal and closes the descriptor. */
void link_refuse(int fd, const struct link_config *config, const char *why);

/* No other thread may be inside a call on this link. In a forked child, frees the child's copy and leaves the parent's
 * link alone. */
void link_destroy(struct link *link);

/* Breaks the link, from any thread: every wait on both sides ends. */
void link_shutdown(struct link *link);

/* Breaks the link because the peer violated the caller's protocol; returns -EPROTO. */
int link_reject(struct link *link, const char *why);

/* 0 while the link works, else the error that broke it; `text` (may be NULL) receives the reason. */
int link_error(struct link *link, char text[LINK_ERROR_TEXT]);

/* The address of that 0 or error, for callers that check it often. */
const _Atomic int *link_state(const struct link *link);

struct link_peer {
	bool local; /* shared memory: both sides map the same words and arenas */
	bool known; /* pid, uid and gid come from the kernel (server of a unix socket) */
	pid_t pid;  /* otherwise claimed by the peer */
	uid_t uid;
	gid_t gid;
	char build[LINK_BUILD_TEXT];
};

const struct link_peer *link_peer(const struct link *link);

/* ---- Client: lanes. A lane is used by one thread at a time. ---- */

/* An unused lane, or a new one. lane_close returns it; all its replies must have been taken. */
int lane_open(struct link *link, struct lane **lane);
void lane_close(struct lane *lane);

/* Largest payload; anything larger goes through an arena. */
uint32_t lane_payload_max(const struct lane *lane);

/* Reserves space for a payload of up to `size` bytes; waits while the ring is full. -EMSGSIZE: larger than the maximum. */
int lane_reserve(struct lane *lane, uint32_t size, void **payload);

/*
 * Publishes `size` bytes of the reservation, with the pieces of the up arena that belong to it. lane_post: no reply
 * follows. lane_call: the caller is about to wait for the reply, which must be the next one on the lane and carry the
 * same ticket; any other breaks the link. `ticket` may be NULL. A reservation may be abandoned.
 */
int lane_post(
	struct lane *lane, uint32_t op, uint32_t size, const struct piece *pieces, unsigned npieces, uint64_t *ticket);
int lane_call(
	struct lane *lane, uint32_t op, uint32_t size, const struct piece *pieces, unsigned npieces, uint64_t *ticket);

/* Waits for the next reply; timeout_ms < 0: no timeout. Release the reply before the next wait. */
int lane_wait_reply(struct lane *lane, struct frame *reply, int timeout_ms);
void lane_release(struct lane *lane);

/* ---- Server: frames and replies ---- */

/*
 * Takes the frame with the next ticket, from whichever lane; the next call releases it. For one thread. Frames that the
 * client published before it ended are still delivered, then -EPIPE. -ETIMEDOUT, or -EINTR after link_interrupt, once no
 * frame is left.
 */
int link_next(struct link *link, struct frame *frame, int timeout_ms);
void link_interrupt(struct link *link);

/* Estimates the newest ticket that the client has published. Shared memory only; false otherwise. */
bool link_newest(struct link *link, uint64_t *ticket);

/* The client numbers lanes from 0. The server can attach data to a lane. */
unsigned lane_number(const struct lane *lane);
void lane_set_data(struct lane *lane, void *data);
void *lane_data(const struct lane *lane);

/*
 * Sends a reply, from any thread, but from one at a time for each lane; `ticket` is passed through. A reply without a
 * request is an event for a client thread that only waits on its lane.
 */
int lane_reply_reserve(struct lane *lane, uint32_t size, void **payload);
int lane_reply(
	struct lane *lane, uint32_t op, uint64_t ticket, uint32_t size, const struct piece *pieces, unsigned npieces);

/* ---- Arenas: the client allocates pieces in both; the server uses the pieces that frames name ---- */

enum bulk { BULK_UP, BULK_DOWN };

/* Address of an arena in this process: page-aligned; the size is a multiple of the page size. */
void *bulk_base(struct link *link, enum bulk which, size_t *size);
void *link_memory_bulk(const struct link_memory *memory, enum bulk which, size_t *size);

/* Allocates a page-aligned piece; piece.size is `size`. -EAGAIN: none free now; -EMSGSIZE: larger than the arena. */
int bulk_alloc(struct link *link, enum bulk which, uint32_t size, struct piece *piece);
void bulk_free(struct link *link, enum bulk which, struct piece piece);

/* ---- Words: progress counters that only grow, and wrap around ---- */

#define WORD_STRIDE 64 /* bytes from one word to the next */

/* Address of the words in this process: page-aligned. The GPU of a local server may write them. */
void *word_base(struct link *link, size_t *size);
uint32_t *word_address(struct link *link, unsigned index);

/* Client: allocates a word and returns its present value. -EAGAIN: all words are in use. */
int word_alloc(struct link *link, unsigned *index, uint32_t *value);
void word_free(struct link *link, unsigned index);

/* True if the word has reached `value`, modulo 2^32. */
bool word_reached(struct link *link, unsigned index, uint32_t value);

/*
 * Waits until the word has reached `value`. Before it sleeps for the first time it calls on_sleep(arg), if not NULL, which
 * asks the server for a word_wake: a GPU that writes the word cannot wake a sleeper. An error of on_sleep ends the wait.
 */
int word_wait(struct link *link, unsigned index, uint32_t value, int timeout_ms, int (*on_sleep)(void *arg), void *arg);

/* Server: sets the word and wakes its sleepers. The named pieces of the down arena are in place before the word changes. */
int word_set(struct link *link, unsigned index, uint32_t value, const struct piece *pieces, unsigned npieces);

/* As word_set, but never lowers a word that the GPU writes, too. */
int word_raise(struct link *link, unsigned index, uint32_t value, const struct piece *pieces, unsigned npieces);

/* Wakes the sleepers of a word that the GPU has written; over TCP, sends the word's present value. */
int word_wake(struct link *link, unsigned index, const struct piece *pieces, unsigned npieces);

/* ---- Descriptors: unix only (-ENOTSUP over TCP) ---- */

/* Sends a descriptor under the name `id`; send it before the frame that mentions it. The descriptor stays the caller's.
 * Waits while the peer has hundreds of descriptors that it has not asked for. */
int link_send_fd(struct link *link, uint64_t id, int fd);

/* Receives the descriptor that was sent as `id`; the caller owns it. -EMFILE: this process had no room for it. */
int link_recv_fd(struct link *link, uint64_t id, int timeout_ms);
