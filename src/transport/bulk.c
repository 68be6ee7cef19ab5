/*
 * bulk.c - allocates pieces of the arenas: one bit for each page. Always takes the lowest free pages, so that an arena's
 * touched part stays small: a touched page costs memory, and time when it is first used and when the process ends.
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

static bool arena_page_used(const struct arena *a, size_t page)
{
	return a->used[page / 64] >> page % 64 & 1;
}

static void arena_mark(struct arena *a, size_t page, size_t n, bool used)
{
	for (size_t end = page + n; page < end; page++) {
		size_t bit = page % 64;

		/* 64 pages at once */
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

/* First page of a free run of n pages within [from, to); `to` if there is none. */
static size_t arena_find_free(const struct arena *a, size_t from, size_t to, size_t n)
{
	size_t run = 0;

	for (size_t page = from; page < to; page++) {
		uint64_t used = a->used[page / 64];

		/* 64 pages at once */
		if (page % 64 == 0 && page + 64 <= to && (used == ~0ull || !used)) {
			run = used ? 0 : run + 64;
			page += 63;
		} else {
			run = arena_page_used(a, page) ? 0 : run + 1;
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
	if (l->tcp && size >= EXTRA_MIN_BYTES)
		extra_request(l);
	pthread_mutex_lock(&a->lock);
	at = arena_find_free(a, a->lowest, a->pages, n);
	if (at == a->pages)
		err = -EAGAIN;
	if (!err) {
		arena_mark(a, at, n, true);
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
	arena_mark(a, at, ((size_t)piece.size + page - 1) / page, false);
	if (at < a->lowest)
		a->lowest = at;
	pthread_mutex_unlock(&a->lock);
}
