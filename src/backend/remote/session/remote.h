/*
 * remote.h - what every file of the client needs: calls, contexts, and the device table.
 *
 * A call that CUDA defines as asynchronous is posted without a reply.  Values that never change are asked for once.  The
 * current contexts belong to the thread and never leave the process.  Every other call is a round trip.  The class in
 * api/cuda.api says which functions are generated (call_cuX) and which are written by hand (remote_cuX).
 *
 * Handles are the server's numbers.  For some of them the client keeps a record of what it knows without asking
 * (records.h).
 */
#pragma once

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include "backend/remote/client.h"
#include "backend/remote/session/call.h"
#include "backend/remote/session/context.h"
#include "gen/cuda_client.h"
#include "util/list.h"
#include "util/map.h"
#include "wire/devices.h"

/* ---- device.c, attribute_mask.c ---- */

const struct wire_device *device_find(CUdevice dev); /* NULL: no such device */
/* Clears the attributes of features that do not work across processes or machines. */
void device_mask_attributes(struct wire_device *d, bool local);

/* ---- thread.c ---- */

/* Calls f(arg) when this thread ends, unless the client is closed by then.  False: no memory. */
bool thread_at_end(void (*f)(void *arg), void *arg);
/* The thread has moved to another client: drops the functions that belong to the former one. */
void thread_exits_forget(void);
