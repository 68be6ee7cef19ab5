/*
 * wait.h - spin for a while, then sleep on a flag, which may lie in memory shared with another process.
 *
 *	wait_init(&w, spin_us, timeout_ms);
 *	while (!ready()) {
 *		if (wait_spin(&w))
 *			continue;
 *		wait_flag(&w, flag);
 *		if (!ready() && (err = wait_sleep(&w, flag)))
 *			break;
 *	}
 *
 * A flag is odd while a thread sleeps on it or is about to. The waker changes it to a new even number, which differs from
 * what any sleeper has seen: a thread that was about to sleep when the others were woken stays awake, even if another
 * sleeper has set the flag again. (Two simultaneous wakers may leave it odd, which costs one needless wake.)
 *
 * The clock is not read before the first few misses, so a wait whose condition is already true costs nothing.
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct wait {
	uint64_t spin_until, deadline; /* ns; 0: not started, or no deadline */
	unsigned spin_us, turns;
	int timeout_ms;
	uint32_t seen; /* the flag as wait_flag left it */
};

uint64_t wait_now(void); /* ns, monotonic */

void wait_init(struct wait *w, unsigned spin_us, int timeout_ms);

/* Pauses briefly; false when the spinning time is over. */
bool wait_spin(struct wait *w);

/* Restarts the spinning time. */
void wait_again(struct wait *w);

/* Announces that the caller is about to sleep; check the condition once more after this. */
void wait_flag(struct wait *w, _Atomic uint32_t *flag);

/* Sleeps while *flag is unchanged since wait_flag. -ETIMEDOUT, or 0: check the condition again. */
int wait_sleep(struct wait *w, _Atomic uint32_t *flag);

/* Sleeps while *flag is 1, for at most `us` microseconds (-ETIMEDOUT). For a flag with a single sleeper. */
int wait_sleep_us(_Atomic uint32_t *flag, unsigned us);

/* Remaining time for poll, in ms; -1: no deadline. */
int wait_left_ms(struct wait *w);

/* Clears the flag and wakes its sleepers, if the flag is set; the second function does so in any case. */
void wait_wake(_Atomic uint32_t *flag);
void wait_wake_always(_Atomic uint32_t *flag);

static inline void wait_pause(void)
{
#if defined __x86_64__
	__builtin_ia32_pause();
#elif defined __aarch64__
	__asm__ volatile("isb" ::: "memory");
#endif
}
