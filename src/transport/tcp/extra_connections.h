/*
 * extra_connections.h - further TCP connections of a link, for large payloads.
 *
 * One connection limits a large copy: a thread at each end copies bytes into and out of the kernel. So the bytes of large
 * frames are divided into stripes over extra connections, each with its own threads, while the frame itself uses the
 * first connection and carries a mark for each extra one.
 *
 *	frame, pieces, marks ───── first connection ──────▶ complete once every extra connection has reached its mark
 *	piece, bytes, piece, ... ══ extra connection 0 ═══▶ straight into the arena
 *	piece, bytes, ...        ══ extra connection 1 ═══▶
 *
 * A mark counts all bytes queued on a connection since it was opened. The client allocates the arenas' pieces, and a piece
 * belongs to its frame until the frame is answered: pieces in flight never overlap, so stripes need no order.
 *
 * The client opens the extra connections before its first large transfer, to the server's address
 * (extra_connections_join.c). If that fails, the link works without them. Once they are in use, the end of one ends the
 * link.
 *
 * Trust: none. The pieces that a connection names are checked against the arena. A peer whose pieces overlap, or whose
 * marks are never reached, harms only its own copies.
 */
#pragma once

#include <pthread.h>
#include "transport/hello.h"
#include "transport/layout.h"
#include "transport/wait.h"

#define EXTRA_MIN_BYTES (128u << 10) /* smallest frame worth dividing: bytes of its pieces */
#define EXTRA_STRIPE    (256u << 10)
#define EXTRA_QUEUE     512u

struct extra {
	struct link *link;
	_Atomic int fd; /* -1: not open */
	pthread_t in, out;
	bool receiving, sending, ready;

	_Atomic uint64_t received; /* bytes placed in the arena since the beginning */
	_Atomic bool ended;        /* the peer has closed the connection */
	uint64_t queued;           /* bytes queued since the beginning; of the thread that sends frames */
	_Atomic unsigned head,
		tail; /* of the queue: head of the connection's sending thread, tail of the thread that sends frames */
	_Atomic uint32_t idle,
		full; /* flags: the sending thread waits for work; the thread that sends frames waits for room */
	struct piece queue[EXTRA_QUEUE];
};

struct extras {
	_Atomic unsigned count;   /* connections usable for sending */
	_Atomic unsigned joined;  /* connections that received frames may use */
	_Atomic uint32_t arrived; /* flag: a thread waits for bytes */
	unsigned next;            /* connection that gets the next stripe */

	/* Opening: extra_connections_join.c */
	struct hello hello; /* client: sent on each; server: what the client must send */
	unsigned granted, asked;
	_Atomic unsigned ready;
	_Atomic bool wanted;
	bool joining;
	pthread_t joiner;
	_Atomic int door; /* server: the socket on which the parent hands connections in; -1: none */

	struct extra extra[EXTRAS_MAX];
};

struct link;

/*
 * Called before a frame is sent, under the connection's lock: queues the bytes of its pieces on the extra connections and
 * returns the number of marks that the frame carries. 0: the bytes follow the frame itself.
 */
unsigned extra_queue_pieces(struct link *l, const struct piece *pieces, unsigned n, uint64_t *marks);

/* Queues a heartbeat on every extra connection in use, under the connection's lock: a piece of no bytes. */
void extra_queue_beats(struct link *l);

/* 0: every connection has reached its mark; -EINPROGRESS: not yet; or the link's error. */
int extra_arrived(struct link *l, const uint64_t *marks, unsigned n);
/* Waits for that, once, as `w` allows; -EINPROGRESS: check and call again. */
int extra_wait(struct link *l, const uint64_t *marks, unsigned n, struct wait *w);

int extra_start(struct extra *s); /* starts the threads of an open connection */
void extra_finish(struct extra *s);
void extra_wake_all(struct link *l);     /* all sleepers check whether the link is broken or interrupted */
void extra_shutdown_all(struct link *l); /* ends blocking calls on the sockets of a broken link */
void extra_finish_all(struct link *l);
void extra_forget_all(struct link *l); /* in a forked child */

/* ---- extra_connections_join.c ---- */

void extra_offer(struct link *l, struct hello *answer); /* server: fills in the offer before answering the hello */
int extra_start_joining(struct link *l); /* server: starts the thread that admits connections, if offered */
void extra_confirmed(struct extra *s);   /* server: the client will use this connection */
void extra_request(struct link *l);      /* client: opens the connections in the background */
