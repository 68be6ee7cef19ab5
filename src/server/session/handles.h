/*
 * handles.h - what a client holds in place of the device's handles.
 *
 * A client never sees a handle of the driver underneath, and what it sends is never followed: it is
 * looked up among the handles that this session has given out.  The same object always has the same
 * number, so that cuStreamGetCtx gives the context that cuCtxCreate gave.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include "wire/wire.h"

struct handles;

struct handles *handles_create(void);
void handles_destroy(struct handles *h); /* NULL is fine */

/* The number for an object of the driver's, given out now if it has none.  0 for NULL and for want of memory. */
uint64_t handles_give(struct handles *h, enum handle_kind kind, void *real);

/* Has it one already? */
bool handles_has(struct handles *h, enum handle_kind kind, void *real);

/* The number that was given out for an object; 0: none was. */
uint64_t handles_known(struct handles *h, enum handle_kind kind, void *real);

/* For the dispatcher, which alone ends handles.  The object behind a number.  False: never given out, or ended.  0 is NULL and always there. */
bool handles_find(struct handles *h, enum handle_kind kind, uint64_t id, void **real);

/* The object is gone. */
void handles_drop(struct handles *h, enum handle_kind kind, uint64_t id);

/*
 * What is given out from now on belongs to a context, and ends with it: its number finds nothing any more, but is
 * known as one that has ended, and is never another object's.
 */
void handles_enter(struct handles *h, void *context);
void handles_end(struct handles *h, enum handle_kind kind, void *context);
bool handles_ended(struct handles *h, enum handle_kind kind, uint64_t id);

/* Calls f for each object of a kind, for cleaning up. */
void handles_each(struct handles *h, enum handle_kind kind, void (*f)(void *real, void *arg), void *arg);
