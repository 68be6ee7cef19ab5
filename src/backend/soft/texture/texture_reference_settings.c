/* Getters and setters of texture references. */
#include "backend/soft/texture/texture_reference.h"

#include <string.h>

#define KNOWN_FLAGS (CU_TRSF_READ_AS_INTEGER | CU_TRSF_NORMALIZED_COORDINATES | CU_TRSF_SRGB | 0x60u)

CUresult soft_cuTexRefSetFormat(CUtexref handle, CUarray_format format, int channels)
{
	struct texref *t;
	CUresult r = array_element(format, channels < 0 ? 0 : channels) ? texref_enter_locked(handle, KIND_TEXREF, &t)
									: CUDA_ERROR_INVALID_VALUE;

	if (r)
		return r;
	t->format = format;
	t->channels = channels;
	return texref_leave_unlock(
		t, t->bound && t->res.resType == CU_RESOURCE_TYPE_LINEAR ? texref_rebuild(t) : CUDA_SUCCESS);
}

/* A setter: checks, sets, and recreates the view if a texture is bound.  An unusable value is stored but has no effect. */
#define SETTER(name, args, check, set) \
	CUresult name args \
	{ \
		struct texref *t; \
		CUresult r = (check) ? texref_enter_locked(handle, KIND_TEXREF, &t) : CUDA_ERROR_INVALID_VALUE; \
\
		if (r) \
			return r; \
		set; \
		if (t->bound) \
			texref_rebuild(t); \
		return texref_leave_unlock(t, CUDA_SUCCESS); \
	}

#define GETTER(name, type, value) \
	CUresult name(type *out, CUtexref handle) \
	{ \
		struct texref *t; \
		CUresult r = out ? texref_enter_locked(handle, KIND_TEXREF, &t) : CUDA_ERROR_INVALID_VALUE; \
\
		if (r) \
			return r; \
		*out = value; \
		return texref_leave_unlock(t, CUDA_SUCCESS); \
	}

SETTER(soft_cuTexRefSetAddressMode, (CUtexref handle, int dim, CUaddress_mode mode), dim >= 0 && dim < 3,
	t->desc.addressMode[dim] = mode)
SETTER(soft_cuTexRefSetFilterMode, (CUtexref handle, CUfilter_mode mode), true, t->desc.filterMode = mode)
SETTER(soft_cuTexRefSetMipmapFilterMode, (CUtexref handle, CUfilter_mode mode), true, t->desc.mipmapFilterMode = mode)
SETTER(soft_cuTexRefSetMipmapLevelBias, (CUtexref handle, float bias), true, t->desc.mipmapLevelBias = bias)
SETTER(soft_cuTexRefSetMipmapLevelClamp, (CUtexref handle, float low, float high), true,
	(t->desc.minMipmapLevelClamp = low, t->desc.maxMipmapLevelClamp = high))
SETTER(soft_cuTexRefSetMaxAnisotropy, (CUtexref handle, unsigned int most), true, t->desc.maxAnisotropy = most)
SETTER(soft_cuTexRefSetBorderColor, (CUtexref handle, float *color), color,
	memcpy(t->desc.borderColor, color, sizeof t->desc.borderColor))
SETTER(soft_cuTexRefSetFlags, (CUtexref handle, unsigned int flags), !(flags & ~KNOWN_FLAGS), t->desc.flags = flags)

GETTER(soft_cuTexRefGetFilterMode, CUfilter_mode, t->desc.filterMode)
GETTER(soft_cuTexRefGetMipmapFilterMode, CUfilter_mode, t->desc.mipmapFilterMode)
GETTER(soft_cuTexRefGetMipmapLevelBias, float, t->desc.mipmapLevelBias)
GETTER(soft_cuTexRefGetMaxAnisotropy, int, t->desc.maxAnisotropy)
GETTER(soft_cuTexRefGetFlags, unsigned int, t->desc.flags)

CUresult soft_cuTexRefGetAddressMode(CUaddress_mode *out, CUtexref handle, int dim)
{
	struct texref *t;
	CUresult r =
		out && dim >= 0 && dim < 3 ? texref_enter_locked(handle, KIND_TEXREF, &t) : CUDA_ERROR_INVALID_VALUE;

	if (r)
		return r;
	*out = t->desc.addressMode[dim];
	return texref_leave_unlock(t, CUDA_SUCCESS);
}

CUresult soft_cuTexRefGetMipmapLevelClamp(float *low, float *high, CUtexref handle)
{
	struct texref *t;
	CUresult r = low && high ? texref_enter_locked(handle, KIND_TEXREF, &t) : CUDA_ERROR_INVALID_VALUE;

	if (r)
		return r;
	*low = t->desc.minMipmapLevelClamp;
	*high = t->desc.maxMipmapLevelClamp;
	return texref_leave_unlock(t, CUDA_SUCCESS);
}

CUresult soft_cuTexRefGetBorderColor(float *color, CUtexref handle)
{
	struct texref *t;
	CUresult r = color ? texref_enter_locked(handle, KIND_TEXREF, &t) : CUDA_ERROR_INVALID_VALUE;

	if (r)
		return r;
	memcpy(color, t->desc.borderColor, sizeof t->desc.borderColor);
	return texref_leave_unlock(t, CUDA_SUCCESS);
}

CUresult soft_cuTexRefGetFormat(CUarray_format *format, int *channels, CUtexref handle)
{
	struct texref *t;
	CUresult r = texref_enter_locked(handle, KIND_TEXREF, &t);

	if (r)
		return r;
	if (format)
		*format = t->format;
	if (channels)
		*channels = t->channels;
	return texref_leave_unlock(t, CUDA_SUCCESS);
}

CUresult soft_cuTexRefGetArray(CUarray *out, CUtexref handle)
{
	struct texref *t;
	CUresult r = out ? texref_enter_locked(handle, KIND_TEXREF, &t) : CUDA_ERROR_INVALID_VALUE;

	if (r)
		return r;
	bool has = t->bound && t->res.resType == CU_RESOURCE_TYPE_ARRAY;
	if (has)
		*out = t->res.res.array.hArray;
	return texref_leave_unlock(t, has ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE);
}

CUresult soft_cuTexRefGetMipmappedArray(CUmipmappedArray *out, CUtexref handle)
{
	struct texref *t;
	CUresult r = out ? texref_enter_locked(handle, KIND_TEXREF, &t) : CUDA_ERROR_INVALID_VALUE;

	if (r)
		return r;
	bool has = t->bound && t->res.resType == CU_RESOURCE_TYPE_MIPMAPPED_ARRAY;
	if (has)
		*out = t->res.res.mipmap.hMipmappedArray;
	return texref_leave_unlock(t, has ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE);
}

CUresult soft_cuTexRefGetAddress_v2(CUdeviceptr *out, CUtexref handle)
{
	struct texref *t;
	CUresult r = out ? texref_enter_locked(handle, KIND_TEXREF, &t) : CUDA_ERROR_INVALID_VALUE;

	if (r)
		return r;
	bool has = t->bound && !texref_is_array(&t->res);
	if (has)
		*out = t->res.resType == CU_RESOURCE_TYPE_LINEAR ? t->res.res.linear.devPtr : t->res.res.pitch2D.devPtr;
	return texref_leave_unlock(t, has ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE);
}
