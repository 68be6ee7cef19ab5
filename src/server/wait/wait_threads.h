/*
 * wait_threads.h - threads that wait for the device where it cannot signal the client itself.
 *
 * The dispatcher never blocks on the device.  It records an event in the stream and queues a wait; a thread sleeps on
 * the event and then sets the client's word.  There are as many threads as waits at one time.  A wait for which no
 * thread can be started is an error of the call that asked for it.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include "abi/cuda.h"

struct piece;
struct session;
struct wait_threads;

/* The threads live as long as the process: they may be blocked in the driver. */
struct wait_threads *wait_threads_create(struct session *s);

/* Is a wait queued or in progress? */
bool wait_threads_busy(struct wait_threads *t);

/*
 * Set the word, with its piece if there is one, when `stream` of the current context reaches this point.
 * CUDA_ERROR_OUT_OF_MEMORY: no thread can wait for that; the caller reports this error and sets the word.
 */
CUresult wait_threads_add(
	struct wait_threads *t, CUstream stream, uint32_t word, uint32_t value, const struct piece *piece);

/*
 * Wake the word's sleepers when the device has set it to the value, or after a second: the client then asks again.  For a
 * stream that is being captured, in which no event can be recorded.
 */
void wait_threads_add_word(struct wait_threads *t, uint32_t word, uint32_t value);
