/*
 * copy.h - commands that copy or fill linear memory.
 */
#pragma once

#include "backend/soft/core/soft.h"

/* Copies up to this size run on the calling thread if the stream is idle, and have their pageable source staged. */
#define COPY_QUICK (64u << 10)

/* Payload of command_copy. */
struct copy {
	uint64_t dst, src;
	size_t size;
	bool check_dst, check_src; /* driver memory, which may be freed before the copy runs */
#ifdef GANGWAY_CHECK_RANGES
	bool driver_dst, driver_src; /* driver memory when the copy was submitted */
#endif
	unsigned char staged[]; /* a copy of the source, which src then points to, if the source is pageable */
};

/* Payload of command_fill. */
struct fill {
	uint64_t dst;
	size_t pitch;         /* bytes from one row to the next */
	size_t width, height; /* elements, rows */
	unsigned element;     /* 1, 2 or 4 bytes */
	uint32_t value;
	bool check; /* the memory may be freed before the command runs */
};

extern const struct command_ops command_copy, command_fill;

/* The parameters of a COMMAND_COPY that is not command_copy, as for cuMemcpy3D; false: it has none. */
bool copy3d_params(const struct command *c, CUDA_MEMCPY3D *m);

/* The bytes from the first to the last byte of a pitched block; false: the sizes are invalid. */
bool fill_extent(const struct fill *s, uint64_t *bytes);

/* For copies between contexts: both must exist.  Where their memory is makes no difference. */
CUresult copy_contexts_check(CUcontext dst, CUcontext src);
