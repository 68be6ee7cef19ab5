/* The records of handles: a table by slot, and pools of records to use again. */
#include "backend/remote/session/records.h"

#include <stdlib.h>
#include "backend/remote/session/state.h"
#include "util/handle.h"

struct record_slot {
	_Atomic(uint64_t) handle;
	_Atomic(void *) record;
};

static struct record_slot *record_slot_of(uint64_t handle, bool create)
{
	_Atomic(struct record_slot *) *at = &client->session->records.chunks[handle_index(handle) / RECORD_CHUNK];
	struct record_slot *c = atomic_load_explicit(at, memory_order_acquire), *fresh;

	if (!c && create) {
		fresh = calloc(RECORD_CHUNK, sizeof *fresh);
		if (!fresh)
			return NULL;
		if (atomic_compare_exchange_strong(at, &c, fresh))
			c = fresh;
		else
			free(fresh);
	}
	return c ? &c[handle_index(handle) % RECORD_CHUNK] : NULL;
}

/* A handle of a former client's.  Few handles are carried, so that a lock does for them. */
struct carried_record {
	struct map_node node; /* key: the handle */
	void *record;
};

static void *carried_find(uint64_t handle)
{
	struct record_table *t = &client->session->records;
	struct carried_record *c;
	void *record;

	pthread_rwlock_rdlock(&t->carried_lock);
	c = (struct carried_record *)map_find(&t->carried, handle);
	record = c ? c->record : NULL;
	pthread_rwlock_unlock(&t->carried_lock);
	return record;
}

CUresult record_carry(uint64_t handle, void *record)
{
	struct record_table *t = &client->session->records;
	struct carried_record *c = calloc(1, sizeof *c), *old;

	if (!c)
		return CUDA_ERROR_OUT_OF_MEMORY;
	*c = (struct carried_record){.node.key = handle, .record = record};
	pthread_rwlock_wrlock(&t->carried_lock);
	old = (struct carried_record *)map_find(&t->carried, handle);
	if (old)
		old->record = record;
	else
		map_insert(&t->carried, &c->node);
	atomic_store(&t->has_carried, true);
	pthread_rwlock_unlock(&t->carried_lock);
	if (old)
		free(c);
	return CUDA_SUCCESS;
}

static void *carried_remove(uint64_t handle)
{
	struct record_table *t = &client->session->records;
	struct carried_record *c;
	void *record;

	pthread_rwlock_wrlock(&t->carried_lock);
	c = (struct carried_record *)map_find(&t->carried, handle);
	record = c ? c->record : NULL;
	if (c)
		map_remove(&t->carried, &c->node);
	pthread_rwlock_unlock(&t->carried_lock);
	free(c);
	return record;
}

void records_finish_carried(struct record_table *t)
{
	struct map_node *n;

	while ((n = map_above(&t->carried, 0))) {
		map_remove(&t->carried, n);
		free(n);
	}
}

static bool records_carried(void)
{
	return __builtin_expect(atomic_load_explicit(&client->session->records.has_carried, memory_order_relaxed), 0);
}

/* Reads the handle twice: in between the slot may have got another record, even one of another kind. */
void *record_find(uint64_t handle, enum handle_kind kind)
{
	struct record_slot *s = record_slot_of(handle, false);
	void *record;

	if (!s || handle_kind(handle) != kind || atomic_load_explicit(&s->handle, memory_order_acquire) != handle)
		return records_carried() && handle_kind(handle) == kind ? carried_find(handle) : NULL;
	record = atomic_load_explicit(&s->record, memory_order_acquire);
	return atomic_load_explicit(&s->handle, memory_order_relaxed) == handle ? record : NULL;
}

/* A record that has the slot already belongs to an object that has ended. */
CUresult record_add(uint64_t handle, enum handle_kind kind, void *record)
{
	struct record_slot *s;

	if (handle_kind(handle) != kind)
		return client_reject_reply();
	s = record_slot_of(handle, true);
	if (!s)
		return CUDA_ERROR_OUT_OF_MEMORY;
	pthread_mutex_lock(&client->session->records.write_lock);
	atomic_store_explicit(&s->handle, 0, memory_order_relaxed);
	atomic_store_explicit(&s->record, record, memory_order_release);
	atomic_store_explicit(&s->handle, handle, memory_order_release);
	pthread_mutex_unlock(&client->session->records.write_lock);
	return CUDA_SUCCESS;
}

void *record_remove(uint64_t handle)
{
	struct record_slot *s = record_slot_of(handle, false);
	void *record = NULL;

	if (records_carried() && (record = carried_remove(handle)))
		return record;
	if (!s)
		return NULL;
	pthread_mutex_lock(&client->session->records.write_lock);
	if (s->handle == handle) {
		s->handle = 0;
		record = atomic_exchange(&s->record, NULL);
	}
	pthread_mutex_unlock(&client->session->records.write_lock);
	return record;
}

/* ---- records to use again ---- */

void recycle_pool_init(struct recycle_pool *p)
{
	*p = (struct recycle_pool){0};
	pthread_mutex_init(&p->lock, NULL);
}

void recycle_pool_finish(struct recycle_pool *p, void (*finish)(void *record))
{
	for (struct recycled *r = p->created, *next; r; r = next) {
		next = r->created;
		if (finish)
			finish(r);
		free(r);
	}
	*p = (struct recycle_pool){0};
}

void *recycle_take(struct recycle_pool *p)
{
	struct recycled *r = NULL;

	pthread_mutex_lock(&p->lock);
	if (p->count > RECYCLE_DELAY) {
		r = p->first;
		p->first = r->next;
		p->count--;
	}
	pthread_mutex_unlock(&p->lock);
	return r;
}

void *recycle_create(struct recycle_pool *p, size_t size)
{
	struct recycled *r = calloc(1, size);

	if (!r)
		return NULL;
	pthread_mutex_lock(&p->lock);
	r->created = p->created;
	p->created = r;
	pthread_mutex_unlock(&p->lock);
	return r;
}

void recycle_put(struct recycle_pool *p, struct recycled *r)
{
	pthread_mutex_lock(&p->lock);
	r->next = NULL;
	if (p->count++)
		p->last->next = r;
	else
		p->first = r;
	p->last = r;
	pthread_mutex_unlock(&p->lock);
}
