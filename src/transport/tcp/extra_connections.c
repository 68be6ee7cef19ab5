#include "transport/tcp/extra_connections.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "transport/tcp/tcp.h"

/* ---- Giving ---- */

static bool has_room(struct side *s)
{
	return load_relaxed(&s->tail) - load_ordered(&s->head) < SIDE_QUEUE;
}

static int wait_room(struct side *s)
{
	struct link *l = s->link;
	struct wait w;
	int err = 0;

	wait_init(&w, l->spin_us, -1);
	while (!has_room(s) && !(err = link_broken(l))) {
		if (wait_spin(&w))
			continue;
		wait_flag(&w, &s->full);
		if (!has_room(s))
			err = link_sleep(l, &w, &s->full);
	}
	return err;
}

static void give(struct side *s, struct piece stripe)
{
	unsigned tail = load_relaxed(&s->tail);

	if (wait_room(s))
		return; /* broken: nobody will miss it */
	s->queue[tail % SIDE_QUEUE] = stripe;
	s->given += stripe.size;
	store_ordered(&s->tail, tail + 1);
	wait_wake(&s->idle);
}

unsigned side_give(struct link *l, const struct piece *pieces, unsigned n, uint64_t *marks)
{
	struct sides *all = &l->tcp->sides;
	unsigned count = load_acquire(&all->count);
	uint64_t bytes = 0;

	for (unsigned i = 0; i < n; i++)
		bytes += pieces[i].size;
	if (!count || bytes < SIDE_LEAST)
		return 0;
	for (unsigned i = 0; i < n; i++)
		for (uint32_t at = 0; at < pieces[i].size; at += SIDE_STRIPE) {
			uint32_t left = pieces[i].size - at;

			give(&all->side[all->next++ % count],
				(struct piece){pieces[i].offset + at, left < SIDE_STRIPE ? left : SIDE_STRIPE});
		}
	for (unsigned i = 0; i < count; i++)
		marks[i] = all->side[i].given;
	return count;
}

/* ---- Taking ---- */

int side_look(struct link *l, const uint64_t *marks, unsigned n)
{
	struct sides *all = &l->tcp->sides;

	for (unsigned i = 0; i < n; i++) {
		/* ended first: what came before the end was counted before it */
		bool ended = load_ordered(&all->side[i].ended);

		if (load_ordered(&all->side[i].came) >= marks[i])
			continue;
		return ended ? link_break(l, -EPIPE, "a connection for bulk bytes ended") : -EINPROGRESS;
	}
	return 0;
}

int side_wait(struct link *l, const uint64_t *marks, unsigned n, struct wait *w)
{
	_Atomic uint32_t *flag = &l->tcp->sides.arrived;
	int err;

	if (wait_spin(w))
		return side_look(l, marks, n);
	wait_flag(w, flag);
	err = side_look(l, marks, n);
	if (err != -EINPROGRESS || load_ordered(&l->interrupted))
		return err;
	err = link_sleep(l, w, flag);
	return err ? err : side_look(l, marks, n);
}

/* ---- The threads ---- */

static int receive_all(struct side *s, void *to, size_t size, bool counted)
{
	struct sides *all = &s->link->tcp->sides;
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
		atomic_fetch_add(&s->came, (uint64_t)n);
		wait_wake(&all->arrived);
	}
	return 0;
}

static int receive_piece(struct side *s)
{
	struct link *l = s->link;
	struct arena *a = &l->arena[l->server ? BULK_UP : BULK_DOWN];
	struct piece p;
	int err = receive_all(s, &p, sizeof p, false);

	if (err)
		return err;
	if (!p.size && l->server && !s->ready) {
		s->ready = true;
		side_heard(s);
		return 0;
	}
	if (!p.size || !(s->ready || !l->server) || p.offset > a->size || p.size > a->size - p.offset)
		return link_break(l, -EPROTO, "a connection for bulk bytes names none of its arena's");
	return receive_all(s, a->base + p.offset, p.size, true);
}

/* It may end before what the link's own connection has brought is used: that one says when it is over. */
static void *receive(void *arg)
{
	struct side *s = arg;

	while (!receive_piece(s))
		;
	store_ordered(&s->ended, true);
	wait_wake(&s->link->tcp->sides.arrived);
	return NULL;
}

static bool has_work(struct side *s)
{
	return load_ordered(&s->tail) != load_relaxed(&s->head);
}

static int wait_work(struct side *s)
{
	struct link *l = s->link;
	struct wait w;
	int err = 0;

	wait_init(&w, 0, -1);
	while (!has_work(s) && !(err = link_broken(l))) {
		wait_flag(&w, &s->idle);
		if (!has_work(s))
			err = link_sleep(l, &w, &s->idle);
	}
	return err;
}

static int send_next(struct side *s)
{
	struct link *l = s->link;
	unsigned head = load_relaxed(&s->head);
	struct piece p = s->queue[head % SIDE_QUEUE];
	struct iovec parts[] = {{&p, sizeof p}, {l->arena[l->server ? BULK_DOWN : BULK_UP].base + p.offset, p.size}};

	store_ordered(&s->head, head + 1);
	wait_wake(&s->full);
	return stream_send(l, s->fd, parts, 2);
}

static void *send_queue(void *arg)
{
	struct side *s = arg;

	while (!wait_work(s) && !send_next(s))
		;
	return NULL;
}

/* ---- Beginning and end ---- */

void side_wake(struct link *l)
{
	struct sides *all = &l->tcp->sides;

	wait_wake_always(&all->arrived);
	for (unsigned i = 0; i < SIDES_MAX; i++) {
		wait_wake_always(&all->side[i].idle);
		wait_wake_always(&all->side[i].full);
	}
}

int side_begin(struct side *s)
{
	int err = link_thread(&s->in, receive, s);

	s->receiving = !err;
	if (err)
		return err;
	err = link_thread(&s->out, send_queue, s);
	s->sending = !err;
	return err;
}

void side_shut(struct link *l)
{
	struct sides *all = &l->tcp->sides;

	if (all->door >= 0)
		shutdown(all->door, SHUT_RDWR);
	for (unsigned i = 0; i < SIDES_MAX; i++)
		if (all->side[i].fd >= 0)
			shutdown(all->side[i].fd, SHUT_RDWR);
}

void side_end(struct side *s)
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

void side_stop(struct link *l)
{
	struct sides *all = &l->tcp->sides;

	if (all->joining)
		pthread_join(all->joiner, NULL);
	for (unsigned i = 0; i < SIDES_MAX; i++)
		side_end(&all->side[i]);
	if (all->door >= 0)
		close(all->door);
}

void side_forget(struct link *l)
{
	struct sides *all = &l->tcp->sides;

	for (unsigned i = 0; i < SIDES_MAX; i++)
		if (all->side[i].fd >= 0)
			close(all->side[i].fd);
	if (all->door >= 0)
		close(all->door);
}
