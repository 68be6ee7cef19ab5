/*
 * account.h - how much of the device's memory a client holds, and what it copies.
 *
 * The worker's table of functions is wrapped where memory comes and goes, so that whoever allocates on the
 * client's behalf is counted without knowing of it.  Memory is counted where it was allocated and for as long
 * as the driver keeps it: physical memory until it is neither held nor mapped, everything until its context
 * ends.  Only the dispatcher allocates: no locks.
 */
#pragma once

#include "backend/backend.h"
#include "server/stats.h"

/* From now on the table counts into `stats`. */
void account_wrap(struct cuda_ops *table, struct stats *stats);

/* The dispatcher has made another context current; device: its number, or where it is not known 0. */
void account_enter(CUcontext context, int device);

/* The device's numbers to add to: those of the current context's. */
struct stats_device *account_device(void);
