/*
 * host_function.h - functions of the application that run in stream order.
 */
#pragma once

#include "backend/soft/core/soft.h"

/* Payload of COMMAND_HOST: fn, or a callback that also gets the stream and the status. */
struct host_call {
	CUhostFn fn;
	CUstreamCallback callback;
	CUstream handle;
	void *arg;
};

extern const struct command_ops command_host;     /* skipped if the context has a sticky error */
extern const struct command_ops command_callback; /* runs always, and gets the sticky error */
