/*
 * nvml_together.h - a poll's questions in one frame (WIRE_NVML_TOGETHER), each answered as if it had come by itself.
 *
 * Trust: none in the client.  A frame that holds anything but sensors (backend/nvml/sensor.h), more of them than it may,
 * none at all, or less than it says, is no client's of ours: the session ends.
 */
#pragma once

#include "server/session/message.h"

/* How one of them is answered. */
typedef void together_fn(struct msg *one);

void nvml_together(struct msg *m, together_fn *serve);
