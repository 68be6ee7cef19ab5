/* extra_connections.c - moves stripes of large payloads over extra TCP connections. */
#include "transport/tcp/extra_connections.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "transport/tcp/tcp.h"

/* ---- Queueing ---- */

static bool queue_has_room(struct extra *s)
{
	return load_relaxed(&s->tail) - load_ordered(&s->head) < EXTRA_QUEUE;
}

static int queue_wait_room(struct extra *s)
{
	struct link *l = s->link;
	struct wait w;
	int err = 0;

	wait_init(&w, l->spin_us, -1);
	while (!queue_has_room(s) && !(err = link_broken(l))) {
		if (wait_spin(&w))
			continue;
		wait_flag(&w, &s->full);
		if (!queue_has_room(s))
			err = link_sleep(l, &w, &s->full);
	}
	return err;
}

static void queue_stripe(struct extra *s, struct piece stripe)
{
	unsigned tail = load_relaxed(&s->tail);

	if (queue_wait_room(s))
		return; /* the link is broken */
	s->queue[tail % EXTRA_QUEUE] = stripe;
	s->queued += stripe.size;
	store_ordered(&s->tail, tail + 1);
	wait_wake(&s->idle);
}

unsigned extra_queue_pieces(struct link *l, const struct piece *pieces, unsigned n, uint64_t *marks)
{
	struct extras *all = &l->tcp->extras;
	unsigned count = load_acquire(&all->count);
	uint64_t bytes = 0;

	for (unsigned i = 0; i < n; i++)
		bytes += pieces[i].size;
	if (!count || bytes < EXTRA_MIN_BYTES)
		return 0;
	for (unsigned i = 0; i < n; i++)
		for (uint32_t at = 0; at < pieces[i].size; at += EXTRA_STRIPE) {
			uint32_t left = pieces[i].size - at;

			queue_stripe(&all->extra[all->next++ % count],
				(struct piece){pieces[i].offset + at, left < EXTRA_STRIPE ? left : EXTRA_STRIPE});
		}
	for (unsigned i = 0; i < count; i++)
		marks[i] = all->extra[i].queued;
	return count;
}

void extra_queue_beats(struct link *l)
{
	struct extras *all = &l->tcp->extras;
	unsigned count = load_acquire(&all->count);

	for (unsigned i = 0; i < count; i++)
		if (queue_has_room(&all->extra[i]))
			queue_stripe(&all->extra[i], (struct piece){0, 0});
}

/* ---- Arrival ---- */

int extra_arrived(struct link *l, const uint64_t *marks, unsigned n)
{
	struct extras *all = &l->tcp->extras;

	for (unsigned i = 0; i < n; i++) {
		/* Load `ended` first: bytes before the end are counted before it is set. */
		bool ended = load_ordered(&all->extra[i].ended);

		if (load_ordered(&all->extra[i].received) >= marks[i])
			continue;
		return ended ? link_break(l, -EPIPE, "an extra connection ended") : -EINPROGRESS;
	}
	return 0;
}

int extra_wait(struct link *l, const uint64_t *marks, unsigned n, struct wait *w)
{
	_Atomic uint32_t *flag = &l->tcp->extras.arrived;
	int err;

	if (wait_spin(w))
		return extra_arrived(l, marks, n);
	wait_flag(w, flag);
	err = extra_arrived(l, marks, n);
	if (err != -EINPROGRESS || load_ordered(&l->interrupted))
		return err;
	err = link_sleep(l, w, flag);
	return err ? err : extra_arrived(l, marks, n);
}

/* ---- The threads ---- */

static int extra_receive(struct extra *s, void *to, size_t size, bool counted)
{
	struct extras *all = &s->link->tcp->extras;
	uint8_t *at = to;
	ssize_t n;

	while (size) {
		n = stream_recv(s->link, s->fd, at, size, 0);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return -EPIPE;
		at += n;
		size -= (size_t)n;
		if (!counted)
			continue;
		atomic_fetch_add(&s->received, (uint64_t)n);
		wait_wake(&all->arrived);
	}
	return 0;
}

static int extra_receive_piece(struct extra *s)
{
	struct link *l = s->link;
	struct arena *a = &l->arena[l->server ? BULK_UP : BULK_DOWN];
	struct piece p;
	int err = extra_receive(s, &p, sizeof p, false);

	if (err)
		return err;
	if (!p.size && l->server && !s->ready) {
		s->ready = true;
		extra_confirmed(s);
		return 0;
	}
	if (!p.size && !p.offset && (s->ready || !l->server))
		return 0; /* a heartbeat */
	if (!p.size || !(s->ready || !l->server) || p.offset > a->size || p.size > a->size - p.offset)
		return link_break(l, -EPROTO, "an extra connection names bytes outside the arena");
	return extra_receive(s, a->base + p.offset, p.size, true);
}

/* Does not break the link at its end: frames already received on the first connection are still delivered. */
static void *extra_receive_run(void *arg)
{
	struct extra *s = arg;

	while (!extra_receive_piece(s))
		;
	store_ordered(&s->ended, true);
	wait_wake(&s->link->tcp->extras.arrived);
	return NULL;
}

static bool queue_has_work(struct extra *s)
{
	return load_ordered(&s->tail) != load_relaxed(&s->head);
}

static int queue_wait_work(struct extra *s)
{
	struct link *l = s->link;
	struct wait w;
	int err = 0;

	wait_init(&w, 0, -1);
	while (!queue_has_work(s) && !(err = link_broken(l))) {
		wait_flag(&w, &s->idle);
		if (!queue_has_work(s))
			err = link_sleep(l, &w, &s->idle);
	}
	return err;
}

static int queue_send_next(struct extra *s)
{
	struct link *l = s->link;
	unsigned head = load_relaxed(&s->head);
	struct piece p = s->queue[head % EXTRA_QUEUE];
	struct iovec parts[] = {{&p, sizeof p}, {l->arena[l->server ? BULK_DOWN : BULK_UP].base + p.offset, p.size}};

	store_ordered(&s->head, head + 1);
	wait_wake(&s->full);
	return stream_send(l, s->fd, parts, 2);
}

static void *extra_send_run(void *arg)
{
	struct extra *s = arg;

	while (!queue_wait_work(s) && !queue_send_next(s))
		;
	return NULL;
}

/* ---- Beginning and end ---- */

void extra_wake_all(struct link *l)
{
	struct extras *all = &l->tcp->extras;

	wait_wake_always(&all->arrived);
	for (unsigned i = 0; i < EXTRAS_MAX; i++) {
		wait_wake_always(&all->extra[i].idle);
		wait_wake_always(&all->extra[i].full);
	}
}

int extra_start(struct extra *s)
{
	int err = link_thread(&s->in, extra_receive_run, s);

	s->receiving = !err;
	if (err)
		return err;
	err = link_thread(&s->out, extra_send_run, s);
	s->sending = !err;
	return err;
}

void extra_shutdown_all(struct link *l)
{
	struct extras *all = &l->tcp->extras;

	if (all->door >= 0)
		shutdown(all->door, SHUT_RDWR);
	for (unsigned i = 0; i < EXTRAS_MAX; i++)
		if (all->extra[i].fd >= 0)
			shutdown(all->extra[i].fd, SHUT_RDWR);
}

void extra_finish(struct extra *s)
{
	if (s->fd >= 0)
		shutdown(s->fd, SHUT_RDWR);
	if (s->receiving)
		pthread_join(s->in, NULL);
	if (s->sending) {
		wait_wake_always(&s->idle);
		pthread_join(s->out, NULL);
	}
	s->receiving = s->sending = false;
	if (s->fd >= 0)
		close(s->fd);
	s->fd = -1;
}

void extra_finish_all(struct link *l)
{
	struct extras *all = &l->tcp->extras;

	if (all->joining)
		pthread_join(all->joiner, NULL);
	for (unsigned i = 0; i < EXTRAS_MAX; i++)
		extra_finish(&all->extra[i]);
	if (all->door >= 0)
		close(all->door);
}

void extra_forget_all(struct link *l)
{
	struct extras *all = &l->tcp->extras;

	for (unsigned i = 0; i < EXTRAS_MAX; i++)
		if (all->extra[i].fd >= 0)
			close(all->extra[i].fd);
	if (all->door >= 0)
		close(all->door);
}
