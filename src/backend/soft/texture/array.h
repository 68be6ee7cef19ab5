/*
 * array.h - CUDA arrays: images in a layout that the driver chooses.
 *
 * Here rows follow each other:	addr + z * slice + y * pitch + x * element
 * with z a slice of a 3D array, a layer, or a face of a cube.  A level of a mipmapped array is an array in the memory
 * of the mipmap.
 */
#pragma once

#include "backend/soft/core/soft.h"

#define ARRAY_LEVELS 18 /* levels of the largest width, 131072 texels */

struct array {
	struct driver_object object;
	CUDA_ARRAY3D_DESCRIPTOR desc;
	unsigned element; /* bytes of a texel: all channels */
	size_t pitch, slice;
	uint64_t addr, size;
	struct mipmap *owner; /* referenced; NULL: the array owns its memory */
};

struct mipmap {
	struct driver_object object;
	CUDA_ARRAY3D_DESCRIPTOR desc;
	unsigned levels;
	uint64_t addr, size;
	uint64_t level[ARRAY_LEVELS]; /* array handles */
};

/* Bytes of a texel.  0: unsupported format, or a wrong number of channels for it. */
unsigned array_element(CUarray_format format, unsigned channels);

/* Find a handle and reference the object, or return CUDA_ERROR_INVALID_HANDLE. */
CUresult array_find(CUarray handle, struct array **a);
CUresult mipmap_find(CUmipmappedArray handle, struct mipmap **m);
