/*
 * Texture and surface objects.
 *
 * An engine looks objects up while a kernel runs and holds no reference.  Therefore structs are reused for later objects
 * but never freed: a kernel whose object was destroyed too early reads a wrong image instead of freed memory.
 */
#include "backend/soft/texture/texture.h"

#include <stdlib.h>
#include <string.h>

struct texture_object {
	struct driver_object object; /* TEXTURE or SURFACE */
	CUDA_RESOURCE_DESC res;
	CUDA_TEXTURE_DESC desc;
	CUDA_RESOURCE_VIEW_DESC view; /* format NONE: no view */
	struct texture_memory memory;
	struct texture texture;
	atomic_bool destroyed;       /* by the application; kernels launched before still find the object */
	struct texture_object *next; /* in the list of unused structs */
};

static pthread_mutex_t texture_object_lock = PTHREAD_MUTEX_INITIALIZER;
static struct texture_object *unused_objects;

static struct texture_object *texture_object_create(void)
{
	pthread_mutex_lock(&texture_object_lock);
	struct texture_object *o = unused_objects;
	if (o)
		unused_objects = o->next;
	pthread_mutex_unlock(&texture_object_lock);
	if (!o)
		return calloc(1, sizeof *o);
	memset(o, 0, sizeof *o);
	return o;
}

static void texture_object_release(void *object)
{
	struct texture_object *o = object;

	texture_memory_put(&o->memory);
	pthread_mutex_lock(&texture_object_lock);
	o->next = unused_objects;
	unused_objects = o;
	pthread_mutex_unlock(&texture_object_lock);
}

const struct texture *soft_texture(uint64_t handle)
{
	unsigned kind = handle_kind(handle);
	const struct texture *t = texref_at(handle);

	if (t || (kind != KIND_TEXTURE && kind != KIND_SURFACE))
		return t;
	struct texture_object *o = object_find64(handle, kind);
	if (!o)
		return NULL;
	object_put(o);
	return &o->texture;
}

/* Creates the texture and the handle from the descriptions in o; releases o on failure. */
static CUresult texture_object_finish(
	struct texture_object *o, enum object_kind kind, struct context *ctx, unsigned long long *out)
{
	if (object_init_held(&o->object, kind, ctx, texture_object_release)) {
		texture_object_release(o);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	*out = o->object.handle;
	object_put(o);
	return CUDA_SUCCESS;
}

CUresult soft_cuTexObjectCreate(CUtexObject *out, const CUDA_RESOURCE_DESC *res, const CUDA_TEXTURE_DESC *desc,
	const CUDA_RESOURCE_VIEW_DESC *view)
{
	struct context *ctx;
	CUresult r = context_enter(&ctx);

	if (r)
		return r;
	if (!out || !res || !desc)
		return CUDA_ERROR_INVALID_VALUE;
	struct texture_object *o = texture_object_create();
	if (!o)
		return CUDA_ERROR_OUT_OF_MEMORY;
	o->res = *res;
	o->desc = *desc;
	if (view)
		o->view = *view;
	r = texture_fill(&o->texture, &o->memory, res, view);
	if (!r)
		r = texture_sampler(&o->texture, desc);
	if (!r)
		return texture_object_finish(o, KIND_TEXTURE, ctx, out);
	texture_object_release(o);
	return r;
}

CUresult soft_cuSurfObjectCreate(CUsurfObject *out, const CUDA_RESOURCE_DESC *res)
{
	struct context *ctx;
	CUresult r = context_enter(&ctx);

	if (r)
		return r;
	if (!out || !res || res->resType != CU_RESOURCE_TYPE_ARRAY)
		return CUDA_ERROR_INVALID_VALUE;
	struct texture_object *o = texture_object_create();
	if (!o)
		return CUDA_ERROR_OUT_OF_MEMORY;
	o->res = *res;
	r = texture_fill(&o->texture, &o->memory, res, NULL);
	if (!r)
		return texture_object_finish(o, KIND_SURFACE, ctx, out);
	texture_object_release(o);
	return r;
}

static CUresult texture_object_destroy(unsigned long long handle, enum object_kind kind)
{
	if (!atomic_load(&soft.ready))
		return CUDA_ERROR_NOT_INITIALIZED;
	if (!handle)
		return CUDA_SUCCESS;
	struct texture_object *o = object_find64(handle, kind);
	bool mine = o && !atomic_exchange(&o->destroyed, true);
	if (mine)
		object_retire(o);
	object_put(o);
	return mine ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult soft_cuTexObjectDestroy(CUtexObject handle)
{
	return texture_object_destroy(handle, KIND_TEXTURE);
}

CUresult soft_cuSurfObjectDestroy(CUsurfObject handle)
{
	return texture_object_destroy(handle, KIND_SURFACE);
}

static CUresult texture_object_find(
	unsigned long long handle, enum object_kind kind, const void *out, struct texture_object **o)
{
	if (!atomic_load(&soft.ready))
		return CUDA_ERROR_NOT_INITIALIZED;
	*o = out ? object_find64(handle, kind) : NULL;
	if (*o && atomic_load(&(*o)->destroyed)) {
		object_put(*o);
		*o = NULL;
	}
	return *o ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult soft_cuTexObjectGetResourceDesc(CUDA_RESOURCE_DESC *out, CUtexObject handle)
{
	struct texture_object *o;
	CUresult r = texture_object_find(handle, KIND_TEXTURE, out, &o);

	if (!r) {
		*out = o->res;
		object_put(o);
	}
	return r;
}

CUresult soft_cuTexObjectGetTextureDesc(CUDA_TEXTURE_DESC *out, CUtexObject handle)
{
	struct texture_object *o;
	CUresult r = texture_object_find(handle, KIND_TEXTURE, out, &o);

	if (!r) {
		*out = o->desc;
		object_put(o);
	}
	return r;
}

CUresult soft_cuTexObjectGetResourceViewDesc(CUDA_RESOURCE_VIEW_DESC *out, CUtexObject handle)
{
	struct texture_object *o;
	CUresult r = texture_object_find(handle, KIND_TEXTURE, out, &o);

	if (!r) {
		*out = o->view;
		object_put(o);
	}
	return r;
}

CUresult soft_cuSurfObjectGetResourceDesc(CUDA_RESOURCE_DESC *out, CUsurfObject handle)
{
	struct texture_object *o;
	CUresult r = texture_object_find(handle, KIND_SURFACE, out, &o);

	if (!r) {
		*out = o->res;
		object_put(o);
	}
	return r;
}
