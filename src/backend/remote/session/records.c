#include <stdlib.h>
#include "backend/remote/session/remote.h"
#include "backend/remote/session/records.h"
#include "util/handle.h"

/* A handle's slot is in bits 4 to 27: util/handle.h. */
#define SLOT(h) ((h) >> 4 & 0xffffff)
#define CHUNK   4096

struct slot {
	_Atomic(uint64_t) handle;
	_Atomic(void *) record;
};

static _Atomic(struct slot *) chunks[CHUNK];
static pthread_mutex_t changing = PTHREAD_MUTEX_INITIALIZER;

static struct slot *slot(uint64_t handle, bool make)
{
	_Atomic(struct slot *) *at = &chunks[SLOT(handle) / CHUNK];
	struct slot *c = atomic_load_explicit(at, memory_order_acquire), *fresh;

	if (!c && make) {
		fresh = calloc(CHUNK, sizeof *fresh);
		if (!fresh)
			return NULL;
		if (atomic_compare_exchange_strong(at, &c, fresh))
			c = fresh;
		else
			free(fresh);
	}
	return c ? &c[SLOT(handle) % CHUNK] : NULL;
}

/* Looked at twice: between the two it may have become another one's, even one of another kind. */
void *record_find(uint64_t handle, enum handle_kind kind)
{
	struct slot *s = slot(handle, false);
	void *record;

	if (!s || handle_kind(handle) != kind || atomic_load_explicit(&s->handle, memory_order_acquire) != handle)
		return NULL;
	record = atomic_load_explicit(&s->record, memory_order_acquire);
	return atomic_load_explicit(&s->handle, memory_order_relaxed) == handle ? record : NULL;
}

/* What had the slot before is gone, whether or not anybody told us. */
CUresult record_add(uint64_t handle, enum handle_kind kind, void *record)
{
	struct slot *s;

	if (handle_kind(handle) != kind)
		return call_nonsense();
	s = slot(handle, true);
	if (!s)
		return CUDA_ERROR_OUT_OF_MEMORY;
	pthread_mutex_lock(&changing);
	atomic_store_explicit(&s->handle, 0, memory_order_relaxed);
	atomic_store_explicit(&s->record, record, memory_order_release);
	atomic_store_explicit(&s->handle, handle, memory_order_release);
	pthread_mutex_unlock(&changing);
	return CUDA_SUCCESS;
}

void *record_remove(uint64_t handle)
{
	struct slot *s = slot(handle, false);
	void *record = NULL;

	if (!s)
		return NULL;
	pthread_mutex_lock(&changing);
	if (s->handle == handle) {
		s->handle = 0;
		record = atomic_exchange(&s->record, NULL);
	}
	pthread_mutex_unlock(&changing);
	return record;
}

void *recycle_take(struct recycle_pool *s)
{
	struct recycled *r = NULL;

	pthread_mutex_lock(&s->lock);
	if (s->count > RECYCLE_DELAY) {
		r = s->first;
		s->first = r->next;
		s->count--;
	}
	pthread_mutex_unlock(&s->lock);
	return r;
}

void recycle_put(struct recycle_pool *s, struct recycled *r)
{
	pthread_mutex_lock(&s->lock);
	r->next = NULL;
	if (s->count++)
		s->last->next = r;
	else
		s->first = r;
	s->last = r;
	pthread_mutex_unlock(&s->lock);
}
