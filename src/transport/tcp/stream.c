#include "transport/tcp/stream.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include "transport/tcp/tcp.h"

#define READ_AHEAD 32768 /* bytes at most, so that bytes of pieces bypass the buffer */

/*
 * A message of the peer follows the message that it answers. That orders threads of this process without a lock, which
 * ThreadSanitizer cannot see; the annotations tell it. The raw system calls keep it from checking the buffers.
 */
#if defined(__SANITIZE_THREAD__)
#include <sys/syscall.h>
#include <unistd.h>

void __tsan_acquire(void *at);
void __tsan_release(void *at);

ssize_t stream_recv(struct link *l, int fd, void *to, size_t size, int flags)
{
	ssize_t n = syscall(SYS_recvfrom, fd, to, size, flags, NULL, NULL);

	__tsan_acquire(l);
	return n;
}

static ssize_t socket_send(struct link *l, int fd, const struct msghdr *msg)
{
	__tsan_release(l);
	return syscall(SYS_sendmsg, fd, msg, MSG_NOSIGNAL);
}
#else
ssize_t stream_recv(struct link *l, int fd, void *to, size_t size, int flags)
{
	(void)l;
	return recv(fd, to, size, flags);
}

static ssize_t socket_send(struct link *l, int fd, const struct msghdr *msg)
{
	(void)l;
	return sendmsg(fd, msg, MSG_NOSIGNAL);
}
#endif

int stream_init(struct stream *s, struct link *l, enum bulk which)
{
	*s = (struct stream){.link = l, .which = which, .room = l->ring_size / 2 + 2 * READ_AHEAD};
	s->buffer = malloc(s->room);
	return s->buffer ? 0 : -ENOMEM;
}

void stream_finish(struct stream *s)
{
	free(s->buffer);
	s->buffer = NULL;
}

static int stream_receive_error(struct stream *s, ssize_t n)
{
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return -EAGAIN;
	return link_break(s->link, -EPIPE, "the %s closed the connection%s%s", s->link->server ? "client" : "server",
		n ? ": " : "", n ? strerror(errno) : "");
}

static int stream_check_head(struct stream *s)
{
	const struct frame_head *h = &s->head;
	uint32_t most = s->link->ring_size / 2;

	if (h->kind == FRAME_BEAT && !h->payload && !h->npieces && !h->marks)
		return 0;
	if (h->payload > most || h->npieces > LINK_PIECES || h->lane >= LINK_LANES ||
		h->marks > load_acquire(&s->link->tcp->extras.joined) ||
		(h->kind != FRAME_PLAIN && (s->link->server || h->kind != FRAME_WORD)) ||
		record_bytes(h->payload, h->npieces) > most)
		return link_break(s->link, -EPROTO, "an invalid frame head");
	return 0;
}

static void stream_compact(struct stream *s)
{
	memmove(s->buffer, s->buffer + s->start, s->end - s->start);
	s->end -= s->start;
	s->start = 0;
}

static size_t frame_stream_bytes(const struct frame_head *h)
{
	return frame_bytes(h->payload, h->npieces) + h->marks * sizeof(uint64_t);
}

/* Looks for a complete frame, without the bytes of its pieces, in the buffer. */
static int stream_find_frame(struct stream *s)
{
	int err;

	do {
		if (s->end - s->start < sizeof s->head)
			return -EAGAIN;
		/* Payloads are 8-byte aligned; pieces of odd sizes move what comes after them. */
		if (s->start % 8)
			stream_compact(s);
		memcpy(&s->head, s->buffer + s->start, sizeof s->head);
		err = stream_check_head(s);
		if (err)
			return err;
		if (s->head.kind == FRAME_BEAT)
			s->start += sizeof s->head;
	} while (s->head.kind == FRAME_BEAT);
	if (s->end - s->start < frame_stream_bytes(&s->head))
		return -EAGAIN;
	/* Checked before s->have is set: find_frame may see this head again. */
	err = frame_check(
		s->link, &s->head, s->buffer + s->start + frame_bytes(s->head.payload, 0), s->which, &s->frame);
	if (err)
		return err;
	s->at = s->start;
	s->start += frame_stream_bytes(&s->head);
	memcpy(s->marks, s->buffer + s->start - s->head.marks * sizeof *s->marks, s->head.marks * sizeof *s->marks);
	s->frame.payload = s->buffer + s->at + sizeof s->head;
	s->piece = s->filled = 0;
	s->have = true;
	return 0;
}

static int stream_fill(struct stream *s)
{
	ssize_t n;

	if (s->start)
		stream_compact(s);
	n = stream_recv(s->link, s->link->fd, s->buffer + s->end, s->end < READ_AHEAD ? READ_AHEAD : s->room - s->end,
		MSG_DONTWAIT);
	if (n <= 0)
		return stream_receive_error(s, n);
	s->end += (size_t)n;
	return 0;
}

/* Bytes of the pieces: first from the buffer, then from the socket straight into the arena. */
static int stream_fill_piece(struct stream *s)
{
	struct piece *p = &s->frame.pieces[s->piece];
	uint8_t *to = s->link->arena[s->which].base + p->offset + s->filled;
	size_t left = p->size - s->filled, ready = s->end - s->start, n = ready < left ? ready : left;
	ssize_t got;

	if (n) {
		memcpy(to, s->buffer + s->start, n);
		s->start += n;
	} else {
		got = stream_recv(s->link, s->link->fd, to, left, MSG_DONTWAIT);
		if (got <= 0)
			return stream_receive_error(s, got);
		n = (size_t)got;
	}
	s->filled += (uint32_t)n;
	return 0;
}

int stream_receive(struct stream *s)
{
	int err;

	while (!s->have) {
		err = stream_find_frame(s);
		if (err == -EAGAIN)
			err = stream_fill(s);
		if (err)
			return err;
	}
	if (s->head.marks)
		return extra_arrived(s->link, s->marks, s->head.marks);
	while (s->piece < s->frame.npieces) {
		if (s->filled == s->frame.pieces[s->piece].size) {
			s->piece++;
			s->filled = 0;
		} else if ((err = stream_fill_piece(s))) {
			return err;
		}
	}
	return 0;
}

void stream_done(struct stream *s)
{
	s->have = false;
}

bool stream_holds(const struct stream *s)
{
	return s->end > s->start;
}

int stream_send(struct link *l, int fd, struct iovec *parts, unsigned n)
{
	struct msghdr msg = {.msg_iov = parts, .msg_iovlen = n};
	ssize_t sent;

	while (msg.msg_iovlen) {
		sent = socket_send(l, fd, &msg);
		if (sent < 0 && errno == EINTR)
			continue;
		if (sent < 0)
			return link_break(l, -EPIPE, "the connection to the %s failed: %s",
				l->server ? "client" : "server", strerror(errno));
		while (msg.msg_iovlen && (size_t)sent >= msg.msg_iov->iov_len) {
			sent -= (ssize_t)msg.msg_iov->iov_len;
			msg.msg_iov++;
			msg.msg_iovlen--;
		}
		if (msg.msg_iovlen) {
			msg.msg_iov->iov_base = (uint8_t *)msg.msg_iov->iov_base + sent;
			msg.msg_iov->iov_len -= (size_t)sent;
		}
	}
	return 0;
}
