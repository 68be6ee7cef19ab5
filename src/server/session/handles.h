/*
 * handles.h - the handles that a client holds in place of the driver's objects.
 *
 * A client never sees an object of the driver's, and the worker never dereferences a value that a client sends: it
 * looks the value up among the handles of this session.  The same object always has the same handle, so that
 * cuStreamGetCtx returns the context that cuCtxCreate returned.
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include "wire/wire.h"

struct handles;

/*
 * Counts its handles in `objects`, and creates none while that counter is at `most` or above.  `objects` may also count
 * other things.
 */
struct handles *handles_create(_Atomic uint64_t *objects, uint64_t most);
void handles_destroy(struct handles *h);

/*
 * The handle for an object of the driver's, created if the object has none.  0 for NULL, if there is no memory, and if
 * there are too many objects.
 */
uint64_t handles_give(struct handles *h, enum handle_kind kind, void *real);

/* Did handles_give() return 0 for lack of memory since the last call?  The client's call must fail then. */
bool handles_take_refusal(struct handles *h);

/* Are there handles of this kind? */
bool handles_any(struct handles *h, enum handle_kind kind);

/* Does the object have a handle? */
bool handles_has(struct handles *h, enum handle_kind kind, void *real);

/* The object's handle; 0: it has none. */
uint64_t handles_known(struct handles *h, enum handle_kind kind, void *real);

/*
 * Dispatcher only, because it alone ends handles.  The object behind a handle; 0 stands for NULL.  False: unknown or
 * ended.
 */
bool handles_find(struct handles *h, enum handle_kind kind, uint64_t id, void **real);

/* Handles get higher generations than this one.  False: some handles were given out already. */
bool handles_begin(struct handles *h, uint32_t generation);
/* Dispatcher only.  `former`, which is no handle of this session, finds the object of `now`.  False: no such handle. */
bool handles_alias(struct handles *h, enum handle_kind kind, uint64_t former, uint64_t now);

/* The object is gone: its handle becomes invalid. */
void handles_drop(struct handles *h, enum handle_kind kind, uint64_t id);

/*
 * Handles created after handles_enter() belong to `context`.  handles_end() ends those of one kind with their
 * context: they no longer find an object, handles_ended() recognises them, and their values are never used again.
 */
void handles_enter(struct handles *h, void *context);
void handles_end(struct handles *h, enum handle_kind kind, void *context);
bool handles_ended(struct handles *h, enum handle_kind kind, uint64_t id);

/*
 * The driver has ended a context, and with it all objects that belong to it: their handles stay, because the driver
 * has error codes for them, but no longer count.  A limited number is kept; further ones become invalid.
 */
void handles_context_ended(struct handles *h, void *context);

/*
 * A function belongs to its module, a kernel to its library: the object's handle, created if there is none, ends with
 * its owner, as with a context.  handles_owner: NULL if there is none.
 */
void handles_own(struct handles *h, enum handle_kind kind, void *real, void *owner);
void *handles_owner(struct handles *h, enum handle_kind kind, void *real);
void handles_owner_ended(struct handles *h, void *owner);
