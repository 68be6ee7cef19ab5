/*
 * futex.h - sleep until a 32-bit word changes; wake those who sleep on it.  Within one process, or (_shared) between several.
 * And what to do between two looks while one does not sleep yet.
 */
#pragma once

#include <linux/futex.h>
#include <limits.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define FOREVER UINT64_MAX

/* Returns when woken, when the word is not what was seen, when ns have passed, or for no reason. */
static inline void futex_wait(_Atomic uint32_t *word, uint32_t seen, uint64_t ns)
{
	struct timespec ts = {(time_t)(ns / 1000000000), (long)(ns % 1000000000)};

	syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, seen, ns == FOREVER ? NULL : &ts, NULL, 0);
}

static inline void futex_wake_all(_Atomic uint32_t *word)
{
	syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
}

/* The same on memory that several processes map. */
static inline void futex_wait_shared(uint32_t *word, uint32_t seen, uint64_t ns)
{
	struct timespec ts = {(time_t)(ns / 1000000000), (long)(ns % 1000000000)};

	syscall(SYS_futex, word, FUTEX_WAIT, seen, ns == FOREVER ? NULL : &ts, NULL, 0);
}

static inline void futex_wake_shared(uint32_t *word)
{
	syscall(SYS_futex, word, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

static inline void cpu_relax(void)
{
#if defined(__x86_64__)
	__builtin_ia32_pause();
#elif defined(__aarch64__)
	__asm__ volatile("yield");
#endif
}
