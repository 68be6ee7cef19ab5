/*
 * check.h - the checks of all test programs: a failed check prints its location, the program continues, and RESULT() is
 * the exit status. Checks are thread-safe.
 *
 * CHECK_STOPS in the environment: the first failure ends the program. For programs with a false server, whose behaviour
 * after a failed call is undefined.
 */
#pragma once

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int failures;

static inline void check_failed(void)
{
	__atomic_fetch_add(&failures, 1, __ATOMIC_RELAXED);
	if (getenv("CHECK_STOPS"))
		exit(1);
}

#define CHECK(cond) \
	do { \
		if (!(cond)) { \
			fprintf(stderr, "%s:%d: check failed: %s\n", __FILE__, __LINE__, #cond); \
			check_failed(); \
		} \
	} while (0)

#define CHECK_EQ(expr, want) \
	do { \
		long long got_ = (long long)(expr), want_ = (long long)(want); \
		if (got_ != want_) { \
			fprintf(stderr, "%s:%d: %s is %lld, not %lld\n", __FILE__, __LINE__, #expr, got_, want_); \
			check_failed(); \
		} \
	} while (0)

/* A call of the driver, the runtime or NVML succeeds, that is, returns 0. */
#define OK(call) CHECK_EQ(call, 0)

#define RESULT() (failures ? 1 : 0)
#define SKIP     77
