/*
 * copy3d.h - copies of blocks: width bytes of each of height rows of each of depth slices.
 *
 *	CUDA_MEMCPY3D ─ copy3d_make ─► struct copy3d ─ command_copy3d
 *
 * copy3d_make checks everything, so that running cannot fail.  A plain value once made, but for the
 *references to arrays: whoever copies it takes references of their own (copy3d_hold).
 */
#pragma once

#include "backend/soft/texture/array.h"
#include "backend/soft/core/soft.h"

struct copy_side {
	uint64_t addr; /* of the first byte */
	size_t pitch, slice;
	bool pageable;       /* the application's memory, not to be touched after the call */
	struct array *array; /* referenced, or NULL */
};

struct copy3d {
	struct copy_side dst, src;
	CUDA_MEMCPY3D params;        /* as the application said it */
	size_t width, height, depth; /* all or none are 0 */
};

extern const struct command_ops command_copy3d; /* COMMAND_COPY with a struct copy3d */

CUresult copy3d_make(struct copy3d *c, const CUDA_MEMCPY3D *p);
void copy3d_hold(struct copy3d *c);
void copy3d_release(struct copy3d *c);

/* Submit a copy that was made; takes its references. */
CUresult copy3d_submit(struct copy3d *c, struct stream *s, bool async);
