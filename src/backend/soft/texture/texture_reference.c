/*
 * Texture and surface references, the legacy interface: variables of a module to which the application binds images.  A
 * kernel identifies a reference by the address of its variable.
 */
#include "backend/soft/texture/texture_reference.h"

#include <stdlib.h>
#include <string.h>

#include "backend/soft/code/module.h"

#define ALIGN 512u

static pthread_mutex_t texref_lock = PTHREAD_MUTEX_INITIALIZER;
static struct map texref_map;

static struct texref *texref_find_at(uint64_t addr)
{
	struct map_node *n = map_find(&texref_map, addr);

	return n ? container_of(n, struct texref, node) : NULL;
}

const struct texture *texref_at(uint64_t addr)
{
	pthread_mutex_lock(&texref_lock);
	struct texref *t = texref_find_at(addr);
	const struct texture *found = t && t->bound ? &t->texture : NULL;
	pthread_mutex_unlock(&texref_lock);
	return found;
}

static void texref_release(void *object)
{
	struct texref *t = object;

	pthread_mutex_lock(&texref_lock);
	if (t->mapped)
		map_remove(&texref_map, &t->node);
	pthread_mutex_unlock(&texref_lock);
	texture_memory_put(&t->memory);
	free(t);
}

static CUresult texref_create(struct context *ctx, enum object_kind kind, struct texref **out)
{
	struct texref *t = calloc(1, sizeof *t);

	if (!t)
		return CUDA_ERROR_OUT_OF_MEMORY;
	t->format = CU_AD_FORMAT_FLOAT;
	t->channels = 1;
	for (int i = 0; i < 3; i++)
		t->desc.addressMode[i] = CU_TR_ADDRESS_MODE_CLAMP;
	if (object_init_held(&t->object, kind, ctx, texref_release)) {
		free(t);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	*out = t;
	return CUDA_SUCCESS;
}

CUresult soft_cuTexRefCreate(CUtexref *out)
{
	struct context *ctx;
	struct texref *t;
	CUresult r = context_enter(&ctx);

	if (r)
		return r;
	r = out ? texref_create(ctx, KIND_TEXREF, &t) : CUDA_ERROR_INVALID_VALUE;
	if (r)
		return r;
	*out = object_handle(CUtexref, t);
	object_put(t);
	return CUDA_SUCCESS;
}

/* ---- references of modules ---- */

/* The reference of the variable at addr, created on first use.  Replaces a reference of an unloaded module. */
static CUresult module_reference_at(struct module *m, uint64_t addr, enum object_kind kind, uint64_t *handle)
{
	struct texref *fresh, *old = NULL;
	CUresult r = texref_create(m->object.ctx, kind, &fresh);

	if (r)
		return r;
	pthread_mutex_lock(&texref_lock);
	struct texref *t = texref_find_at(addr);
	if (t && t->module != m->object.handle) {
		map_remove(&texref_map, &t->node);
		t->mapped = false;
		old = t;
		t = NULL;
	}
	if (!t) {
		fresh->node.key = addr;
		fresh->module = m->object.handle;
		fresh->mapped = true;
		map_insert(&texref_map, &fresh->node);
		t = fresh;
	}
	*handle = t->object.handle;
	r = t->object.kind == kind ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
	if (old)
		object_ref(old);
	pthread_mutex_unlock(&texref_lock);
	if (t != fresh)
		object_close(fresh);
	object_put(fresh);
	if (old)
		object_close(old);
	object_put(old);
	return r;
}

static CUresult module_get_reference(CUmodule module, const char *name, enum object_kind kind, uint64_t *handle)
{
	if (!atomic_load(&soft.ready))
		return CUDA_ERROR_NOT_INITIALIZED;
	if (!name)
		return CUDA_ERROR_INVALID_VALUE;
	struct module *m = object_find(module, KIND_MODULE);
	if (!m)
		return CUDA_ERROR_INVALID_HANDLE;
	CUresult r = CUDA_ERROR_NOT_FOUND;
	int i = program_global(m->program, name);
	if (i >= 0 && m->globals[i] && m->program->code->globals[i].opaque)
		r = module_reference_at(m, m->globals[i], kind, handle);
	object_put(m);
	return r;
}

CUresult soft_cuModuleGetTexRef(CUtexref *out, CUmodule module, const char *name)
{
	uint64_t handle;
	CUresult r = out ? module_get_reference(module, name, KIND_TEXREF, &handle) : CUDA_ERROR_INVALID_VALUE;

	if (!r)
		*out = (CUtexref)(uintptr_t)handle;
	return r;
}

CUresult soft_cuModuleGetSurfRef(CUsurfref *out, CUmodule module, const char *name)
{
	uint64_t handle;
	CUresult r = out ? module_get_reference(module, name, KIND_SURFREF, &handle) : CUDA_ERROR_INVALID_VALUE;

	if (!r)
		*out = (CUsurfref)(uintptr_t)handle;
	return r;
}

/* ---- binding ---- */

CUresult texref_enter_locked(const void *handle, enum object_kind kind, struct texref **t)
{
	if (!atomic_load(&soft.ready))
		return CUDA_ERROR_NOT_INITIALIZED;
	*t = object_find(handle, kind);
	if (!*t)
		return CUDA_ERROR_INVALID_VALUE;
	pthread_mutex_lock(&texref_lock);
	return CUDA_SUCCESS;
}

CUresult texref_leave_unlock(struct texref *t, CUresult r)
{
	pthread_mutex_unlock(&texref_lock);
	object_put(t);
	return r;
}

CUresult texref_rebuild(struct texref *t)
{
	struct texture_memory memory, old = t->memory;
	struct texture texture;

	if (t->res.resType == CU_RESOURCE_TYPE_LINEAR) {
		t->res.res.linear.format = t->format;
		t->res.res.linear.numChannels = t->channels;
	}
	CUresult r = texture_fill(&texture, &memory, &t->res, NULL);
	if (r)
		return r;
	r = t->object.kind == KIND_TEXREF ? texture_sampler(&texture, &t->desc) : CUDA_SUCCESS;
	if (r) {
		texture_memory_put(&memory);
		return r;
	}
	t->texture = texture;
	t->memory = memory;
	t->bound = true;
	texture_memory_put(&old);
	return CUDA_SUCCESS;
}

static CUresult texref_bind(struct texref *t, const CUDA_RESOURCE_DESC *res)
{
	CUDA_RESOURCE_DESC before = t->res;

	t->res = *res;
	CUresult r = texref_rebuild(t);
	if (r)
		t->res = before;
	else if (texref_is_array(res)) {
		const CUDA_ARRAY3D_DESCRIPTOR *d = t->memory.array ? &t->memory.array->desc : &t->memory.mipmap->desc;

		t->format = d->Format;
		t->channels = d->NumChannels;
	}
	return r;
}

static void texref_unbind(struct texref *t)
{
	t->bound = false;
	texture_memory_put(&t->memory);
}

CUresult soft_cuTexRefSetArray(CUtexref handle, CUarray array, unsigned int flags)
{
	CUDA_RESOURCE_DESC res = {.resType = CU_RESOURCE_TYPE_ARRAY, .res.array.hArray = array};
	struct texref *t;
	CUresult r = flags & ~CU_TRSA_OVERRIDE_FORMAT ? CUDA_ERROR_INVALID_VALUE
						      : texref_enter_locked(handle, KIND_TEXREF, &t);

	if (r)
		return r;
	if (!array)
		texref_unbind(t);
	return texref_leave_unlock(t, array ? texref_bind(t, &res) : CUDA_SUCCESS);
}

CUresult soft_cuTexRefSetMipmappedArray(CUtexref handle, CUmipmappedArray array, unsigned int flags)
{
	CUDA_RESOURCE_DESC res = {.resType = CU_RESOURCE_TYPE_MIPMAPPED_ARRAY, .res.mipmap.hMipmappedArray = array};
	struct texref *t;
	CUresult r = flags & ~CU_TRSA_OVERRIDE_FORMAT ? CUDA_ERROR_INVALID_VALUE
						      : texref_enter_locked(handle, KIND_TEXREF, &t);

	return r ? r : texref_leave_unlock(t, texref_bind(t, &res));
}

/* An unaligned address is rounded down, and *offset is the difference. */
CUresult soft_cuTexRefSetAddress_v2(size_t *offset, CUtexref handle, CUdeviceptr ptr, size_t bytes)
{
	size_t skew = ptr % ALIGN;
	CUDA_RESOURCE_DESC res = {
		.resType = CU_RESOURCE_TYPE_LINEAR, .res.linear = {.devPtr = ptr - skew, .sizeInBytes = bytes + skew}};
	struct texref *t;
	CUresult r = skew && !offset ? CUDA_ERROR_INVALID_VALUE : texref_enter_locked(handle, KIND_TEXREF, &t);

	if (r)
		return r;
	if (ptr)
		r = texref_bind(t, &res);
	else
		texref_unbind(t);
	if (!r && offset)
		*offset = skew;
	return texref_leave_unlock(t, r);
}

CUresult soft_cuTexRefSetAddress2D_v3(CUtexref handle, const CUDA_ARRAY_DESCRIPTOR *desc, CUdeviceptr ptr, size_t pitch)
{
	CUDA_RESOURCE_DESC res = {.resType = CU_RESOURCE_TYPE_PITCH2D};
	struct texref *t;
	CUresult r = desc ? texref_enter_locked(handle, KIND_TEXREF, &t) : CUDA_ERROR_INVALID_VALUE;

	if (r)
		return r;
	res.res.pitch2D.devPtr = ptr;
	res.res.pitch2D.format = desc->Format;
	res.res.pitch2D.numChannels = desc->NumChannels;
	res.res.pitch2D.width = desc->Width;
	res.res.pitch2D.height = desc->Height;
	res.res.pitch2D.pitchInBytes = pitch;
	r = texref_bind(t, &res);
	if (!r) {
		t->format = desc->Format;
		t->channels = desc->NumChannels;
	}
	return texref_leave_unlock(t, r);
}

CUresult soft_cuTexRefSetAddress2D_v2(CUtexref handle, const CUDA_ARRAY_DESCRIPTOR *desc, CUdeviceptr ptr, size_t pitch)
{
	return soft_cuTexRefSetAddress2D_v3(handle, desc, ptr, pitch);
}

CUresult soft_cuSurfRefSetArray(CUsurfref handle, CUarray array, unsigned int flags)
{
	CUDA_RESOURCE_DESC res = {.resType = CU_RESOURCE_TYPE_ARRAY, .res.array.hArray = array};
	struct texref *t;
	CUresult r = flags ? CUDA_ERROR_INVALID_VALUE : texref_enter_locked(handle, KIND_SURFREF, &t);

	return r ? r : texref_leave_unlock(t, texref_bind(t, &res));
}

CUresult soft_cuSurfRefGetArray(CUarray *out, CUsurfref handle)
{
	struct texref *t;
	CUresult r = out ? texref_enter_locked(handle, KIND_SURFREF, &t) : CUDA_ERROR_INVALID_VALUE;

	if (r)
		return r;
	if (t->bound)
		*out = t->res.res.array.hArray;
	return texref_leave_unlock(t, t->bound ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE);
}

CUresult soft_cuTexRefDestroy(CUtexref handle)
{
	struct texref *t;
	CUresult r = texref_enter_locked(handle, KIND_TEXREF, &t);

	if (r)
		return r;
	bool own = !t->mapped; /* a module's reference is destroyed with the module */
	pthread_mutex_unlock(&texref_lock);
	if (!own || !object_close(t))
		r = CUDA_ERROR_INVALID_VALUE;
	object_put(t);
	return r;
}
