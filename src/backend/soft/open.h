/*
 * open.h - functions that the cpu and null backends share: both are the software driver over an engine.
 *
 * Environment: CUDA_VISIBLE_DEVICES, and the variables that describe.h reads.
 */
#pragma once

#include "backend/backend.h"
#include "backend/soft/engine.h"

CUresult soft_backend_open(const struct engine *e, const char *device, struct cuda_ops *table,
	void (*ending)(CUcontext ctx), char *why, size_t size);
void soft_backend_use_broker(const struct ipc_broker *broker);
CUresult soft_backend_primary(CUdevice dev, CUcontext *ctx);
CUresult soft_backend_stream_id(CUcontext ctx, CUstream stream, unsigned long long *id);
