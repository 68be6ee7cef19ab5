/*
 * copy.h - copies and fills of linear memory, as commands.
 */
#pragma once

#include "backend/soft/core/soft.h"

/* Up to here a copy on an idle stream is quicker done than handed over, and pageable memory is staged. */
#define COPY_QUICK (64u << 10)

/* Payload of COMMAND_COPY by command_copy. */
struct copy {
	uint64_t dst, src;
	size_t size;
	unsigned char staged[]; /* where src points, if the application may change its own at once */
};

/* Payload of COMMAND_FILL. */
struct fill {
	uint64_t dst;
	size_t pitch;         /* bytes from row to row */
	size_t width, height; /* elements, rows */
	unsigned element;     /* 1, 2 or 4 bytes */
	uint32_t value;
};

extern const struct command_ops command_copy, command_fill;

/* What another COMMAND_COPY does, in the words of cuMemcpy3D; false: it cannot be said.  Not there: there are
 * none. */
bool copy_params(const struct command *c, CUDA_MEMCPY3D *m) __attribute__((weak));

/* The last byte of a pitched block counted from its first, + 1; false: the sizes make no sense. */
bool fill_extent(const struct fill *s, uint64_t *bytes);
