/*
 * nvml_batch.h - the queries of a poll in one frame (WIRE_NVML_BATCH), each answered as if it had come by itself.
 *
 * Trust: none in the client.  A frame with anything but sensors (backend/nvml/sensor.h), with too many of them, with
 * none, or with less than it announces is a protocol error.
 */
#pragma once

#include "server/session/message.h"

/* Answers one query. */
typedef void nvml_batch_fn(struct msg *one);

void nvml_batch_serve(struct msg *m, nvml_batch_fn *serve);
