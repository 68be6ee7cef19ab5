/* A table of handles, and for each kind a map from the driver's objects to them. */
#include "server/session/handles.h"

#include <stdatomic.h>
#include <stdlib.h>
#include "util/handle.h"
#include "util/map.h"

struct handle_entry {
	struct map_node node; /* key: the object's address */
	uint64_t id;
	void *real;    /* the driver's object */
	void *context; /* the context that the object belongs to */
	bool ended;    /* with its context */
};

struct handles {
	struct handle_table table;
	struct map by_real[HANDLE_KINDS];
	pthread_mutex_t lock; /* by_real */
	void *context;        /* of handles created from now on */
	atomic_bool refused;  /* there was no memory for a handle */
};

struct handles *handles_create(void)
{
	struct handles *h = calloc(1, sizeof *h);

	if (h) {
		pthread_mutex_init(&h->lock, NULL);
		pthread_mutex_init(&h->table.lock, NULL);
	}
	return h;
}

/* Lock held. */
static struct handle_entry *entry_find(struct handles *h, enum handle_kind kind, void *real)
{
	return (struct handle_entry *)map_find(&h->by_real[kind], (uintptr_t)real);
}

/* Lock held. */
static struct handle_entry *entry_add(struct handles *h, enum handle_kind kind, void *real)
{
	struct handle_entry *e = calloc(1, sizeof *e);

	if (!e)
		return NULL;
	e->real = real;
	e->context = h->context;
	e->node.key = (uintptr_t)real;
	e->id = handle_create(&h->table, kind, e, free);
	if (!e->id) {
		free(e);
		return NULL;
	}
	map_insert(&h->by_real[kind], &e->node);
	return e;
}

uint64_t handles_give(struct handles *h, enum handle_kind kind, void *real)
{
	struct handle_entry *e;

	if (!real)
		return 0;
	pthread_mutex_lock(&h->lock);
	e = entry_find(h, kind, real);
	if (!e)
		e = entry_add(h, kind, real);
	pthread_mutex_unlock(&h->lock);
	if (!e)
		h->refused = true;
	return e ? e->id : 0;
}

bool handles_take_refusal(struct handles *h)
{
	return atomic_load_explicit(&h->refused, memory_order_relaxed) && atomic_exchange(&h->refused, false);
}

bool handles_has(struct handles *h, enum handle_kind kind, void *real)
{
	bool has;

	pthread_mutex_lock(&h->lock);
	has = entry_find(h, kind, real) != NULL;
	pthread_mutex_unlock(&h->lock);
	return has;
}

uint64_t handles_known(struct handles *h, enum handle_kind kind, void *real)
{
	struct handle_entry *e;

	pthread_mutex_lock(&h->lock);
	e = real ? entry_find(h, kind, real) : NULL;
	pthread_mutex_unlock(&h->lock);
	return e ? e->id : 0;
}

bool handles_find(struct handles *h, enum handle_kind kind, uint64_t id, void **real)
{
	struct handle_entry *e;

	*real = NULL;
	if (!id)
		return true;
	e = handle_peek(&h->table, id, kind);
	if (!e || e->ended)
		return false;
	*real = e->real;
	return true;
}

bool handles_ended(struct handles *h, enum handle_kind kind, uint64_t id)
{
	struct handle_entry *e = id ? handle_peek(&h->table, id, kind) : NULL;

	return e && e->ended;
}

void handles_enter(struct handles *h, void *context)
{
	h->context = context;
}

void handles_end(struct handles *h, enum handle_kind kind, void *context)
{
	struct map_node *n;
	uint64_t at = 0;

	pthread_mutex_lock(&h->lock);
	while ((n = map_above(&h->by_real[kind], at))) {
		struct handle_entry *e = (struct handle_entry *)n;
		at = n->key + 1;
		if (e->context != context)
			continue;
		e->ended = true;
		map_remove(&h->by_real[kind], n);
	}
	pthread_mutex_unlock(&h->lock);
}

void handles_drop(struct handles *h, enum handle_kind kind, uint64_t id)
{
	struct handle_entry *e = id ? handle_get(&h->table, id, kind) : NULL;

	if (!e)
		return;
	pthread_mutex_lock(&h->lock);
	if (entry_find(h, kind, e->real) == e)
		map_remove(&h->by_real[kind], &e->node);
	pthread_mutex_unlock(&h->lock);
	handle_close(&h->table, id, kind);
	handle_put(&h->table, id);
}

void handles_destroy(struct handles *h)
{
	if (!h)
		return;
	for (int k = 0; k < HANDLE_KINDS; k++) {
		struct map_node *n;
		while ((n = map_above(&h->by_real[k], 0)))
			handles_drop(h, k, ((struct handle_entry *)n)->id);
	}
	free(h);
}
