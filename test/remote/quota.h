/* quota.h - one program in three files: quota.c begins it and adds up what the others have found wrong. */
#pragma once

#include "application.h"

#define MB ((size_t)1 << 20)

extern size_t quota;
extern CUdevice device;
extern CUstream stream; /* from quota_kinds on */

/* What is left of it: CUDA and NVML agree. */
size_t left(void);

#define LEFT(bytes) \
	do { \
		size_t left_ = left(), want_ = (bytes); \
		if (left_ != want_) { \
			printf("%s:%d: %zu bytes are left, not %zu\n", __FILE__, __LINE__, left_, want_); \
			failures++; \
		} \
	} while (0)

/* How much was wrong. */
int quota_kinds(void);
int quota_graphs(void);
