/*
 * tsan_order.h - tell ThreadSanitizer about ordering between two threads that goes through another process, where it
 * cannot see it. Without ThreadSanitizer, the macros do nothing.
 *
 *	posted	in the client: a thread posts a call before the device reaches a callback
 *	called	in the client: a callback returns before a wait for the device ends
 *	told	in the server: a word or a reply is written before the client's next call arrives
 */
#pragma once

#ifdef __SANITIZE_THREAD__
#include <errno.h>
#include <unistd.h>

void __tsan_acquire(void *address);
void __tsan_release(void *address);

/* Any addresses that are the same in all libraries of a process. */
#define ORDER_posted       (&program_invocation_name)
#define ORDER_called       (&program_invocation_short_name)
#define ORDER_told         (&environ)
#define ORDER_BEFORE(what) __tsan_release(ORDER_##what)
#define ORDER_AFTER(what)  __tsan_acquire(ORDER_##what)
#else
#define ORDER_BEFORE(what) ((void)0)
#define ORDER_AFTER(what)  ((void)0)
#endif
