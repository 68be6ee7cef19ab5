/*
 * The heap of in-kernel malloc.  Pointers outlive the kernel that made them, and any kernel of the process
 * may use and free them, so there is one.  What is where is written down outside of it: kernels may overwrite
 * all of it.
 */
#include "backend/cpu/cpu.h"

#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>

/* A stretch of the heap. The list covers all of it, in order; no two neighbours are both free. */
struct piece {
	uint64_t at, size;
	bool used;
	struct piece *next;
};

enum { HEAP_ALIGN = 16 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct piece *pieces;
static uint64_t heap_base, heap_size;

static bool heap_open(size_t limit)
{
	void *p;

	if (pieces)
		return true;
	pieces = calloc(1, sizeof *pieces);
	if (!pieces)
		return false;
	p = mmap(NULL, limit, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (p == MAP_FAILED) {
		free(pieces);
		pieces = NULL;
		return false;
	}
	heap_base = (uint64_t)(uintptr_t)p;
	heap_size = limit;
	*pieces = (struct piece){.at = heap_base, .size = limit};
	return true;
}

/* Cuts the front off a free piece. */
static bool split(struct piece *p, uint64_t size)
{
	struct piece *rest;

	if (p->size > size) {
		rest = malloc(sizeof *rest);
		if (!rest)
			return false;
		*rest = (struct piece){.at = p->at + size, .size = p->size - size, .next = p->next};
		p->next = rest;
		p->size = size;
	}
	p->used = true;
	return true;
}

uint64_t heap_alloc(uint64_t size, size_t limit)
{
	uint64_t at = 0;

	if (!size || size > limit)
		return 0;
	size = (size + HEAP_ALIGN - 1) & ~(uint64_t)(HEAP_ALIGN - 1);
	pthread_mutex_lock(&lock);
	if (heap_open(limit)) {
		struct piece *p = pieces;

		while (p && (p->used || p->size < size))
			p = p->next;
		if (p && split(p, size))
			at = p->at;
	}
	pthread_mutex_unlock(&lock);
	return at;
}

static void merge_next(struct piece *p)
{
	struct piece *next = p->next;

	if (!next || next->used || p->used)
		return;
	p->size += next->size;
	p->next = next->next;
	free(next);
}

/* A pointer that malloc did not give is left alone, as on a GPU. */
void heap_free(uint64_t addr)
{
	struct piece *before = NULL;

	pthread_mutex_lock(&lock);
	for (struct piece *p = pieces; p; before = p, p = p->next) {
		if (p->at != addr || !p->used)
			continue;
		p->used = false;
		merge_next(p);
		if (before)
			merge_next(before);
		break;
	}
	pthread_mutex_unlock(&lock);
}

bool heap_holds(uint64_t addr, uint64_t *base, uint64_t *size)
{
	bool in;

	pthread_mutex_lock(&lock);
	in = pieces && addr - heap_base < heap_size;
	*base = heap_base;
	*size = heap_size;
	pthread_mutex_unlock(&lock);
	return in;
}
