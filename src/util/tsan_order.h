/*
 * order.h - for ThreadSanitizer: an order between two threads of ours that goes through another process, where it
 * cannot see it.  In other builds this is nothing.
 *
 *	posted	in the client: what a thread did before it posted a call is done when the device comes to a callback
 *	called	in the client: what a callback did is done when somebody has waited for the device
 *	told	in the server: what was done before a word or an answer was written is done when the client's next call comes
 */
#pragma once

#ifdef __SANITIZE_THREAD__
#include <errno.h>
#include <unistd.h>

void __tsan_acquire(void *address);
void __tsan_release(void *address);

/* Any addresses will do that all the libraries of a process agree on. */
#define ORDER_posted       (&program_invocation_name)
#define ORDER_called       (&program_invocation_short_name)
#define ORDER_told         (&environ)
#define ORDER_BEFORE(what) __tsan_release(ORDER_##what)
#define ORDER_AFTER(what)  __tsan_acquire(ORDER_##what)
#else
#define ORDER_BEFORE(what) ((void)0)
#define ORDER_AFTER(what)  ((void)0)
#endif
