/* choose.h - which device a process gets. */
#pragma once

#include "backend/backend.h"

/*
 * `name` is GANGWAY_DEVICE, NULL when unset: then the vendor's driver, if this machine has one.
 * On success *backend is set and its functions are in `table`; otherwise `why` has a sentence.
 */
CUresult choose_device(
	const char *name, const struct backend **backend, struct cuda_ops *table, char *why, size_t size);
