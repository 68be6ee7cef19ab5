/*
 * open.h - what the backends made of the software driver and an engine have in common.
 *
 * The environment: CUDA_VISIBLE_DEVICES, and what describe.h reads.
 */
#pragma once

#include "backend/backend.h"
#include "backend/soft/engine.h"

CUresult soft_backend_open(const struct engine *e, const char *device, struct cuda_ops *table,
	void (*ending)(CUcontext ctx), char *why, size_t size);
CUresult soft_backend_primary(CUdevice dev, CUcontext *ctx);
CUresult soft_backend_stream_id(CUcontext ctx, CUstream stream, unsigned long long *id);
