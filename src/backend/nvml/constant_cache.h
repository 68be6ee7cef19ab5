/*
 * constant_cache.h - the constant values of a server's devices, asked once for each link.
 *
 * The brand, architecture, serial number and so on of a device do not change while a link lasts.  The cache keeps the
 * reply to such a call by its arguments, also a reply that says that the device has no such value.  It keeps nothing of
 * MIG devices, which come and go.
 *
 * The caller holds the lock of the link.
 */
#pragma once

#include <stdbool.h>
#include "wire/pack.h"

/* True: `out` and `result` have the reply. */
bool constant_cache_find(
	unsigned op, const void *args, size_t size, const struct wire_piece *out, unsigned nout, int *result);

/* Keeps the reply if the call asks for a constant. */
void constant_cache_add(
	unsigned op, const void *args, size_t size, const struct wire_piece *out, unsigned nout, int result);

void constant_cache_clear(void);
