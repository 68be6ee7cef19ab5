/*
 * records.h - what the client knows of a handle without asking the server.
 *
 * Handles are the server's numbers.  A record is found by the handle's slot and checked against the whole handle, without
 * a lock.  Another thread may be using a record that was removed a moment ago, so records are not freed while the client
 * exists: those of one kind go to a pool, and are used again for a new object of that kind once RECYCLE_DELAY others have
 * been put there after them.
 */
#pragma once

#include <pthread.h>
#include "backend/remote/session/call.h"

void *record_find(uint64_t handle, enum handle_kind kind); /* NULL: none */
/* A handle that came from the server; one of another kind is a protocol error. */
CUresult record_add(uint64_t handle, enum handle_kind kind, void *record);
void *record_remove(uint64_t handle); /* NULL: there was none */
/* A handle of a former client's that stays valid.  The server knows it as an alias. */
CUresult record_carry(uint64_t handle, void *record);

struct record_table;
void records_finish_carried(struct record_table *t);

#define RECYCLE_DELAY 256

/* The first member of each record. */
struct recycled {
	struct recycled *next;    /* in the pool */
	struct recycled *created; /* the record created before it */
};

struct recycle_pool {
	pthread_mutex_t lock;
	struct recycled *first, *last; /* oldest first */
	unsigned count;
	struct recycled *created; /* all records, in use or not */
};

void recycle_pool_init(struct recycle_pool *p);
/* Frees all records, each after a call of `finish` (or NULL).  No thread may use one any more. */
void recycle_pool_finish(struct recycle_pool *p, void (*finish)(void *record));

void *recycle_take(struct recycle_pool *p);                /* with the contents it was put with; NULL: create one */
void *recycle_create(struct recycle_pool *p, size_t size); /* zeroed; NULL: no memory */
void recycle_put(struct recycle_pool *p, struct recycled *r);
