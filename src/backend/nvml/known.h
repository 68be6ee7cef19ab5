/*
 * known.h - answers of a server that never change: asked once.
 *
 * As long as a link lasts, what a device is stays the same: its number, brand, architecture, serial number and so on.
 * The answer to such a call, with the arguments it had, is kept; that a device does not have it, too.  Parts of devices
 * (MIG) come and go: of them nothing is kept.
 *
 * The caller locks.
 */
#pragma once

#include <stdbool.h>
#include "wire/pack.h"

/* True: the answer is in `out` and `result`. */
bool known_find(unsigned op, const void *args, size_t size, const struct wire_piece *out, unsigned nout, int *result);

/* An answer has come: kept if it is one of those. */
void known_keep(unsigned op, const void *args, size_t size, const struct wire_piece *out, unsigned nout, int result);

void known_forget(void);
