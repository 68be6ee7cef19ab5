/* A table of handles, and for each kind a map from the driver's objects to them. */
#include "server/session/handles.h"

#include <stdatomic.h>
#include <stdlib.h>
#include "util/handle.h"
#include "util/list.h"
#include "util/map.h"

struct handle_entry {
	struct map_node node; /* key: the object's address */
	uint64_t id;
	void *real;          /* the driver's object */
	void *context;       /* the context that the object belongs to */
	void *owner;         /* the object that this one ends with; NULL: none */
	struct list sibling; /* in the owner's members */
	bool ended;          /* with its context */
	bool counted;        /* in handles.objects */
};

struct handle_owner {
	struct map_node node; /* key: the owning object's address */
	struct list members;
};

struct handles {
	struct handle_table table;
	struct map by_real[HANDLE_KINDS];
	struct map owners;    /* of struct handle_owner */
	pthread_mutex_t lock; /* by_real, owners */
	void *context;        /* of handles created from now on */
	atomic_bool refused;  /* there was no memory for a handle */
	_Atomic uint64_t *objects;
	uint64_t most;
	unsigned uncounted; /* handles whose object ended with its context */
	struct map aliases; /* struct alias by former handle.  The dispatcher's */
	unsigned alias_count;
};

struct alias {
	struct map_node node; /* key: the former handle */
	uint64_t now;
};

#define UNCOUNTED_MAX 65536

struct handles *handles_create(_Atomic uint64_t *objects, uint64_t most)
{
	struct handles *h = calloc(1, sizeof *h);

	if (h) {
		h->objects = objects;
		h->most = most;
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

/* User objects count where their destructor is known: wait/callbacks.c. */
static bool kind_counts(enum handle_kind kind)
{
	return kind != HANDLE_CUuserObject;
}

/* Lock held. */
static void entry_count(struct handles *h, struct handle_entry *e)
{
	if (!e->counted)
		atomic_fetch_add(h->objects, 1);
	e->counted = true;
}

/* Lock held. */
static void entry_uncount(struct handles *h, struct handle_entry *e)
{
	if (e->counted)
		atomic_fetch_sub(h->objects, 1);
	e->counted = false;
}

/* Lock held. */
static struct handle_entry *entry_add(struct handles *h, enum handle_kind kind, void *real)
{
	struct handle_entry *e = atomic_load(h->objects) < h->most ? calloc(1, sizeof *e) : NULL;

	if (!e)
		return NULL;
	e->real = real;
	e->context = h->context;
	list_init(&e->sibling);
	e->node.key = (uintptr_t)real;
	e->id = handle_create(&h->table, kind, e, free);
	if (!e->id) {
		free(e);
		return NULL;
	}
	map_insert(&h->by_real[kind], &e->node);
	if (kind_counts(kind))
		entry_count(h, e);
	return e;
}

/* Lock held.  NULL: no memory, or too many objects. */
static struct handle_entry *entry_get(struct handles *h, enum handle_kind kind, void *real)
{
	struct handle_entry *e = entry_find(h, kind, real);

	if (!e)
		return entry_add(h, kind, real);
	if (!e->counted && kind_counts(kind)) { /* the driver has reused the address of an object that ended */
		entry_count(h, e);
		e->context = h->context;
		e->owner = NULL;
		list_remove(&e->sibling);
		h->uncounted--;
	}
	return e;
}

uint64_t handles_give(struct handles *h, enum handle_kind kind, void *real)
{
	struct handle_entry *e;

	if (!real)
		return 0;
	pthread_mutex_lock(&h->lock);
	e = entry_get(h, kind, real);
	pthread_mutex_unlock(&h->lock);
	if (!e)
		h->refused = true;
	return e ? e->id : 0;
}

bool handles_take_refusal(struct handles *h)
{
	return atomic_load_explicit(&h->refused, memory_order_relaxed) && atomic_exchange(&h->refused, false);
}

/* Lock held.  NULL: no memory; the members' handles then stay until the session ends. */
static struct handle_owner *owner_get(struct handles *h, void *owner)
{
	struct handle_owner *o = (struct handle_owner *)map_find(&h->owners, (uintptr_t)owner);

	if (!o && (o = calloc(1, sizeof *o))) {
		o->node.key = (uintptr_t)owner;
		list_init(&o->members);
		map_insert(&h->owners, &o->node);
	}
	return o;
}

void handles_own(struct handles *h, enum handle_kind kind, void *real, void *owner)
{
	struct handle_entry *e;
	struct handle_owner *o;

	pthread_mutex_lock(&h->lock);
	e = real ? entry_get(h, kind, real) : NULL;
	o = e && e->owner != owner ? owner_get(h, owner) : NULL;
	if (o) {
		e->owner = owner;
		list_remove(&e->sibling);
		list_append(&o->members, &e->sibling);
	}
	pthread_mutex_unlock(&h->lock);
}

void *handles_owner(struct handles *h, enum handle_kind kind, void *real)
{
	struct handle_entry *e;

	pthread_mutex_lock(&h->lock);
	e = real ? entry_find(h, kind, real) : NULL;
	pthread_mutex_unlock(&h->lock);
	return e ? e->owner : NULL;
}

bool handles_any(struct handles *h, enum handle_kind kind)
{
	bool any;

	pthread_mutex_lock(&h->lock);
	any = map_above(&h->by_real[kind], 0) != NULL;
	pthread_mutex_unlock(&h->lock);
	return any;
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

/* The entry of a handle or of its alias. */
static struct handle_entry *entry_of(struct handles *h, enum handle_kind kind, uint64_t id)
{
	struct handle_entry *e = handle_peek(&h->table, id, kind);
	struct alias *a = e || !h->alias_count ? NULL : (struct alias *)map_find(&h->aliases, id);

	return a ? handle_peek(&h->table, a->now, kind) : e;
}

bool handles_begin(struct handles *h, uint32_t generation)
{
	bool unused;

	pthread_mutex_lock(&h->table.lock);
	unused = !h->table.used;
	if (unused)
		h->table.generation = generation;
	pthread_mutex_unlock(&h->table.lock);
	return unused;
}

bool handles_alias(struct handles *h, enum handle_kind kind, uint64_t former, uint64_t now)
{
	struct alias *a = (struct alias *)map_find(&h->aliases, former);

	if (!handle_peek(&h->table, now, kind) || handle_peek(&h->table, former, kind) ||
		(!a && h->alias_count == WIRE_ALIASES))
		return false;
	if (!a) {
		a = calloc(1, sizeof *a);
		if (!a)
			return false;
		a->node.key = former;
		map_insert(&h->aliases, &a->node);
		h->alias_count++;
	}
	a->now = now;
	return true;
}

bool handles_find(struct handles *h, enum handle_kind kind, uint64_t id, void **real)
{
	struct handle_entry *e;

	*real = NULL;
	if (!id)
		return true;
	e = entry_of(h, kind, id);
	if (!e || e->ended)
		return false;
	*real = e->real;
	return true;
}

bool handles_ended(struct handles *h, enum handle_kind kind, uint64_t id)
{
	struct handle_entry *e = id ? entry_of(h, kind, id) : NULL;

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
		entry_uncount(h, e);
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
	if (entry_find(h, kind, e->real) == e) {
		map_remove(&h->by_real[kind], &e->node);
		h->uncounted -= !e->counted && kind_counts(kind);
	}
	list_remove(&e->sibling);
	entry_uncount(h, e);
	pthread_mutex_unlock(&h->lock);
	handle_close(&h->table, id, kind);
	handle_put(&h->table, id);
}

/* The first entry of a kind, from a key on, that belongs to the context and counts; NULL: none. */
static struct handle_entry *entry_of_context(struct handles *h, enum handle_kind kind, uint64_t from, void *context)
{
	struct map_node *n;
	struct handle_entry *e = NULL;

	pthread_mutex_lock(&h->lock);
	for (; (n = map_above(&h->by_real[kind], from)); from = n->key + 1) {
		e = (struct handle_entry *)n;
		if (e->context == context && e->counted)
			break;
	}
	pthread_mutex_unlock(&h->lock);
	return n ? e : NULL;
}

static void entry_object_ended(struct handles *h, enum handle_kind kind, struct handle_entry *e)
{
	if (h->uncounted >= UNCOUNTED_MAX) {
		handles_drop(h, kind, e->id);
		return;
	}
	pthread_mutex_lock(&h->lock);
	entry_uncount(h, e);
	h->uncounted++;
	pthread_mutex_unlock(&h->lock);
}

/* Takes a member from an owner; NULL: no more, and the owner is forgotten. */
static struct handle_entry *owner_take(struct handles *h, void *owner)
{
	struct handle_entry *e = NULL;
	struct handle_owner *o;

	pthread_mutex_lock(&h->lock);
	o = (struct handle_owner *)map_find(&h->owners, (uintptr_t)owner);
	if (o && !list_empty(&o->members)) {
		e = container_of(o->members.next, struct handle_entry, sibling);
		list_remove(&e->sibling);
		e->owner = NULL;
	} else if (o) {
		map_remove(&h->owners, &o->node);
		free(o);
	}
	pthread_mutex_unlock(&h->lock);
	return e;
}

void handles_owner_ended(struct handles *h, void *owner)
{
	struct handle_entry *e;

	while ((e = owner_take(h, owner)))
		if (e->counted)
			entry_object_ended(h, handle_kind(e->id), e);
}

void handles_context_ended(struct handles *h, void *context)
{
	static const enum handle_kind kinds[] = {HANDLE_CUmodule, HANDLE_CUfunction, HANDLE_CUarray,
		HANDLE_CUmipmappedArray, HANDLE_CUevent, HANDLE_CUstream, HANDLE_CUtexref, HANDLE_CUsurfref,
		HANDLE_CUlinkState};
	struct handle_entry *e;

	for (size_t i = 0; context && i < sizeof kinds / sizeof *kinds; i++)
		for (uint64_t from = 0; (e = entry_of_context(h, kinds[i], from, context));) {
			from = e->node.key + 1;
			entry_object_ended(h, kinds[i], e);
		}
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
	for (struct map_node *n; (n = map_above(&h->aliases, 0));) {
		map_remove(&h->aliases, n);
		free(n);
	}
	free(h);
}
