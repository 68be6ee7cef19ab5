/* quota.h - one program in three files; main() in quota.c adds up the failures of all three. */
#pragma once

#include "application.h"

#define MB ((size_t)1 << 20)

extern size_t quota;
extern CUdevice device;
extern CUstream stream; /* created by quota_kinds() */

/* Free memory of the quota; checks that CUDA and NVML agree. */
size_t left(void);

#define LEFT(bytes) \
	do { \
		size_t left_ = left(), want_ = (bytes); \
		if (left_ != want_) { \
			printf("%s:%d: %zu bytes are left, not %zu\n", __FILE__, __LINE__, left_, want_); \
			failures++; \
		} \
	} while (0)

/* Both return the number of failures. */
int quota_kinds(void);
int quota_graphs(void);
