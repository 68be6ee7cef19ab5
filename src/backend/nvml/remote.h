/*
 * remote.h - the NVML client of a server.
 *
 * The process has one link with one lane and makes one call at a time: calls are short.  Constant values are asked once,
 * when the link is made or at their first use (constant_cache.h); the sensors that a monitor polls travel in one request
 * (sensor_poll.h).  If the link breaks, the next call connects again and repeats its request, which is safe because
 * all calls only read.  So a server can be restarted while a monitor runs.
 *
 * Trust: the server is not trusted.  Replies are copied out; one of unexpected length breaks the link.
 */
#pragma once

#include <stdbool.h>
#include "backend/nvml/backend.h"
#include "gen/nvml_client.h"
#include "wire/nvml.h"
#include "wire/pack.h"

/* Sends one request and waits for the reply; the generated calls use it.  NVML_ERROR_GPU_IS_LOST: no server. */
nvmlReturn_t remote_ask(unsigned op, const void *args, size_t size, const struct wire_piece *in, unsigned nin,
	const struct wire_piece *out, unsigned nout);

/* Copies of the device descriptions that the server sent at the start.  False: no such device; no server. */
bool remote_device(nvmlDevice_t handle, struct wire_nvml_device *d);
bool remote_devices(struct wire_nvml_devices *all);
bool remote_is_local(void);

/* remote_calls.c: a value of NVIDIA's private table, by its slot. */
nvmlReturn_t remote_private_value(nvmlDevice_t device, unsigned slot, struct wire_nvml_hidden *value);
