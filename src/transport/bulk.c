/*
 * bulk.c - pieces of the arenas, given out by the client: one bit a page.  Always the lowest that are free, so that
 * no more of an arena is touched than is in use at once: a page costs memory, time to come and time to go when the
 * process ends.
 */
#include "transport/private.h"

#include <errno.h>

#include "transport/memory.h"
#include "transport/tcp/tcp.h"

void *bulk_base(struct link *l, enum bulk which, size_t *size)
{
	if (size)
		*size = l->arena[which].size;
	return l->arena[which].base;
}

static bool is_used(const struct arena *a, size_t page)
{
	return a->used[page / 64] >> page % 64 & 1;
}

static void mark(struct arena *a, size_t page, size_t n, bool used)
{
	for (size_t end = page + n; page < end; page++) {
		size_t bit = page % 64;

		/* whole words at once */
		if (!bit && end - page >= 64) {
			a->used[page / 64] = used ? ~0ull : 0;
			page += 63;
		} else if (used) {
			a->used[page / 64] |= 1ull << bit;
		} else {
			a->used[page / 64] &= ~(1ull << bit);
		}
	}
}

/* The first of n free pages in a row within [from, to), or to. */
static size_t find(const struct arena *a, size_t from, size_t to, size_t n)
{
	size_t run = 0;

	for (size_t page = from; page < to; page++) {
		uint64_t used = a->used[page / 64];

		/* whole words at once */
		if (page % 64 == 0 && page + 64 <= to && (used == ~0ull || !used)) {
			run = used ? 0 : run + 64;
			page += 63;
		} else {
			run = is_used(a, page) ? 0 : run + 1;
		}
		if (run >= n)
			return page + 1 - run;
	}
	return to;
}

int bulk_alloc(struct link *l, enum bulk which, uint32_t size, struct piece *piece)
{
	struct arena *a = &l->arena[which];
	size_t page = memory_page(), n = ((size_t)size + page - 1) / page, at;
	int err = 0;

	if (!size || !a->used)
		return -EINVAL;
	if (size > a->size)
		return -EMSGSIZE;
	if (l->tcp && size >= SIDE_LEAST)
		side_want(l);
	pthread_mutex_lock(&a->lock);
	at = find(a, a->lowest, a->pages, n);
	if (at == a->pages)
		err = -EAGAIN;
	if (!err) {
		mark(a, at, n, true);
		if (at == a->lowest)
			a->lowest = at + n;
		*piece = (struct piece){(uint32_t)(at * page), size};
	}
	pthread_mutex_unlock(&a->lock);
	return err;
}

void bulk_free(struct link *l, enum bulk which, struct piece piece)
{
	struct arena *a = &l->arena[which];
	size_t page = memory_page(), at = piece.offset / page;

	pthread_mutex_lock(&a->lock);
	mark(a, at, ((size_t)piece.size + page - 1) / page, false);
	if (at < a->lowest)
		a->lowest = at;
	pthread_mutex_unlock(&a->lock);
}
