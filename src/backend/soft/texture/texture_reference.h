/* texref.h - one texture or surface reference, for texref.c, which finds and binds it, and texref_settings.c. */
#pragma once

#include "backend/soft/texture/texture.h"
#include "util/map.h"

struct texref {
	struct driver_object object; /* TEXREF or SURFREF */
	struct map_node node;        /* in refs, if it is a variable's; key: the address */
	bool entered;
	uint64_t module; /* handle */
	/* Under the lock: */
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

/* Finds one and locks all of them; an error otherwise. */
CUresult texref_enter(const void *handle, enum object_kind kind, struct texref **t);
CUresult texref_leave(struct texref *t, CUresult r); /* r */

/* Makes the view anew from what is bound and set.  Between the two above. */
CUresult texref_rebuild(struct texref *t);
