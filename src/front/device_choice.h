/* device_choice.h - opens the device that a process uses. */
#pragma once

#include "backend/backend.h"

/*
 * `name` is GANGWAY_DEVICE, or NULL: then the devices are tried in the order of device_order.h.  On success *backend
 * is set and `table` has the functions of the backend.  Otherwise `why` has the reason.
 */
CUresult choose_device(
	const char *name, const struct backend **backend, struct cuda_ops *table, char *why, size_t size);
