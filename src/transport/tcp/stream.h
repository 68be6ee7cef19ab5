/*
 * stream.h - frames on a TCP stream: head, payload, pieces, then the bytes of the pieces, or marks (extra_connections.h).
 *
 * Receiving never blocks: an incomplete frame is kept and continued later. Bytes of pieces go from the socket straight to
 * their place in the arena.
 *
 *	buffer:	| old | frame | bytes behind it    | free |
 *			      start               end	   room
 *
 * Trust: none. A head is checked before any of its fields is used.
 */
#pragma once

#include "transport/hello.h"
#include "transport/private.h"

struct stream {
	struct link *link;
	enum bulk which; /* arena of the received pieces */
	uint8_t *buffer;
	size_t room, start, end;
	bool have; /* a frame is in the buffer, at `at`; its pieces may be incomplete */
	size_t at;
	struct frame_head head;
	struct frame frame;
	unsigned piece;             /* pieces before this one are complete */
	uint32_t filled;            /* bytes of this one that have arrived */
	uint64_t marks[EXTRAS_MAX]; /* if extra connections carry the pieces: complete when each has reached its mark */
};

int stream_init(struct stream *s, struct link *l, enum bulk which);
void stream_finish(struct stream *s);

/*
 * 0: the next complete frame is in s->head and s->frame, until stream_done. -EAGAIN: not yet. -EINPROGRESS: only bytes on
 * extra connections are missing.
 */
int stream_receive(struct stream *s);
void stream_done(struct stream *s);

/* True if received bytes are left in the buffer. */
bool stream_holds(const struct stream *s);

/* Sends all parts; blocks while the socket is full. The caller holds the lock of the connection. */
#define BATCH_FRAMES 64
#define BATCH_PARTS  256
struct iovec;
int stream_send(struct link *l, int fd, struct iovec *parts, unsigned n);

/* recv(), with an annotation for ThreadSanitizer. */
ssize_t stream_recv(struct link *l, int fd, void *to, size_t size, int flags);
