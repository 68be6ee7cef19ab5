/*
 * stream.h - frames on a TCP stream: head, payload, pieces, and then the bytes of the pieces, or marks (side.h).
 *
 * The receiving side works without blocking, in steps: it keeps what has come of a frame and goes on later.
 * Bytes of pieces go from the socket straight to their place in the arena.
 *
 *	buffer:	| old | frame | what came after it | free |
 *			      start               end	   room
 *
 * The stream is not trusted: a head is checked before anything is done with what it says.
 */
#pragma once

#include "transport/hello.h"
#include "transport/private.h"

struct stream {
	struct link *link;
	enum bulk which; /* where received pieces belong */
	uint8_t *buffer;
	size_t room, start, end;
	bool have; /* a frame is in the buffer, at `at`; perhaps not yet all its pieces */
	size_t at;
	struct frame_head head;
	struct frame frame;
	unsigned piece;            /* pieces before this one are complete */
	uint32_t filled;           /* bytes of this one that are */
	uint64_t marks[SIDES_MAX]; /* or all of them come by other ways, and are there when those have come to this */
};

int stream_init(struct stream *s, struct link *l, enum bulk which);
void stream_finish(struct stream *s);

/*
 * The next whole frame is in s->head, s->frame: 0.  Not yet: -EAGAIN, or -EINPROGRESS if only what comes by the sides
 * is missing.  The same until stream_done.
 */
int stream_receive(struct stream *s);
void stream_done(struct stream *s);

/* Has it bytes that were received and not yet used? */
bool stream_holds(const struct stream *s);

/* What is sent together.  Everything, waiting for room; the caller serialises. */
#define BATCH_FRAMES 64
#define BATCH_PARTS  256
struct iovec;
int stream_send(struct link *l, int fd, struct iovec *parts, unsigned n);

/* recv, for what belongs to the link. */
ssize_t stream_recv(struct link *l, int fd, void *to, size_t size, int flags);
