#include "backend/soft/code/kernel_printf.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backend/soft/engine.h"

void prints_init(struct prints *p)
{
	*p = (struct prints){.lock = PTHREAD_MUTEX_INITIALIZER};
}

void prints_finish(struct prints *p)
{
	free(p->ring);
	pthread_mutex_destroy(&p->lock);
}

/* ---- the ring: texts, each behind its length.  All with the lock held. ---- */

typedef uint32_t length;

static size_t used(const struct prints *p)
{
	return atomic_load_explicit(&p->used, memory_order_relaxed);
}

static void set_used(struct prints *p, size_t used)
{
	atomic_store_explicit(&p->used, used, memory_order_relaxed);
}

/* Bytes from `at` (behind the first) on, to or from a buffer. */
static void move(struct prints *p, size_t at, void *buffer, size_t n, bool in)
{
	size_t from = (p->first + at) % p->size, part = n < p->size - from ? n : p->size - from;
	char *b = buffer;

	if (in) {
		memcpy(p->ring + from, b, part);
		memcpy(p->ring, b + part, n - part);
	} else {
		memcpy(b, p->ring + from, part);
		memcpy(b + part, p->ring, n - part);
	}
}

static void drop_first(struct prints *p)
{
	length n;

	move(p, 0, &n, sizeof n, false);
	p->first = (p->first + sizeof n + n) % p->size;
	set_used(p, used(p) - sizeof n - n);
}

static bool grow(struct prints *p, size_t size)
{
	char *ring = malloc(size);

	if (!ring)
		return false;
	if (used(p))
		move(p, 0, ring, used(p), false);
	free(p->ring);
	p->ring = ring;
	p->size = size;
	p->first = 0;
	return true;
}

/* Room for so many bytes more, if need be by forgetting what was said first. */
static bool make_room(struct prints *p, size_t need, size_t limit)
{
	size_t size = p->size ? p->size : 4096;

	if (need > limit)
		return false;
	while (used(p) && used(p) > limit - need)
		drop_first(p);
	while (size < used(p) + need)
		size *= 2;
	if (size > limit)
		size = limit;
	return size <= p->size || grow(p, size);
}

void prints_add(struct prints *p, size_t limit, const char *text, size_t len)
{
	length n = (length)len;

	if (len > UINT32_MAX)
		return;
	pthread_mutex_lock(&p->lock);
	if (make_room(p, sizeof n + len, limit)) {
		move(p, used(p), &n, sizeof n, true);
		move(p, used(p) + sizeof n, (void *)(uintptr_t)text, len, true);
		set_used(p, used(p) + sizeof n + len);
	}
	pthread_mutex_unlock(&p->lock);
}

/* ---- showing ---- */

static void write_texts(struct prints *p)
{
	for (size_t at = 0, end = used(p); at < end;) {
		char part[1024];
		length n;

		move(p, at, &n, sizeof n, false);
		at += sizeof n;
		for (size_t left = n; left;) {
			size_t m = left < sizeof part ? left : sizeof part;

			move(p, at, part, m, false);
			fwrite(part, 1, m, stdout);
			at += m;
			left -= m;
		}
	}
	fflush(stdout);
}

void prints_show(struct prints *p)
{
	/* One writes at a time, so that the order holds; kernels go on meanwhile, in a ring of their own. */
	static pthread_mutex_t writing = PTHREAD_MUTEX_INITIALIZER;
	struct prints mine;

	if (!atomic_load_explicit(&p->used, memory_order_relaxed))
		return;
	pthread_mutex_lock(&writing);
	pthread_mutex_lock(&p->lock);
	mine = (struct prints){.ring = p->ring, .size = p->size, .first = p->first};
	set_used(&mine, used(p));
	p->ring = NULL;
	p->size = p->first = 0;
	set_used(p, 0);
	pthread_mutex_unlock(&p->lock);
	write_texts(&mine);
	pthread_mutex_unlock(&writing);
	free(mine.ring);
}

void soft_print(const struct launch *l, const char *text, size_t len)
{
	prints_add(l->prints, l->printf_limit, text, len);
}
