/*
 * nvml_quota.h - the memory of a device as NVML reports it to a client with a quota: the same as cuMemGetInfo reports.
 *
 * NVML and CUDA of one client have a worker each; the CUDA worker publishes what the client holds (host/usage.h).
 * Without usage pages (GANGWAY_USAGE=0) the NVML worker does not know it, and reports the whole quota as free.
 */
#pragma once

struct nvml_state;

/* Wraps the memory queries of n->ops if n->devices have a quota. */
void nvml_quota_wrap(struct nvml_state *n);
