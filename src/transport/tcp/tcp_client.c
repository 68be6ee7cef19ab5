/* tcp_client.c - the client's side: sends the board's frames, and delivers replies and words: see tcp.h. */
#include "transport/tcp/tcp.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#define AWAY_US 200
#define FULL_MS 1

/* ---- Out ---- */

struct batch {
	struct iovec parts[BATCH_PARTS];
	struct lane *lanes[BATCH_FRAMES];
	uint64_t marks[BATCH_FRAMES][EXTRAS_MAX];
	unsigned nparts, nframes;
};

static int batch_add_frame(struct link *l, struct batch *b)
{
	uint64_t *marks = b->marks[b->nframes];
	struct frame_head head;
	struct frame frame;
	const uint8_t *at;
	int err = board_take(l, &head, &at, &b->lanes[b->nframes]);

	if (!err)
		err = frame_check(l, &head, at + frame_bytes(head.payload, 0), BULK_UP, &frame);
	if (err)
		return err;
	b->nframes++;
	b->parts[b->nparts++] = (struct iovec){(void *)at, frame_bytes(head.payload, head.npieces)};
	head.marks = extra_queue_pieces(l, frame.pieces, frame.npieces, marks);
	if (head.marks) {
		memcpy((void *)at, &head, sizeof head); /* over TCP no other process maps the ring */
		b->parts[b->nparts++] = (struct iovec){marks, head.marks * sizeof *marks};
		return 0;
	}
	for (unsigned i = 0; i < frame.npieces; i++)
		b->parts[b->nparts++] =
			(struct iovec){l->arena[BULK_UP].base + frame.pieces[i].offset, frame.pieces[i].size};
	return 0;
}

/* Sends all frames on the board. Frees their room in the rings only after the kernel has the bytes. */
static int board_send(struct link *l)
{
	struct batch b;
	int err, sent = 0;

	do {
		b.nparts = b.nframes = 0;
		do
			err = batch_add_frame(l, &b);
		while (!err && b.nframes < BATCH_FRAMES && b.nparts + 1 + LINK_PIECES <= BATCH_PARTS);
		if (b.nframes)
			sent = stream_send(l, l->fd, b.parts, b.nparts);
		for (unsigned i = 0; i < b.nframes; i++)
			board_release(l, b.lanes[i]);
	} while (!err && !sent);
	board_settle(l);
	return err == -EAGAIN ? sent : err;
}

void tcp_flush(struct link *l)
{
	if (pthread_mutex_trylock(&l->tcp->out_lock)) {
		wait_wake(&l->control->reader_sleep);
		return;
	}
	board_send(l);
	pthread_mutex_unlock(&l->tcp->out_lock);
	/* Another thread may have published after the last check and found the lock held. */
	if (board_ready(l))
		wait_wake(&l->control->reader_sleep);
}

static int board_wait(struct link *l)
{
	_Atomic uint32_t *flag = &l->control->reader_sleep;
	bool flagged = false;
	struct wait w;
	int err = 0;

	wait_init(&w, l->spin_us, -1);
	while (!err && !board_ready(l)) {
		if ((err = link_broken(l)) || wait_spin(&w))
			continue;
		flagged = true;
		wait_flag(&w, flag);
		if (!board_ready(l))
			err = link_sleep(l, &w, flag);
	}
	if (flagged)
		store_relaxed(flag, 0);
	return err;
}

static void *sender_run(void *arg)
{
	struct link *l = arg;
	int err = 0;

	while (!err && !(err = board_wait(l))) {
		pthread_mutex_lock(&l->tcp->out_lock);
		err = board_send(l);
		pthread_mutex_unlock(&l->tcp->out_lock);
	}
	return NULL;
}

/* ---- In ---- */

static int word_deliver(struct link *l)
{
	const struct frame_head *h = &l->tcp->in.head;

	if (h->op >= l->nwords || h->ticket > UINT32_MAX)
		return link_break(l, -EPROTO, "the server set a word that does not exist");
	store_ordered(&l->words[h->op].value, (uint32_t)h->ticket);
	wait_wake(&l->words[h->op].sleep);
	return 0;
}

/* -EBUSY: the lane's ring has no room. */
static int reply_deliver(struct link *l)
{
	struct stream *s = &l->tcp->in;
	uint32_t bytes = frame_bytes(s->head.payload, s->head.npieces);
	uint32_t record = record_bytes(s->head.payload, s->head.npieces);
	struct lane *lane = load_acquire(&l->lanes[s->head.lane]);
	uint8_t *to;
	int err;

	if (!lane)
		return link_break(l, -EPROTO, "a reply came for a lane that does not exist");
	if (lane->down_tail + record - load_ordered(&lane->control->down_head) > l->ring_size)
		return -EBUSY;
	err = reply_reserve(lane, record, &to);
	if (err)
		return err;
	memcpy(to, s->buffer + s->at, bytes);
	reply_publish(lane, record);
	return 0;
}

static int frame_deliver(struct link *l)
{
	struct stream *s = &l->tcp->in;
	int err = stream_receive(s);

	if (err)
		return err;
	err = s->head.kind == FRAME_WORD ? word_deliver(l) : reply_deliver(l);
	if (!err)
		stream_done(s);
	return err;
}

/* Wakes the receiving thread: bytes left in the buffer do not make the socket readable. */
static void receiver_call(struct link *l)
{
	uint64_t one = 1;

	if (write(l->tcp->called, &one, sizeof one) == sizeof one)
		wait_wake(&l->tcp->away);
}

/*
 * Delivers everything that has arrived: behind the caller's own reply there may be one for a sleeping thread. Leaves a
 * frame whose ring is full, or whose bytes use extra connections, to the receiving thread, which can wait.
 */
void tcp_assist(struct link *l)
{
	struct tcp *t = l->tcp;
	int err;

	if (pthread_mutex_trylock(&t->in_lock))
		return;
	do
		err = frame_deliver(l);
	while (!err && stream_holds(&t->in));
	pthread_mutex_unlock(&t->in_lock);
	if (err == -EBUSY || err == -EINPROGRESS)
		receiver_call(l);
	atomic_fetch_add_explicit(&t->assisting, 1, memory_order_relaxed);
}

void tcp_rely(struct link *l)
{
	wait_wake(&l->tcp->away);
}

/* Stays away from the socket, 0.2 ms at a time, while callers receive. */
static void receiver_yield_socket(struct link *l, unsigned *seen)
{
	struct tcp *t = l->tcp;
	unsigned now = load_relaxed(&t->assisting);

	while (now != *seen && !link_broken(l)) {
		*seen = now;
		store_ordered(&t->away, 1);
		if (!wait_sleep_us(&t->away, AWAY_US))
			break; /* woken by tcp_rely or receiver_call */
		now = load_relaxed(&t->assisting);
	}
}

/* A ring is full: its thread does not take replies, or has ended. Meanwhile watches for the end of the connection. */
static int reply_wait_room(struct link *l)
{
	struct pollfd p = {.fd = l->fd, .events = POLLRDHUP};

	if (poll(&p, 1, FULL_MS) > 0 && p.revents)
		return link_break(l, -EPIPE, "the server closed the connection");
	return link_broken(l);
}

/* Waits until the frame that could not be delivered can be: 0. */
static int frame_wait_deliverable(struct link *l, int why)
{
	struct stream *s = &l->tcp->in;
	struct wait w;

	wait_init(&w, l->spin_us, -1);
	if (why == -EBUSY)
		return reply_wait_room(l);
	while (why == -EINPROGRESS && !(why = link_broken(l)))
		why = extra_wait(l, s->marks, s->head.marks, &w);
	return why;
}

static void *receiver_run(void *arg)
{
	struct link *l = arg;
	struct tcp *t = l->tcp;
	struct pollfd p[] = {{l->fd, POLLIN, 0}, {t->called, POLLIN, 0}};
	unsigned seen = 0;
	uint64_t calls;
	int err = 0;

	while (!err && !link_broken(l)) {
		if (poll(p, 2, -1) < 0)
			continue;
		if (p[1].revents && read(t->called, &calls, sizeof calls) < 0 && errno != EAGAIN)
			continue;
		pthread_mutex_lock(&t->in_lock);
		do
			err = frame_deliver(l);
		while (!err || !(err = frame_wait_deliverable(l, err)));
		pthread_mutex_unlock(&t->in_lock);
		err = err == -EAGAIN ? 0 : err;
		receiver_yield_socket(l, &seen);
	}
	link_wake_sleepers(l);
	return NULL;
}

int tcp_client_start(struct link *l)
{
	struct tcp *t = l->tcp;
	int err = link_thread(&t->sender, sender_run, l);

	t->sending = !err;
	if (err)
		return err;
	err = link_thread(&t->receiver, receiver_run, l);
	t->receiving = !err;
	return err;
}
