/*
 * The heap of in-kernel malloc.  Its bookkeeping is outside the heap, because kernels may overwrite all of the heap.
 *
 *	pieces	| used | free | used | used | free            |		without gaps; no two free pieces are adjacent
 *	bins	free pieces of 2^i units and more, below 2^(i+1)
 */
#include "backend/cpu/heap.h"

#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "util/list.h"
#include "util/map.h"

enum { UNIT = 16, BINS = 48, BIN_TRIES = 8 };

struct piece {
	struct map_node node; /* key: the address */
	uint64_t size;
	bool used;
	struct list bin; /* link in heap->bins, if free */
};

struct heap {
	pthread_mutex_t lock;
	uint64_t base, size;
	struct map pieces;
	struct list bins[BINS];
};

static struct piece *piece_of(struct map_node *n)
{
	return n ? container_of(n, struct piece, node) : NULL;
}

static unsigned piece_bin(uint64_t size)
{
	unsigned bin = 63 - (unsigned)__builtin_clzll(size / UNIT);

	return bin < BINS ? bin : BINS - 1;
}

static void piece_set_free(struct heap *h, struct piece *p)
{
	p->used = false;
	list_append(&h->bins[piece_bin(p->size)], &p->bin);
}

static struct piece *piece_add(struct heap *h, uint64_t at, uint64_t size)
{
	struct piece *p = calloc(1, sizeof *p);

	if (!p)
		return NULL;
	p->node.key = at;
	p->size = size;
	map_insert(&h->pieces, &p->node);
	piece_set_free(h, p);
	return p;
}

static void piece_drop(struct heap *h, struct piece *p)
{
	map_remove(&h->pieces, &p->node);
	list_remove(&p->bin);
	free(p);
}

struct heap *heap_create(size_t size)
{
	struct heap *h = calloc(1, sizeof *h);
	void *p;

	size &= ~(size_t)(UNIT - 1);
	if (!h || !size) {
		free(h);
		return NULL;
	}
	for (int i = 0; i < BINS; i++)
		list_init(&h->bins[i]);
	p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	h->base = (uintptr_t)p;
	h->size = size;
	if (p == MAP_FAILED || !piece_add(h, h->base, size)) {
		if (p != MAP_FAILED)
			munmap(p, size);
		free(h);
		return NULL;
	}
	pthread_mutex_init(&h->lock, NULL);
	return h;
}

void heap_destroy(struct heap *h)
{
	struct piece *p;

	if (!h)
		return;
	while ((p = piece_of(map_above(&h->pieces, 0))))
		piece_drop(h, p);
	munmap((void *)(uintptr_t)h->base, h->size);
	pthread_mutex_destroy(&h->lock);
	free(h);
}

/*
 * A free piece that is large enough, or NULL.  Pieces in the bin of the size itself may be too small: try a few of
 * them, then any larger bin, and the rest of the first bin only if the larger ones are empty.
 */
static struct piece *piece_find(struct heap *h, uint64_t size)
{
	unsigned bin = piece_bin(size), tries = 0;

	list_each(it, &h->bins[bin])
	{
		struct piece *p = container_of(it, struct piece, bin);

		if (p->size >= size)
			return p;
		if (++tries == BIN_TRIES)
			break;
	}
	for (unsigned i = bin + 1; i < BINS; i++)
		if (!list_empty(&h->bins[i]))
			return container_of(h->bins[i].next, struct piece, bin);
	list_each(it, &h->bins[bin])
	{
		struct piece *p = container_of(it, struct piece, bin);

		if (p->size >= size)
			return p;
	}
	return NULL;
}

uint64_t heap_alloc(struct heap *h, uint64_t size)
{
	uint64_t at = 0;

	if (!size || size > h->size)
		return 0;
	size = (size + UNIT - 1) & ~(uint64_t)(UNIT - 1);
	pthread_mutex_lock(&h->lock);
	struct piece *p = piece_find(h, size);
	if (p && (p->size == size || piece_add(h, p->node.key + size, p->size - size))) {
		list_remove(&p->bin);
		p->size = size;
		p->used = true;
		at = p->node.key;
	}
	pthread_mutex_unlock(&h->lock);
	return at;
}

/* Merge p with the free piece that follows it. */
static void pieces_join(struct heap *h, struct piece *p, struct piece *next)
{
	list_remove(&p->bin);
	p->size += next->size;
	piece_drop(h, next);
	piece_set_free(h, p);
}

void heap_free(struct heap *h, uint64_t addr)
{
	pthread_mutex_lock(&h->lock);
	struct piece *p = piece_of(map_find(&h->pieces, addr));
	if (p && p->used) {
		struct piece *next = piece_of(map_above(&h->pieces, addr + 1));
		struct piece *before = piece_of(map_below(&h->pieces, addr - 1));

		piece_set_free(h, p);
		if (next && !next->used)
			pieces_join(h, p, next);
		if (before && !before->used)
			pieces_join(h, before, p);
	}
	pthread_mutex_unlock(&h->lock);
}

bool heap_holds(const struct heap *h, uint64_t addr, uint64_t *base, uint64_t *size)
{
	*base = h->base;
	*size = h->size;
	return addr - h->base < h->size;
}
