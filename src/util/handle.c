#include "util/handle.h"

#include <stdatomic.h>
#include <stdlib.h>

#define GENERATIONS 0xffffffu
#define LIVE        (1ull << 31)
#define REFS        (LIVE - 1)

struct handle_slot {
	_Atomic uint64_t word;
	void *object;
	void (*release)(void *object);
	uint32_t generation;
	uint32_t next; /* as handle_table.free */
};

static uint64_t word_of(uint32_t generation, unsigned kind)
{
	return (uint64_t)generation << 40 | (uint64_t)(kind & 0xff) << 32;
}

static struct handle_slot *slot_at(struct handle_table *t, uint32_t index)
{
	struct handle_slot *chunk = atomic_load_explicit(&t->chunk[index / HANDLE_CHUNK], memory_order_acquire);

	return chunk ? &chunk[index % HANDLE_CHUNK] : NULL;
}

/* A slot nobody uses; called with the lock held. */
static struct handle_slot *take_slot(struct handle_table *t, uint32_t *index)
{
	struct handle_slot *s;

	if (t->free) {
		*index = t->free - 1;
		s = slot_at(t, *index);
		t->free = s->next;
		return s;
	}
	if (t->used == HANDLE_CHUNK * HANDLE_CHUNKS)
		return NULL;
	if (t->used % HANDLE_CHUNK == 0) {
		struct handle_slot *chunk = calloc(HANDLE_CHUNK, sizeof *chunk);

		if (!chunk)
			return NULL;
		atomic_store_explicit(&t->chunk[t->used / HANDLE_CHUNK], chunk, memory_order_release);
	}
	*index = t->used++;
	s = slot_at(t, *index);
	s->generation = 1;
	return s;
}

uint64_t handle_create(struct handle_table *t, unsigned kind, void *object, void (*release)(void *object))
{
	uint32_t index, generation = 0;

	pthread_mutex_lock(&t->lock);
	struct handle_slot *s = take_slot(t, &index);
	if (s)
		generation = s->generation;
	pthread_mutex_unlock(&t->lock);
	if (!s)
		return 0;
	s->object = object;
	s->release = release;
	atomic_store_explicit(&s->word, word_of(generation, kind) | LIVE | 1, memory_order_release);
	return (uint64_t)generation << 36 | (uint64_t)(kind & 0xff) << 28 | (uint64_t)index << 4;
}

/* The slot a handle names and the upper half its word must have; NULL: it cannot be a handle. */
static struct handle_slot *find(struct handle_table *t, uint64_t handle, uint64_t *want)
{
	if (handle & 0xf || handle >> 60)
		return NULL;
	*want = word_of(handle >> 36 & GENERATIONS, handle_kind(handle));
	return slot_at(t, handle_index(handle));
}

void *handle_peek(struct handle_table *t, uint64_t handle, unsigned kind)
{
	uint64_t want;
	struct handle_slot *s = find(t, handle, &want);

	if (!s || handle_kind(handle) != kind)
		return NULL;
	return (atomic_load_explicit(&s->word, memory_order_acquire) & ~REFS) == (want | LIVE) ? s->object : NULL;
}

void *handle_get(struct handle_table *t, uint64_t handle, unsigned kind)
{
	uint64_t want, w;
	struct handle_slot *s = find(t, handle, &want);

	if (!s || handle_kind(handle) != kind)
		return NULL;
	w = atomic_load_explicit(&s->word, memory_order_relaxed);
	do {
		if ((w & ~REFS) != (want | LIVE))
			return NULL;
	} while (!atomic_compare_exchange_weak_explicit(
		&s->word, &w, w + 1, memory_order_acquire, memory_order_relaxed));
	return s->object;
}

bool handle_close(struct handle_table *t, uint64_t handle, unsigned kind)
{
	uint64_t want, w;
	struct handle_slot *s = find(t, handle, &want);

	if (!s || handle_kind(handle) != kind)
		return false;
	w = atomic_load_explicit(&s->word, memory_order_relaxed);
	do {
		if ((w & ~REFS) != (want | LIVE))
			return false;
	} while (!atomic_compare_exchange_weak_explicit(
		&s->word, &w, w & ~LIVE, memory_order_acq_rel, memory_order_relaxed));
	handle_put(t, handle);
	return true;
}

void handle_ref(struct handle_table *t, uint64_t handle)
{
	atomic_fetch_add_explicit(&slot_at(t, handle_index(handle))->word, 1, memory_order_relaxed);
}

void handle_put(struct handle_table *t, uint64_t handle)
{
	uint32_t index = handle_index(handle);
	struct handle_slot *s = slot_at(t, index);

	if ((atomic_fetch_sub_explicit(&s->word, 1, memory_order_acq_rel) & REFS) != 1)
		return;
	void *object = s->object;
	void (*release)(void *) = s->release;
	pthread_mutex_lock(&t->lock);
	s->generation = s->generation == GENERATIONS ? 1 : s->generation + 1;
	s->next = t->free;
	t->free = index + 1;
	pthread_mutex_unlock(&t->lock);
	if (release)
		release(object);
}
