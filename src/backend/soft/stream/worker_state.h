/*
 * worker_state.h - the worker threads' part of the driver's state (soft.workers), owned by thread_pool.c.
 */
#pragma once

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "util/list.h"

#define PRIORITIES 6 /* 0 .. -5 */

/* All fields are protected by soft.queue_lock. */
struct worker_state {
	bool started;
	struct list ready[PRIORITIES]; /* streams whose head can run */
	unsigned nready;
	struct list jobs; /* soft_parallel() calls that idle workers can join */
	pthread_cond_t work;
	unsigned count, idle;  /* workers in all, and those asleep */
	bool starved;          /* the last attempt to start a worker failed */
	bool spinning;         /* one idle worker spins before it sleeps */
	_Atomic unsigned news; /* counts new work; the spinning worker reads it without the lock */
};
