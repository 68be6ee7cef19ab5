/*
 * kernel_output.h - text that kernels print, on its way to the client.
 *
 * A driver writes printf output to this process's stdout and failed assertions to stderr.  Both are memfds in a
 * worker; their text goes to the client whenever it waits for the device.  The worker's own log keeps the original
 * stderr.
 */
#pragma once

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/types.h>
#include "abi/cuda.h"

struct session;

#define KERNEL_OUTPUT_STREAMS 8

struct kernel_output {
	pthread_mutex_t lock; /* one thread at a time forwards text */
	struct {
		int fd;     /* memfd in place of stdout or stderr; -1: none */
		off_t sent; /* bytes that the client has */
	} captured[2];
	_Atomic(unsigned) kinds; /* what loaded code may print: enum wire_prints */

	/* The dispatcher's: streams with work that may have printed since the client last waited there. */
	CUstream stream[KERNEL_OUTPUT_STREAMS];
	unsigned nstreams; /* KERNEL_OUTPUT_STREAMS + 1: any stream */
};

/* Replaces stdout and stderr by memfds, and moves the log to a copy of stderr. */
void kernel_output_capture(struct session *s);

/* Forwards what has been printed.  The client has shown it when this returns. */
void kernel_output_flush(struct session *s);

/* Dispatcher: work that may print has been launched in the stream. */
void kernel_output_expect(struct session *s, CUstream stream);

/* Dispatcher: must a wait thread look for output when the stream reaches this point? */
bool kernel_output_wanted(struct session *s, CUstream stream);
