/*
 * dispatch.h - finds the function that serves a call, by the op of its frame.
 *
 *	op		declared in		serve function
 *	1 ...		api/cuda.api		generated; written by hand where the class ends in :server or :both
 *	100000 ...	wire/ops.def		written by hand
 *	200000 ...	api/nvml.api,
 *			wire/nvml_ops.def	server/nvml/nvml.c
 *
 * The tables are constant and hold exactly the calls that a client sends.  Any other op is a protocol error.
 */
#pragma once

#include <stdbool.h>
#include "gen/cuda_serve.h"

struct cuda_ops;
struct msg;

struct served {
	void (*serve)(const struct cuda_ops *ops, struct msg *m);
	bool waits;   /* the client waits for a reply */
	bool creates; /* makes an object: refused at the client's limit */
};

/* NULL: no client sends this op. */
const struct served *serve_find(unsigned op);

/* Does the client wait for a reply to this op?  For any thread. */
bool serve_replies(unsigned op);

/* The client has sent only NVML calls so far.  Its first CUDA call waits for nvml_settle. */
void serve_nvml_only(void);

#define OP(number, op, serve, reply) void serve(const struct cuda_ops *ops, struct msg *m);
#include "wire/ops.def"
#undef OP
