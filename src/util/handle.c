/* The table behind handles: slots with a generation and a reference count. */
#include "util/handle.h"

#include <stdatomic.h>
#include <stdlib.h>

#define GENERATION_MAX 0xffffffu
#define WORD_LIVE      (1ull << 31)
#define WORD_REFS      (WORD_LIVE - 1)

struct handle_slot {
	_Atomic uint64_t word;
	void *object;
	void (*release)(void *object);
	uint32_t generation;
	uint32_t next; /* next free slot, as handle_table.free */
};

static uint64_t slot_word(uint32_t generation, unsigned kind)
{
	return (uint64_t)generation << 40 | (uint64_t)(kind & 0xff) << 32;
}

static struct handle_slot *slot_at(struct handle_table *t, uint32_t index)
{
	struct handle_slot *chunk = atomic_load_explicit(&t->chunk[index / HANDLE_CHUNK], memory_order_acquire);

	return chunk ? &chunk[index % HANDLE_CHUNK] : NULL;
}

/* Returns an unused slot, or NULL if out of memory. Called with the lock held. */
static struct handle_slot *slot_allocate_locked(struct handle_table *t, uint32_t *index)
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
	s->generation = t->generation + 1;
	return s;
}

uint64_t handle_create(struct handle_table *t, unsigned kind, void *object, void (*release)(void *object))
{
	uint32_t index, generation = 0;

	pthread_mutex_lock(&t->lock);
	struct handle_slot *s = slot_allocate_locked(t, &index);
	if (s)
		generation = s->generation;
	pthread_mutex_unlock(&t->lock);
	if (!s)
		return 0;
	s->object = object;
	s->release = release;
	atomic_store_explicit(&s->word, slot_word(generation, kind) | WORD_LIVE | 1, memory_order_release);
	return (uint64_t)generation << 36 | (uint64_t)(kind & 0xff) << 28 | (uint64_t)index << 4;
}

/* Returns the slot that a handle names, or NULL; *want is the upper half that the word of a live slot has. */
static struct handle_slot *slot_find(struct handle_table *t, uint64_t handle, uint64_t *want)
{
	if (handle & 0xf || handle >> 60)
		return NULL;
	*want = slot_word(handle >> 36 & GENERATION_MAX, handle_kind(handle));
	return slot_at(t, handle_index(handle));
}

void *handle_peek(struct handle_table *t, uint64_t handle, unsigned kind)
{
	uint64_t want;
	struct handle_slot *s = slot_find(t, handle, &want);

	if (!s || handle_kind(handle) != kind)
		return NULL;
	return (atomic_load_explicit(&s->word, memory_order_acquire) & ~WORD_REFS) == (want | WORD_LIVE) ? s->object
													 : NULL;
}

void *handle_get(struct handle_table *t, uint64_t handle, unsigned kind)
{
	uint64_t want, w;
	struct handle_slot *s = slot_find(t, handle, &want);

	if (!s || handle_kind(handle) != kind)
		return NULL;
	w = atomic_load_explicit(&s->word, memory_order_relaxed);
	do {
		if ((w & ~WORD_REFS) != (want | WORD_LIVE))
			return NULL;
	} while (!atomic_compare_exchange_weak_explicit(
		&s->word, &w, w + 1, memory_order_acquire, memory_order_relaxed));
	return s->object;
}

bool handle_close(struct handle_table *t, uint64_t handle, unsigned kind)
{
	uint64_t want, w;
	struct handle_slot *s = slot_find(t, handle, &want);

	if (!s || handle_kind(handle) != kind)
		return false;
	w = atomic_load_explicit(&s->word, memory_order_relaxed);
	do {
		if ((w & ~WORD_REFS) != (want | WORD_LIVE))
			return false;
	} while (!atomic_compare_exchange_weak_explicit(
		&s->word, &w, w & ~WORD_LIVE, memory_order_acq_rel, memory_order_relaxed));
	handle_put(t, handle);
	return true;
}

uint64_t handle_at_index(struct handle_table *t, uint32_t index)
{
	struct handle_slot *s = slot_at(t, index);
	uint64_t word = s ? atomic_load_explicit(&s->word, memory_order_acquire) : 0;

	return word & WORD_LIVE ? word >> 40 << 36 | (word >> 32 & 0xff) << 28 | (uint64_t)index << 4 : 0;
}

void handle_ref(struct handle_table *t, uint64_t handle)
{
	atomic_fetch_add_explicit(&slot_at(t, handle_index(handle))->word, 1, memory_order_relaxed);
}

void handle_put(struct handle_table *t, uint64_t handle)
{
	uint32_t index = handle_index(handle);
	struct handle_slot *s = slot_at(t, index);

	if ((atomic_fetch_sub_explicit(&s->word, 1, memory_order_acq_rel) & WORD_REFS) != 1)
		return;
	void *object = s->object;
	void (*release)(void *) = s->release;
	pthread_mutex_lock(&t->lock);
	s->generation = s->generation == GENERATION_MAX ? 1 : s->generation + 1;
	s->next = t->free;
	t->free = index + 1;
	pthread_mutex_unlock(&t->lock);
	if (release)
		release(object);
}
