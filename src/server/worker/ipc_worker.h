/* ipc_worker.h - how the CPU device of a worker shares memory and events with other workers: through the parent. */
#pragma once

#include "backend/backend.h"

extern const struct ipc_broker worker_ipc_broker;
