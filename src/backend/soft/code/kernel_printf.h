/*
 * kernel_printf.h - the output of printf in kernels, buffered by the context until the application synchronises.
 *
 *	ring	|  ... third text |      free      | first text | second text ... |
 *
 * As on a GPU, the buffer holds CU_LIMIT_PRINTF_FIFO_SIZE bytes and new texts overwrite the oldest. The application's
 * own thread writes the texts to stdout when it launches a kernel, waits for a stream, an event or the context, copies
 * synchronously, loads or unloads a module, or destroys the context, and before a host function runs. Output that is
 * still buffered when the program ends is lost. Unlike a GPU, the buffer holds formatted text instead of arguments, and
 * output from before a kernel's failure is shown.
 */
#pragma once

#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

struct printf_buffer {
	pthread_mutex_t lock;
	char *ring;
	size_t size, first;
	_Atomic size_t used; /* also read without the lock */
};

void printf_buffer_init(struct printf_buffer *p);
void printf_buffer_finish(struct printf_buffer *p);

/* Appends one text. The ring grows up to limit bytes. */
void printf_buffer_append(struct printf_buffer *p, size_t limit, const char *text, size_t len);

/* Writes all texts to stdout and empties the buffer. */
void printf_buffer_flush(struct printf_buffer *p);
