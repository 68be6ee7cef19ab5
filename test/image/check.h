/*
 * check.h - say what failed and where, go on, and fail the test in the end.
 */
#pragma once

#include <stdio.h>
#include <string.h>

static int failures;

#define CHECK(x) \
	do { \
		if (!(x)) { \
			printf("%s:%d: %s\n", __FILE__, __LINE__, #x); \
			failures++; \
		} \
	} while (0)
