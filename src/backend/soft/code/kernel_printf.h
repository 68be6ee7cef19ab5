/*
 * prints.h - what kernels print, kept by their context until the application waits for the device.
 *
 *	ring	|  ... third text |      free      | first text | second text ... |
 *
 * As on a GPU: there is room for CU_LIMIT_PRINTF_FIFO_SIZE bytes, new texts take the place of the oldest, and
 * the application's own thread writes them to stdout when it launches a kernel, waits for a stream, an event
 *or the context, copies without Async, loads or unloads a module, or destroys the context; and before a host
 * function runs.  What a program that ends without any of that has not seen is lost.  Other than on a GPU, it
 *is the text that counts and not its arguments, and a kernel that fails shows what it said before.
 */
#pragma once

#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

struct prints {
	pthread_mutex_t lock;
	char *ring;
	size_t size, first;
	_Atomic size_t used; /* may be read at any time */
};

void prints_init(struct prints *p);
void prints_finish(struct prints *p);

/* One text; limit is what the ring may grow to. */
void prints_add(struct prints *p, size_t limit, const char *text, size_t len);

void prints_show(struct prints *p);
