/*
 * handle.h - opaque numbers that applications hold instead of pointers to our objects.
 *
 * A handle is never dereferenced: it contains the index of a slot, the kind of the object, and the generation of the
 * slot. Stale, forged and foreign values are not found.
 *
 *	63    60 59        36 35   28 27       4 3  0
 *	|   0   | generation |  kind  |  index  | 0  |		a handle
 *	| generation:24 | kind:8 | live:1 | references:31 |	the word of its slot
 *
 * A lookup is lock-free and takes a reference: a lookup that races with handle_close() either fails or keeps the object
 * alive until handle_put(). The table itself holds one reference while the handle is live.
 */
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#define HANDLE_CHUNK  4096u
#define HANDLE_CHUNKS 4096u

struct handle_slot;

struct handle_table {
	pthread_mutex_t lock; /* allocating and freeing slots */
	uint32_t used;        /* slots ever handed out */
	uint32_t free;        /* index + 1 of the first free slot, 0 = none */
	uint32_t
		generation; /* of a slot at its first use, minus 1: tables with different values give out different handles */
	_Atomic(struct handle_slot *) chunk[HANDLE_CHUNKS];
};

#define HANDLE_TABLE_INIT {.lock = PTHREAD_MUTEX_INITIALIZER}

/* Create a handle. release(object) runs when the last reference is dropped. Returns 0 if out of memory. */
uint64_t handle_create(struct handle_table *t, unsigned kind, void *object, void (*release)(void *object));

/* Returns the object with a reference, to be dropped with handle_put(); NULL if this is no live handle of this kind. */
void *handle_get(struct handle_table *t, uint64_t handle, unsigned kind);

/* The same without a reference, for the only thread that closes handles of this table. */
void *handle_peek(struct handle_table *t, uint64_t handle, unsigned kind);

static inline uint32_t handle_index(uint64_t handle)
{
	return handle >> 4 & 0xffffff;
}

/* The kind in a value, which may be forged; handle_get() checks it. */
static inline unsigned handle_kind(uint64_t handle)
{
	return handle >> 28 & 0xff;
}

/* The live handle in the slot with this index; 0: none. For a walk over all handles, up to `used`. */
uint64_t handle_at_index(struct handle_table *t, uint32_t index);

/* Invalidate the handle and drop the table's reference. Returns true to exactly one caller. */
bool handle_close(struct handle_table *t, uint64_t handle, unsigned kind);

/* Take or drop a reference; the caller owns one. */
void handle_ref(struct handle_table *t, uint64_t handle);
void handle_put(struct handle_table *t, uint64_t handle);
