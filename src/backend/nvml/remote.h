/*
 * remote.h - NVML asked of a server.
 *
 * One link and one lane for the process, a call at a time: questions are short, and nobody waits for a device here.
 * What never changes is asked once, when the link is made or when somebody wants it (known.h), and what a monitor asks
 * again and again it asks together (poll.h).  A link that breaks is made anew by the next call, which is then asked again:
 * all of them only read.  So a server may be restarted under a program that watches it.
 *
 * Trust: none in the server: answers are copied out, and are as long as we expect or the link is given up.
 */
#pragma once

#include <stdbool.h>
#include "backend/nvml/backend.h"
#include "gen/nvml_client.h"
#include "wire/nvml.h"
#include "wire/pack.h"

/* One question: the generated calls' way to the server. NVML_ERROR_GPU_IS_LOST: there is none. */
nvmlReturn_t remote_ask(unsigned op, const void *args, size_t size, const struct wire_piece *in, unsigned nin,
	const struct wire_piece *out, unsigned nout);

/* What the server said of its devices when the link was made: a copy.  False: there is no server. */
bool remote_device(nvmlDevice_t handle, struct wire_nvml_device *d);
bool remote_devices(struct wire_nvml_devices *all);
bool remote_is_local(void);

/* remote_calls.c: for the vendor's own tool. */
nvmlReturn_t remote_hidden(nvmlDevice_t device, unsigned slot, struct wire_nvml_hidden *value);
