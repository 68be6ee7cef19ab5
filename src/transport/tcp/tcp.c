/* tcp.c - the common part of both sides, and the server's side: see tcp.h. */
#include "transport/tcp/tcp.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/uio.h>
#include <unistd.h>

struct tcp *tcp_new(struct link *l, const struct link_config *config)
{
	struct tcp *t = calloc(1, sizeof *t);

	if (!t)
		return NULL;
	pthread_mutex_init(&t->in_lock, NULL);
	pthread_mutex_init(&t->out_lock, NULL);
	t->called = t->extras.door = -1;
	heartbeat_init(&t->heartbeat, config);
	for (unsigned i = 0; i < EXTRAS_MAX; i++) {
		t->extras.extra[i].link = l;
		t->extras.extra[i].fd = -1;
	}
	return t;
}

int tcp_start(struct link *l)
{
	struct tcp *t = l->tcp;
	int err;

	t->called = l->server ? -1 : eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (!l->server && t->called < 0)
		return -errno;
	if (stream_init(&t->in, l, l->server ? BULK_UP : BULK_DOWN))
		return -ENOMEM;
	err = l->server ? extra_start_joining(l) : tcp_client_start(l);
	return err ? err : heartbeat_start(l);
}

/* The link is broken, so the threads are about to end. */
void tcp_stop(struct link *l)
{
	struct tcp *t = l->tcp;
	uint64_t one = 1;

	if (!t)
		return;
	heartbeat_finish(l);
	if (t->receiving)
		wait_wake_always(&t->away);
	else
		link_wake_sleepers(l);
	if (t->sending)
		pthread_join(t->sender, NULL);
	if (write(l->stop, &one, sizeof one) == sizeof one && t->receiving)
		pthread_join(t->receiver, NULL);
	extra_finish_all(l);
	stream_finish(&t->in);
	if (t->called >= 0)
		close(t->called);
	pthread_mutex_destroy(&t->in_lock);
	pthread_mutex_destroy(&t->out_lock);
	free(t);
	l->tcp = NULL;
}

void tcp_forget(struct link *l)
{
	if (!l->tcp)
		return;
	heartbeat_finish(l);
	stream_finish(&l->tcp->in);
	extra_forget_all(l);
	if (l->tcp->called >= 0)
		close(l->tcp->called);
	free(l->tcp);
	l->tcp = NULL;
}

/* ---- The server ---- */

static int frame_accept(struct link *l, struct frame *frame)
{
	struct stream *s = &l->tcp->in;
	unsigned number = s->head.lane;
	int err;

	if (s->head.ticket != load_relaxed(&l->next))
		return link_break(l, -EPROTO, "tickets came out of order");
	if (!load_relaxed(&l->lanes[number]) && (err = link_new_lane(l, number)))
		return link_break(l, err, "out of memory for a lane");
	store_relaxed(&l->next, s->head.ticket + 1);
	*frame = s->frame;
	frame->lane = load_relaxed(&l->lanes[number]);
	return 0;
}

static int socket_wait(struct link *l, struct wait *w)
{
	struct pollfd p[] = {{l->fd, POLLIN, 0}, {l->stop, POLLIN, 0}};
	uint64_t count;

	if (!poll(p, 2, wait_left_ms(w)))
		return -ETIMEDOUT;
	if (p[1].revents && read(l->stop, &count, sizeof count) < 0)
		return 0;
	return 0;
}

int tcp_next(struct link *l, struct frame *frame, int timeout_ms)
{
	struct stream *s = &l->tcp->in;
	struct wait w;
	int err;

	if (l->current)
		stream_done(s);
	l->current = NULL;
	wait_init(&w, l->spin_us, timeout_ms);
	while ((err = stream_receive(s)) == -EAGAIN || err == -EINPROGRESS) {
		bool aside = err == -EINPROGRESS;

		if ((err = link_broken(l)))
			return err;
		if (atomic_exchange(&l->interrupted, false))
			return -EINTR;
		if (aside && (err = extra_wait(l, s->marks, s->head.marks, &w)) && err != -EINPROGRESS)
			return err;
		if (!aside && !wait_spin(&w) && (err = socket_wait(l, &w)))
			return err;
	}
	err = err ? err : frame_accept(l, frame);
	if (!err)
		l->current = frame->lane;
	return err;
}

static unsigned parts_add_pieces(
	struct link *l, enum bulk which, struct iovec *parts, const struct piece *pieces, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		parts[i] = (struct iovec){l->arena[which].base + pieces[i].offset, pieces[i].size};
	return n;
}

static bool pieces_fit(struct link *l, const struct piece *pieces, unsigned n)
{
	size_t size = l->arena[BULK_DOWN].size;

	for (unsigned i = 0; i < n; i++)
		if (pieces[i].offset > size || pieces[i].size > size - pieces[i].offset)
			return false;
	return true;
}

/*
 * `parts` holds the head, the payload and the pieces, and has room for the pieces' bytes or the marks. `word` is NULL, or
 * the word to send: its value is read under the lock, so that a later frame never carries an older value.
 */
static int frame_send(struct link *l, struct frame_head *head, struct iovec *parts, unsigned n,
	const struct piece *pieces, struct word *word)
{
	uint64_t marks[EXTRAS_MAX];
	int err;

	pthread_mutex_lock(&l->tcp->out_lock);
	if (word)
		head->ticket = load_ordered(&word->value);
	head->marks = extra_queue_pieces(l, pieces, head->npieces, marks);
	if (head->marks)
		parts[n++] = (struct iovec){marks, head->marks * sizeof *marks};
	else
		n += parts_add_pieces(l, BULK_DOWN, parts + n, pieces, head->npieces);
	err = stream_send(l, l->fd, parts, n);
	pthread_mutex_unlock(&l->tcp->out_lock);
	return err;
}

int tcp_reply(struct lane *lane, const struct frame_head *head, const struct piece *pieces)
{
	struct link *l = lane->link;
	struct iovec parts[1 + LINK_PIECES];
	uint8_t *record = lane->reply_buffer;

	if (!pieces_fit(l, pieces, head->npieces))
		return -EINVAL;
	memcpy(record, head, sizeof *head);
	if (head->npieces)
		memcpy(record + frame_bytes(head->payload, 0), pieces, head->npieces * sizeof *pieces);
	parts[0] = (struct iovec){record, frame_bytes(head->payload, head->npieces)};
	return frame_send(l, (struct frame_head *)record, parts, 1, pieces, NULL);
}

int tcp_word(struct link *l, unsigned index, const struct piece *pieces, unsigned npieces)
{
	struct frame_head head = {.op = index, .npieces = (uint8_t)npieces, .kind = FRAME_WORD};
	struct iovec parts[2 + LINK_PIECES] = {{&head, sizeof head}, {(void *)pieces, npieces * sizeof *pieces}};

	return pieces_fit(l, pieces, npieces) ? frame_send(l, &head, parts, 2, pieces, &l->words[index]) : -EINVAL;
}
