/* backend.h - the two ways to a device elsewhere, for the front: "unix:PATH" and "tcp://HOST:PORT". */
#pragma once

#include "backend/backend.h"

extern const struct backend unix_backend, tcp_backend;

CUresult remote_primary(CUdevice dev, CUcontext *ctx);
