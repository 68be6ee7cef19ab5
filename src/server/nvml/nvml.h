/*
 * nvml.h - NVML for clients of a server: answered for the device that the worker has open, and for nothing else.
 *
 *	libnvidia-ml.so.1 in a client ─▶ its own worker ─▶ the vendor's NVML, or our own for cpu and null
 *
 * The devices are those that CUDA shows in this worker, in that order, whatever else the machine has.  Processes are
 * shown as seen.h says.  Nothing that a client sends changes anything here.
 */
#pragma once

#include "server/session/session.h"

/* What the worker has open: before any client. */
void nvml_device(const char *device);

/* Opens what takes time, while nobody waits for it. */
void nvml_warm_up(const struct cuda_ops *ops);

/* NULL: there is no such call. */
const struct served *nvml_find(unsigned op);

/* A client that began with NVML's calls makes one of CUDA's: waits until that is as for any other. */
void nvml_settle(void);
