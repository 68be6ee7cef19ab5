/*
 * futex.h - sleep until a 32-bit word changes, and wake the sleepers, within one process or (_shared) between processes;
 * and cpu_relax() for polling loops.
 */
#pragma once

#include <linux/futex.h>
#include <limits.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define FOREVER UINT64_MAX

/* Sleep while *word == seen, for at most ns. May return early without a reason. */
static inline void futex_wait(_Atomic uint32_t *word, uint32_t seen, uint64_t ns)
{
	struct timespec ts = {(time_t)(ns / 1000000000), (long)(ns % 1000000000)};

	syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, seen, ns == FOREVER ? NULL : &ts, NULL, 0);
}

static inline void futex_wake_all(_Atomic uint32_t *word)
{
	syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
}

/* The same in memory that several processes map. */
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
