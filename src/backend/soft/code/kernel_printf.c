/* The buffer of kernel output: a ring of texts, each preceded by its text_length. */
#include "backend/soft/code/kernel_printf.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backend/soft/engine.h"

void printf_buffer_init(struct printf_buffer *p)
{
	*p = (struct printf_buffer){.lock = PTHREAD_MUTEX_INITIALIZER};
}

void printf_buffer_finish(struct printf_buffer *p)
{
	free(p->ring);
	pthread_mutex_destroy(&p->lock);
}

/* ---- the ring; all functions require the lock ---- */

typedef uint32_t text_length;

static size_t ring_used(const struct printf_buffer *p)
{
	return atomic_load_explicit(&p->used, memory_order_relaxed);
}

static void ring_set_used(struct printf_buffer *p, size_t used)
{
	atomic_store_explicit(&p->used, used, memory_order_relaxed);
}

/* Copies n bytes at offset `at` of the ring's content from (`in`) or to the buffer. */
static void ring_copy(struct printf_buffer *p, size_t at, void *buffer, size_t n, bool in)
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

static void ring_drop_oldest(struct printf_buffer *p)
{
	text_length n;

	ring_copy(p, 0, &n, sizeof n, false);
	p->first = (p->first + sizeof n + n) % p->size;
	ring_set_used(p, ring_used(p) - sizeof n - n);
}

static bool ring_grow(struct printf_buffer *p, size_t size)
{
	char *ring = malloc(size);

	if (!ring)
		return false;
	if (ring_used(p))
		ring_copy(p, 0, ring, ring_used(p), false);
	free(p->ring);
	p->ring = ring;
	p->size = size;
	p->first = 0;
	return true;
}

/* Makes room for `need` more bytes, by dropping the oldest texts if necessary. */
static bool ring_make_room(struct printf_buffer *p, size_t need, size_t limit)
{
	size_t size = p->size ? p->size : 4096;

	if (need > limit)
		return false;
	while (ring_used(p) && ring_used(p) > limit - need)
		ring_drop_oldest(p);
	while (size < ring_used(p) + need)
		size *= 2;
	if (size > limit)
		size = limit;
	return size <= p->size || ring_grow(p, size);
}

void printf_buffer_append(struct printf_buffer *p, size_t limit, const char *text, size_t len)
{
	text_length n = (text_length)len;

	if (len > UINT32_MAX)
		return;
	pthread_mutex_lock(&p->lock);
	if (ring_make_room(p, sizeof n + len, limit)) {
		ring_copy(p, ring_used(p), &n, sizeof n, true);
		ring_copy(p, ring_used(p) + sizeof n, (void *)(uintptr_t)text, len, true);
		ring_set_used(p, ring_used(p) + sizeof n + len);
	}
	pthread_mutex_unlock(&p->lock);
}

/* ---- showing ---- */

static void ring_write_texts(struct printf_buffer *p)
{
	for (size_t at = 0, end = ring_used(p); at < end;) {
		char part[1024];
		text_length n;

		ring_copy(p, at, &n, sizeof n, false);
		at += sizeof n;
		for (size_t left = n; left;) {
			size_t m = left < sizeof part ? left : sizeof part;

			ring_copy(p, at, part, m, false);
			fwrite(part, 1, m, stdout);
			at += m;
			left -= m;
		}
	}
	fflush(stdout);
}

void printf_buffer_flush(struct printf_buffer *p)
{
	/* One thread writes at a time, which keeps the order. Kernels meanwhile continue with a new ring. */
	static pthread_mutex_t write_lock = PTHREAD_MUTEX_INITIALIZER;
	struct printf_buffer mine;

	if (!atomic_load_explicit(&p->used, memory_order_relaxed))
		return;
	pthread_mutex_lock(&write_lock);
	pthread_mutex_lock(&p->lock);
	mine = (struct printf_buffer){.ring = p->ring, .size = p->size, .first = p->first};
	ring_set_used(&mine, ring_used(p));
	p->ring = NULL;
	p->size = p->first = 0;
	ring_set_used(p, 0);
	pthread_mutex_unlock(&p->lock);
	ring_write_texts(&mine);
	pthread_mutex_unlock(&write_lock);
	free(mine.ring);
}

void soft_print(const struct launch *l, const char *text, size_t len)
{
	printf_buffer_append(l->printf_buffer, l->printf_limit, text, len);
}
