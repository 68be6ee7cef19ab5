/*
 * side.h - further TCP connections of a link, for bulk bytes.
 *
 * What limits a large copy is one connection's way through the kernel: a thread at each end that copies.  So pieces
 * of many bytes go by connections of their own, each with a thread at each end, while their frame goes the usual way
 * and says how far each side must have come before it is complete.
 *
 *	frame, pieces, marks ───── the link's connection ─────▶ complete once every side has come to its mark
 *	piece, bytes, piece, ... ═══════ side 0 ══════════════▶ straight to their place in the arena
 *	piece, bytes, ...        ═══════ side 1 ══════════════▶
 *
 * A mark counts the bytes that were given to a side since it began.  The arenas are the client's to give out, and a
 * piece is its frame's until that has been answered: no two that are under way overlap, so sides need no order.
 *
 * The client opens them when it first has much to move, by the address it reached the server at (side_join.c).
 * Where that fails it goes on without.  Once they are in use, one that ends is the end of the link.
 *
 * Trust: none.  A side names places in an arena, which are checked; a peer whose pieces overlap, or whose marks are
 * never reached, spoils its own copies or waits by itself until its connection ends.
 */
#pragma once

#include <pthread.h>
#include "transport/hello.h"
#include "transport/layout.h"
#include "transport/wait.h"

#define SIDE_LEAST  (128u << 10) /* bytes of a frame's pieces that are worth it */
#define SIDE_STRIPE (256u << 10)
#define SIDE_QUEUE  512u

struct side {
	struct link *link;
	_Atomic int fd; /* -1: not there */
	pthread_t in, out;
	bool receiving, sending, ready;

	_Atomic uint64_t came;       /* bytes that are in the arena */
	_Atomic bool ended;          /* no more will come */
	uint64_t given;              /* bytes to be sent, ever: who sends frames */
	_Atomic unsigned head, tail; /* of the queue: taken by the sending thread, put by who sends frames */
	_Atomic uint32_t idle, full; /* flags: the sending thread has nothing to do; who sends frames waits for room */
	struct piece queue[SIDE_QUEUE];
};

struct sides {
	_Atomic unsigned count;   /* what is sent may go by so many; 0: by none */
	_Atomic unsigned joined;  /* what is received may have come by so many */
	_Atomic uint32_t arrived; /* a flag: somebody waits for bytes */
	unsigned next;            /* the side that gets the next stripe */

	/* Joining: side_join.c */
	struct hello hello; /* what we say on each, and on the server what the client must say there */
	unsigned granted, asked;
	_Atomic unsigned ready;
	_Atomic bool wanted;
	bool joining;
	pthread_t joiner;
	_Atomic int door; /* the server's: where connections are handed in; else -1 */

	struct side side[SIDES_MAX];
};

struct link;

/*
 * Who sends a frame calls this first, one at a time: hands the pieces' bytes to the sides.  How many marks the frame
 * then carries; 0: the bytes go with the frame.
 */
unsigned side_give(struct link *l, const struct piece *pieces, unsigned n, uint64_t *marks);

/* Is everything there up to the marks?  0, -EINPROGRESS, or the link's error if that can no longer be. */
int side_look(struct link *l, const uint64_t *marks, unsigned n);
/* Waits for that as w allows; also ends, with -EINPROGRESS, when something else may have happened. */
int side_wait(struct link *l, const uint64_t *marks, unsigned n, struct wait *w);

int side_begin(struct side *s); /* its threads; the descriptor is there */
void side_end(struct side *s);
void side_wake(struct link *l); /* whoever sleeps in here looks whether the link is broken, or else interrupted */
void side_shut(struct link *l); /* the link is broken: whoever is inside a socket comes out */
void side_stop(struct link *l);
void side_forget(struct link *l); /* in a forked child */

/* ---- side_join.c ---- */

void side_offer(struct link *l, struct hello *answer); /* server, before it answers */
int side_attend(struct link *l); /* server: takes in what is handed in; 0 if nothing was offered */
void side_heard(struct side *s); /* server: the client is going to use this one */
void side_want(struct link *l);  /* client: there is much to move; returns at once */
