#include <stdlib.h>
#include "server/session/handles.h"
#include "util/handle.h"
#include "util/map.h"

struct entry {
	struct map_node node; /* key: the object's address */
	uint64_t id;
	void *real, *context;
	bool ended;
};

struct handles {
	struct handle_table table;
	struct map by_real[HANDLE_KINDS];
	pthread_mutex_t lock;
	void *context; /* what is given out now belongs to it */
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

static struct entry *lookup(struct handles *h, enum handle_kind kind, void *real)
{
	return (struct entry *)map_find(&h->by_real[kind], (uintptr_t)real);
}

static struct entry *add(struct handles *h, enum handle_kind kind, void *real)
{
	struct entry *e = calloc(1, sizeof *e);

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
	struct entry *e;

	if (!real)
		return 0;
	pthread_mutex_lock(&h->lock);
	e = lookup(h, kind, real);
	if (!e)
		e = add(h, kind, real);
	pthread_mutex_unlock(&h->lock);
	return e ? e->id : 0;
}

bool handles_has(struct handles *h, enum handle_kind kind, void *real)
{
	bool has;

	pthread_mutex_lock(&h->lock);
	has = lookup(h, kind, real) != NULL;
	pthread_mutex_unlock(&h->lock);
	return has;
}

uint64_t handles_known(struct handles *h, enum handle_kind kind, void *real)
{
	struct entry *e;

	pthread_mutex_lock(&h->lock);
	e = real ? lookup(h, kind, real) : NULL;
	pthread_mutex_unlock(&h->lock);
	return e ? e->id : 0;
}

bool handles_find(struct handles *h, enum handle_kind kind, uint64_t id, void **real)
{
	struct entry *e;

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
	struct entry *e = id ? handle_peek(&h->table, id, kind) : NULL;

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
		struct entry *e = (struct entry *)n;
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
	struct entry *e = id ? handle_get(&h->table, id, kind) : NULL;

	if (!e)
		return;
	pthread_mutex_lock(&h->lock);
	if (lookup(h, kind, e->real) == e)
		map_remove(&h->by_real[kind], &e->node);
	pthread_mutex_unlock(&h->lock);
	handle_close(&h->table, id, kind);
	handle_put(&h->table, id);
}

void handles_each(struct handles *h, enum handle_kind kind, void (*f)(void *real, void *arg), void *arg)
{
	struct map_node *n = map_above(&h->by_real[kind], 0);

	while (n) {
		f(((struct entry *)n)->real, arg);
		n = n->key == UINT64_MAX ? NULL : map_above(&h->by_real[kind], n->key + 1);
	}
}

void handles_destroy(struct handles *h)
{
	if (!h)
		return;
	for (int k = 0; k < HANDLE_KINDS; k++) {
		struct map_node *n;
		while ((n = map_above(&h->by_real[k], 0)))
			handles_drop(h, k, ((struct entry *)n)->id);
	}
	free(h);
}
