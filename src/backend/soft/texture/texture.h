/*
 * texture.h - texture and surface objects, and legacy references, translated to views that an engine reads.
 *
 *	CUDA_RESOURCE_DESC + CUDA_TEXTURE_DESC + view ─ texture_fill ─► struct texture (ptx/interp/texture/texture.h)
 *
 * A kernel identifies an object by its handle, and a reference by the address of its variable.
 */
#pragma once

#include "backend/soft/texture/array.h"
#include "ptx/interp/texture/texture.h"

/* The owner of a texture's memory: referenced, or NULL. */
struct texture_memory {
	struct array *array;
	struct mipmap *mipmap;
};

/* Checks and translates the descriptions; view may be NULL.  On failure nothing is referenced. */
CUresult texture_fill(struct texture *t, struct texture_memory *m, const CUDA_RESOURCE_DESC *res,
	const CUDA_RESOURCE_VIEW_DESC *view);
CUresult texture_sampler(struct texture *t, const CUDA_TEXTURE_DESC *desc);
void texture_memory_put(struct texture_memory *m);

/*
 * For engines: the texture or surface of an object's handle, or of the address of a reference's variable; NULL: none.
 * The result stays readable memory, and is meaningful until the application destroys the object.
 */
const struct texture *soft_texture(uint64_t handle);

const struct texture *texref_at(uint64_t addr); /* of a module's variable; NULL: no reference, or unbound */
