/*
 * host.h - functions of the application's that run in the order of a stream.
 */
#pragma once

#include "backend/soft/core/soft.h"

/* Payload of COMMAND_HOST: fn, or a callback that also wants the stream and the status. */
struct host_call {
	CUhostFn fn;
	CUstreamCallback callback;
	CUstream handle;
	void *arg;
};

extern const struct command_ops command_host;     /* not called once the context has failed */
extern const struct command_ops command_callback; /* called all the same, and told */
