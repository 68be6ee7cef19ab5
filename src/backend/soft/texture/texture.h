/*
 * texture.h - texture and surface objects, and the references of old, as plain views for an engine.
 *
 *	CUDA_RESOURCE_DESC + CUDA_TEXTURE_DESC + view ─ texture_fill ─► struct texture (ptx/interp/texture/texture.h)
 *
 * A kernel names an object by its handle, a reference by the address of its variable.
 */
#pragma once

#include "backend/soft/texture/array.h"
#include "ptx/interp/texture/texture.h"

/* What keeps the memory of a texture alive: referenced, or NULL. */
struct texture_memory {
	struct array *array;
	struct mipmap *mipmap;
};

/* Check and translate; view may be NULL.  On failure nothing is held. */
CUresult texture_fill(struct texture *t, struct texture_memory *m, const CUDA_RESOURCE_DESC *res,
	const CUDA_RESOURCE_VIEW_DESC *view);
CUresult texture_sampler(struct texture *t, const CUDA_TEXTURE_DESC *desc);
void texture_memory_put(struct texture_memory *m);

/*
 * For engines: the texture or surface behind a handle, or behind the address of a reference's variable.
 * NULL: none.  What is returned stays readable; it is meaningful while the application keeps the object.
 */
const struct texture *soft_texture(uint64_t handle);

const struct texture *texref_at(uint64_t addr); /* of a module's variable; NULL: none, or nothing bound */
