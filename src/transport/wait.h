/*
 * wait.h - spin for a while, then sleep on a flag that may lie in memory shared with another process.
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
 * A flag is odd while somebody sleeps on it, or is about to.  Who wakes makes it another even number, so that it never
 * again is what a sleeper has seen: one that has not quite fallen asleep when all are woken stays awake, though another
 * may have set the flag anew.  (Two who wake at once may leave it odd, which costs a needless wake.)
 *
 * The clock is not looked at before the first misses, so a wait that need not wait costs nothing.
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct wait {
	uint64_t spin_until, deadline; /* ns; deadline 0: none */
	unsigned spin_us, turns;
	int timeout_ms;
	uint32_t seen; /* the flag, when we set it */
};

uint64_t wait_now(void); /* ns, monotonic */

void wait_init(struct wait *w, unsigned spin_us, int timeout_ms);

/* A short pause; false when the time for spinning is over. */
bool wait_spin(struct wait *w);

/* Spin anew: something happened. */
void wait_again(struct wait *w);

/* Somebody is about to sleep, and looks once more before that. */
void wait_flag(struct wait *w, _Atomic uint32_t *flag);

/* Sleep while *flag is as we set it.  -ETIMEDOUT, or 0 for any other reason to look again. */
int wait_sleep(struct wait *w, _Atomic uint32_t *flag);

/* Sleep while *flag is 1, so many microseconds at most: -ETIMEDOUT.  For a flag that only one ever sleeps on. */
int wait_sleep_us(_Atomic uint32_t *flag, unsigned us);

/* Milliseconds left for poll: -1 without a deadline. */
int wait_left_ms(struct wait *w);

/* Clear the flag and wake all who sleep on it, if anybody does. */
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
