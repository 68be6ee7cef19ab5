/*
 * copy3d.h - copies of blocks: `width` bytes of each of `height` rows of each of `depth` slices.
 *
 *	CUDA_MEMCPY3D ─ copy3d_init ─► struct copy3d ─ command_copy3d
 *
 * copy3d_init checks all parameters, so that running the copy can fail only in a graph, whose memory may be freed before
 * it runs.  A struct copy3d is a plain value except for its references to arrays, which copy3d_finish drops.
 */
#pragma once

#include "backend/soft/texture/array.h"
#include "backend/soft/core/soft.h"

struct copy_side {
	uint64_t addr; /* of the first byte to copy */
	size_t pitch, slice;
	bool pageable;       /* memory of the application, not to be accessed after the call */
	bool check;          /* memory of the driver, which may be freed before the copy runs */
	struct array *array; /* referenced, or NULL */
};

struct copy3d {
	struct copy_side dst, src;
	CUDA_MEMCPY3D params;        /* as the application passed them */
	size_t width, height, depth; /* either all or none are 0 */
	bool check;                  /* in a graph: linear memory of either side may be freed before the copy runs */
};

extern const struct command_ops command_copy3d; /* COMMAND_COPY with a struct copy3d */

CUresult copy3d_init(struct copy3d *c, const CUDA_MEMCPY3D *p);
void copy3d_finish(struct copy3d *c);

/* Submit a copy; takes its references. */
CUresult copy3d_submit(struct copy3d *c, struct stream *s, bool async);
