/*
 * handle.h - the opaque values an application holds in place of our objects.
 *
 * A handle is never dereferenced: it names a slot of a table, and says which kind of object and which
 * generation of that slot it was made for.  Stale, forged and foreign values are simply not found.
 *
 *	63    60 59        36 35   28 27       4 3  0
 *	|   0   | generation |  kind  |  index  | 0  |		a handle
 *	| generation:24 | kind:8 | live:1 | references:31 |	the word of its slot
 *
 * Looking up is lock-free and takes a reference, so that a lookup racing with handle_close() either fails
 * or keeps the object alive until handle_put().  The table itself holds one reference while a handle is live.
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
	_Atomic(struct handle_slot *) chunk[HANDLE_CHUNKS];
};

#define HANDLE_TABLE_INIT {.lock = PTHREAD_MUTEX_INITIALIZER}

/* A new handle with the table's own reference; release(object) runs after the last.  0: no memory. */
uint64_t handle_create(struct handle_table *t, unsigned kind, void *object, void (*release)(void *object));

/* The object, with a reference that handle_put() gives back; NULL: not a live handle of this kind. */
void *handle_get(struct handle_table *t, uint64_t handle, unsigned kind);

/* The same without a reference: only for a thread that alone closes handles of this table. */
void *handle_peek(struct handle_table *t, uint64_t handle, unsigned kind);

/* The index of its slot. */
static inline uint32_t handle_index(uint64_t handle)
{
	return handle >> 4 & 0xffffff;
}

/* The kind a value claims to be; only handle_get() tells whether it is true. */
static inline unsigned handle_kind(uint64_t handle)
{
	return handle >> 28 & 0xff;
}

/* From now on the handle is unknown.  True for exactly one caller; drops the table's reference. */
bool handle_close(struct handle_table *t, uint64_t handle, unsigned kind);

/* For those who already own a reference. */
void handle_ref(struct handle_table *t, uint64_t handle);
void handle_put(struct handle_table *t, uint64_t handle);
