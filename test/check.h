/* check.h - for test programs: say what failed and where, go on, and return 1 at the end. */
#pragma once

#include <stdio.h>

static int failures;

#define CHECK(cond) \
	do { \
		if (!(cond)) { \
			fprintf(stderr, "%s:%d: not true: %s\n", __FILE__, __LINE__, #cond); \
			__atomic_fetch_add(&failures, 1, __ATOMIC_RELAXED); /* threads check, too */ \
		} \
	} while (0)

#define CHECK_EQ(expr, want) \
	do { \
		long long got_ = (long long)(expr), want_ = (long long)(want); \
		if (got_ != want_) { \
			fprintf(stderr, "%s:%d: %s is %lld, not %lld\n", __FILE__, __LINE__, #expr, got_, want_); \
			__atomic_fetch_add(&failures, 1, __ATOMIC_RELAXED); /* threads check, too */ \
		} \
	} while (0)

#define RESULT() (failures ? 1 : 0)
#define SKIP     77
