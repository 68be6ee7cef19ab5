/*
 * account.h - how much of the device's memory a client holds, and what it copies.
 *
 * The worker's table of functions is wrapped where memory comes and goes, so that whoever allocates on the
 * client's behalf is counted without knowing of it.  Memory is counted where it was allocated and for as long
 * as the driver keeps it: physical memory until it is neither held nor mapped, everything until its context
 * ends.  Only the dispatcher allocates: no locks.  Where there is a quota (quota.h), it is kept to here.
 */
#pragma once

#include "backend/backend.h"
#include "server/daemon/stats.h"

/* What is counted, by an address or a handle; up to ACCOUNT_LIMIT it ends with its context. */
enum account_kind {
	ACCOUNT_PLAIN,
	ACCOUNT_ARRAY,
	ACCOUNT_MODULE,
	ACCOUNT_LIMIT,
	ACCOUNT_LIBRARY,
	ACCOUNT_PHYSICAL,
	ACCOUNT_MAPPING,
	ACCOUNT_KINDS
};

/* From now on the table counts into `stats`, and keeps to the quotas there, if there are any. */
void account_wrap(struct cuda_ops *table, struct stats *stats);

/* The dispatcher has made another context current; device: its number, or where it is not known 0. */
void account_enter(CUcontext context, int device);

/* The device's numbers to add to: those of the current context's. */
struct stats_device *account_device(void);

/* So much more on the current device: CUDA_ERROR_OUT_OF_MEMORY if that is beyond a quota. */
CUresult account_room(uint64_t size);
uint64_t account_times(uint64_t a, uint64_t b); /* more than there is, if it is more than can be said */

/* Something was allocated on the current device, or freed if `r` is no error. */
CUresult account_made(enum account_kind kind, uint64_t key, uint64_t size);
CUresult account_freed(CUresult r, enum account_kind kind, uint64_t key);

/* account_array.c */
void account_arrays_wrap(struct cuda_ops *table, const struct cuda_ops *real);

/* So much more of a device is held, or less. */
void account_hold(struct stats_device *d, int64_t more);

/* What is kept beside that: told to this client's NVML, which has another worker. */
void account_kept(const struct stats_device *d, uint64_t bytes);
