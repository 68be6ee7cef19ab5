/* texture_reference.h - texture and surface references, shared by the files that bind them and that set them up. */
#pragma once

#include "backend/soft/texture/texture.h"
#include "util/map.h"

struct texref {
	struct driver_object object; /* TEXREF or SURFREF */
	struct map_node node;        /* in the map of references, if `mapped`; key: the address of the variable */
	bool mapped;                 /* belongs to a variable of a module */
	uint64_t module;             /* handle */
	/* The lock of all references protects: */
	bool bound;
	CUarray_format format;
	int channels;
	CUDA_RESOURCE_DESC res;
	CUDA_TEXTURE_DESC desc;
	struct texture_memory memory;
	struct texture texture;
};

static inline bool texref_is_array(const CUDA_RESOURCE_DESC *res)
{
	return res->resType == CU_RESOURCE_TYPE_ARRAY || res->resType == CU_RESOURCE_TYPE_MIPMAPPED_ARRAY;
}

/* Finds a reference and returns with the lock of all references held; unlocked after an error. */
CUresult texref_enter_locked(const void *handle, enum object_kind kind, struct texref **t);
CUresult texref_leave_unlock(struct texref *t, CUresult r); /* returns r */

/* Recreates the view from the binding and the settings.  Requires the lock. */
CUresult texref_rebuild(struct texref *t);
