/*
 * async_errors.h - failures of posted calls, reported to the client through words.
 *
 * Each context has a word that counts its failures; the client reports them to the threads that use the context.
 * Failures outside any context go to WIRE_ERROR_WORD.  A failure of a context that has ended is dropped: neither
 * another context nor the same primary context after a reset may see it.
 */
#pragma once

#include <pthread.h>
#include "abi/cuda.h"
#include "util/map.h"

struct session;

struct async_errors {
	pthread_mutex_t lock;
	struct map contexts; /* struct context_errors, by context */
	uint64_t lives;      /* contexts begun so far */
	uint32_t orphans;    /* failures without a context */
};

/* A call posted in `context` (NULL: in none) has failed. */
void async_error_report(struct session *s, CUcontext context, CUresult r);

/*
 * The same for a thread that learns of the failure later: it asks for the context's life when the call is made, and the
 * report is dropped if the context has ended since.
 */
uint64_t async_error_life(struct session *s, CUcontext context);
void async_error_report_in(struct session *s, CUcontext context, uint64_t life, CUresult r);
