/*
 * array.h - CUDA arrays: images whose layout is the driver's business.
 *
 * Ours is rows one after the other:	addr + z * slice + y * pitch + x * element
 * with z a slice of a 3D array, a layer, or a face of a cube.  A level of a mipmapped array is an array in
 * the mipmap's memory, and belongs to it.
 */
#pragma once

#include "backend/soft/core/soft.h"

#define ARRAY_LEVELS 18 /* of 131072 texels */

struct array {
	struct driver_object object;
	CUDA_ARRAY3D_DESCRIPTOR desc;
	unsigned element; /* bytes: all channels */
	size_t pitch, slice;
	uint64_t addr, size;
	struct mipmap *owner; /* referenced; NULL: the memory is its own */
};

struct mipmap {
	struct driver_object object;
	CUDA_ARRAY3D_DESCRIPTOR desc;
	unsigned levels;
	uint64_t addr, size;
	uint64_t level[ARRAY_LEVELS]; /* handles */
};

/* Bytes of a texel, 0: not a format we have.  channels must be right for it. */
unsigned array_element(CUarray_format format, unsigned channels);

/* Referenced, or CUDA_ERROR_INVALID_HANDLE. */
CUresult array_find(CUarray handle, struct array **a);
CUresult mipmap_find(CUmipmappedArray handle, struct mipmap **m);
