#include "transport/wait.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <sched.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define TURNS_BEFORE_CLOCK    16    /* misses before the clock is first read */
#define TURNS_PER_CLOCK_READ  16    /* misses between two reads of the clock */
#define SPIN_WITHOUT_YIELD_NS 10000 /* spinning time before the first sched_yield */

uint64_t wait_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

void wait_init(struct wait *w, unsigned spin_us, int timeout_ms)
{
	*w = (struct wait){.spin_us = spin_us, .timeout_ms = timeout_ms};
}

static void wait_start_clock(struct wait *w)
{
	uint64_t now = wait_now();

	if (!w->spin_until)
		w->spin_until = now + w->spin_us * 1000ull + 1;
	if (!w->deadline && w->timeout_ms >= 0)
		w->deadline = now + (uint64_t)w->timeout_ms * 1000000u + 1;
}

/*
 * The thread that is waited for may need this processor: after a few microseconds, yields in between. Where processors are
 * free, that costs a short system call now and then.
 */
bool wait_spin(struct wait *w)
{
	uint64_t now;

	if (!w->spin_us || !w->timeout_ms)
		return false;
	wait_pause();
	if (++w->turns < TURNS_BEFORE_CLOCK)
		return true;
	if (!w->spin_until) {
		wait_start_clock(w);
	} else if (w->turns % TURNS_PER_CLOCK_READ == 0) {
		now = wait_now();
		if (now >= w->spin_until)
			return false;
		if (w->spin_until - now < w->spin_us * 1000ull - SPIN_WITHOUT_YIELD_NS ||
			w->spin_us * 1000ull < SPIN_WITHOUT_YIELD_NS)
			sched_yield();
	}
	return true;
}

void wait_again(struct wait *w)
{
	w->turns = 0;
	w->spin_until = 0;
}

int wait_left_ms(struct wait *w)
{
	uint64_t now;

	if (w->timeout_ms <= 0)
		return w->timeout_ms;
	wait_start_clock(w);
	now = wait_now();
	return now >= w->deadline ? 0 : (int)((w->deadline - now + 999999) / 1000000);
}

void wait_flag(struct wait *w, _Atomic uint32_t *flag)
{
	w->seen = atomic_fetch_or(flag, 1) | 1;
}

int wait_sleep(struct wait *w, _Atomic uint32_t *flag)
{
	struct timespec left, *limit = NULL;
	uint64_t now;

	if (w->timeout_ms == 0)
		return -ETIMEDOUT;
	if (w->timeout_ms > 0) {
		wait_start_clock(w);
		now = wait_now();
		if (now >= w->deadline)
			return -ETIMEDOUT;
		left.tv_sec = (time_t)((w->deadline - now) / 1000000000u);
		left.tv_nsec = (long)((w->deadline - now) % 1000000000u);
		limit = &left;
	}
	syscall(SYS_futex, flag, FUTEX_WAIT, w->seen, limit, NULL, 0);
	return 0;
}

int wait_sleep_us(_Atomic uint32_t *flag, unsigned us)
{
	struct timespec limit = {us / 1000000, us % 1000000 * 1000l};
	long err = syscall(SYS_futex, flag, FUTEX_WAIT, 1, &limit, NULL, 0);

	return err && errno == ETIMEDOUT ? -ETIMEDOUT : 0;
}

void wait_wake_always(_Atomic uint32_t *flag)
{
	atomic_fetch_add(flag, 2 - (atomic_load(flag) & 1));
	syscall(SYS_futex, flag, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

void wait_wake(_Atomic uint32_t *flag)
{
	if (atomic_load(flag) & 1)
		wait_wake_always(flag);
}
