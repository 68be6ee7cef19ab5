/* records.h - what the client knows of a handle. */
#pragma once

#include <pthread.h>
#include "wire/call.h"

/* ---- records.c: handle -> what we know ---- */

void *record_find(uint64_t handle, enum handle_kind kind); /* or NULL */
/* What the server gave, which says itself what kind it is: another kind is nonsense, and no record is taken for one. */
CUresult record_add(uint64_t handle, enum handle_kind kind, void *record);
void *record_remove(uint64_t handle); /* forgets it; NULL: there was none */

/*
 * What has ended is not freed, because another thread may be looking at it, but used again for another of its
 * kind: the one that has lain on the shelf longest, once there are more than RECYCLE_DELAY.
 */
#define RECYCLE_DELAY 256

struct recycled {
	struct recycled *next;
};

struct recycle_pool {
	pthread_mutex_t lock;
	struct recycled *first, *last;
	unsigned count;
};

void *recycle_take(struct recycle_pool *s); /* as it was left; NULL: there is none */
void recycle_put(struct recycle_pool *s, struct recycled *r);
