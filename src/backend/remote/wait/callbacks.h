/*
 * callbacks.h - functions that the server has the client run: host functions, callbacks, destructors.
 *
 * The server knows a callback by an id.  One thread of the client, the callback thread, runs them one at a time.
 */
#pragma once

#include "backend/remote/session/call.h"

struct stream;

/* Starts the callback thread if it does not run: before any call that can lead to a callback. */
CUresult callbacks_start(void);
/* Whether the callback thread was ever started: a callback may have been posted. */
bool callbacks_used(void);
/* Whether the callback thread uses the client.  It ends by itself after the link has broken and its function has returned. */
bool callbacks_running(const struct client *c);
/* Whether a function of the application's, or one that writes to its memory, may still have to run. */
bool callbacks_pending(void);

/*
 * The id of a host function; 0: no memory.  once: the function runs one time, and its id is then unknown.  Otherwise
 * the id stays for good, and the same function with the same data gets the same id.
 */
uint64_t callback_host(CUhostFn fn, void *data, bool once);
/*
 * The id of a function of ours that runs any number of times, until callback_forget; then destroy(data) is called.  up
 * (or NULL): the piece that the function fills.
 */
uint64_t callback_create(CUhostFn fn, void *data, const struct piece *up, void (*destroy)(void *data));
/* The id of a destructor, which runs one time. */
uint64_t callback_destructor(CUhostFn fn, void *data);
/* False: a callback that runs one time has run, or no callback has this id. */
bool callback_forget(uint64_t id);
/* The function and data of a host function's id. */
bool callback_find(uint64_t id, CUhostFn *fn, void **data);

/*
 * Posts one run of a function of ours to a stream.  up: the piece that the function fills; down: the piece that is
 * filled when the function runs (size 0: none).  data is freed after the run, or if it cannot be posted.
 */
CUresult callback_post(struct stream *s, CUhostFn fn, void *data, struct piece up, struct piece down);

/* As cuUserObjectCreate.  After a failure, *destroyed tells whether the destructor has run all the same. */
CUresult user_object_create(
	CUuserObject *object, void *ptr, CUhostFn destroy, unsigned count, unsigned flags, bool *destroyed);
