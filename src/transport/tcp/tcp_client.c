/* tcp_client.c - from the board to the socket, and from the socket to rings and words: see tcp.h. */
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
	uint64_t marks[BATCH_FRAMES][SIDES_MAX];
	unsigned nparts, nframes;
};

static int add_frame(struct link *l, struct batch *b)
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
	head.marks = side_give(l, frame.pieces, frame.npieces, marks);
	if (head.marks) {
		memcpy((void *)at, &head, sizeof head); /* the ring is our own */
		b->parts[b->nparts++] = (struct iovec){marks, head.marks * sizeof *marks};
		return 0;
	}
	for (unsigned i = 0; i < frame.npieces; i++)
		b->parts[b->nparts++] =
			(struct iovec){l->arena[BULK_UP].base + frame.pieces[i].offset, frame.pieces[i].size};
	return 0;
}

/* All that is on the board.  Room is given back only once the bytes are the kernel's. */
static int send_board(struct link *l)
{
	struct batch b;
	int err, sent = 0;

	do {
		b.nparts = b.nframes = 0;
		do
			err = add_frame(l, &b);
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
	send_board(l);
	pthread_mutex_unlock(&l->tcp->out_lock);
	/* Somebody may have published after our last look, and found us holding the lock. */
	if (board_ready(l))
		wait_wake(&l->control->reader_sleep);
}

static int wait_board(struct link *l)
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

static void *sender(void *arg)
{
	struct link *l = arg;
	int err = 0;

	while (!err && !(err = wait_board(l))) {
		pthread_mutex_lock(&l->tcp->out_lock);
		err = send_board(l);
		pthread_mutex_unlock(&l->tcp->out_lock);
	}
	return NULL;
}

/* ---- In ---- */

static int deliver_word(struct link *l)
{
	const struct frame_head *h = &l->tcp->in.head;

	if (h->op >= l->nwords || h->ticket > UINT32_MAX)
		return link_break(l, -EPROTO, "the server set a word that does not exist");
	store_ordered(&l->words[h->op].value, (uint32_t)h->ticket);
	wait_wake(&l->words[h->op].sleep);
	return 0;
}

/* -EBUSY: the lane's ring has no room. */
static int deliver_reply(struct link *l)
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

static int deliver(struct link *l)
{
	struct stream *s = &l->tcp->in;
	int err = stream_receive(s);

	if (err)
		return err;
	err = s->head.kind == FRAME_WORD ? deliver_word(l) : deliver_reply(l);
	if (!err)
		stream_done(s);
	return err;
}

/* The receiving thread has to go on: what is left in the buffer does not make the socket readable. */
static void call_receiver(struct link *l)
{
	uint64_t one = 1;

	if (write(l->tcp->called, &one, sizeof one) == sizeof one)
		wait_wake(&l->tcp->away);
}

/*
 * All that came at once: behind our own frame there may be one for a thread that sleeps.  A frame whose lane
 * is full, or whose bytes come by the sides, is left to the receiving thread, which can wait.
 */
void tcp_assist(struct link *l)
{
	struct tcp *t = l->tcp;
	int err;

	if (pthread_mutex_trylock(&t->in_lock))
		return;
	do
		err = deliver(l);
	while (!err && stream_holds(&t->in));
	pthread_mutex_unlock(&t->in_lock);
	if (err == -EBUSY || err == -EINPROGRESS)
		call_receiver(l);
	atomic_fetch_add_explicit(&t->assisting, 1, memory_order_relaxed);
}

/* A caller goes to sleep: from now on the receiving thread is needed at once. */
void tcp_rely(struct link *l)
{
	wait_wake(&l->tcp->away);
}

/* Callers receive: keep away, for 0.2 ms at a time, until none has for that long. */
static void stay_away(struct link *l, unsigned *seen)
{
	struct tcp *t = l->tcp;
	unsigned now = load_relaxed(&t->assisting);

	while (now != *seen && !link_broken(l)) {
		*seen = now;
		store_ordered(&t->away, 1);
		if (!wait_sleep_us(&t->away, AWAY_US))
			break; /* called */
		now = load_relaxed(&t->assisting);
	}
}

/* Somebody does not take what comes for it, or nobody ever will.  An end of the connection is behind that. */
static int wait_room(struct link *l)
{
	struct pollfd p = {.fd = l->fd, .events = POLLRDHUP};

	if (poll(&p, 1, FULL_MS) > 0 && p.revents)
		return link_break(l, -EPIPE, "the server closed the connection");
	return link_broken(l);
}

/* What it was that kept a frame back has passed: 0. */
static int wait_kept(struct link *l, int why)
{
	struct stream *s = &l->tcp->in;
	struct wait w;

	wait_init(&w, l->spin_us, -1);
	if (why == -EBUSY)
		return wait_room(l);
	while (why == -EINPROGRESS && !(why = link_broken(l)))
		why = side_wait(l, s->marks, s->head.marks, &w);
	return why;
}

static void *receiver(void *arg)
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
			err = deliver(l);
		while (!err || !(err = wait_kept(l, err)));
		pthread_mutex_unlock(&t->in_lock);
		err = err == -EAGAIN ? 0 : err;
		stay_away(l, &seen);
	}
	link_wake_sleepers(l);
	return NULL;
}

int tcp_client_start(struct link *l)
{
	struct tcp *t = l->tcp;
	int err = link_thread(&t->sender, sender, l);

	t->sending = !err;
	if (err)
		return err;
	err = link_thread(&t->receiver, receiver, l);
	t->receiving = !err;
	return err;
}
