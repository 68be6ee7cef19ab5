/* Translates CUDA's descriptions of textures and surfaces to struct texture. */
#include "backend/soft/texture/texture.h"

#include <string.h>

#define ALIGN       512u /* CU_DEVICE_ATTRIBUTE_TEXTURE_ALIGNMENT */
#define PITCH_ALIGN 32u  /* CU_DEVICE_ATTRIBUTE_TEXTURE_PITCH_ALIGNMENT */
#define MAX_LINEAR  (1ull << 28)
#define MAX_WIDTH   131072u
#define MAX_HEIGHT  65000u
#define KNOWN_FLAGS \
	(CU_TRSF_READ_AS_INTEGER | CU_TRSF_NORMALIZED_COORDINATES | CU_TRSF_SRGB | \
		CU_TRSF_DISABLE_TRILINEAR_OPTIMIZATION | CU_TRSF_SEAMLESS_CUBEMAP)

void texture_memory_put(struct texture_memory *m)
{
	object_put(m->array);
	object_put(m->mipmap);
	*m = (struct texture_memory){0};
}

/* Normalised formats are integers that are always read as normalised floats. */
static CUresult texture_set_format(struct texture *t, CUarray_format format, unsigned channels)
{
	bool snorm = format >= CU_AD_FORMAT_SNORM_INT8X1 && format <= CU_AD_FORMAT_SNORM_INT16X4;
	unsigned element = array_element(format, channels);

	if (!element)
		return CUDA_ERROR_INVALID_VALUE;
	if (format == CU_AD_FORMAT_UNORM_INT_101010_2)
		return CUDA_ERROR_NOT_SUPPORTED;
	t->channels = channels;
	t->format = format;
	if (format >= CU_AD_FORMAT_UNORM_INT8X1) {
		bool wide = element / channels == 2;

		t->format = snorm ? (wide ? TEX_S16 : TEX_S8) : (wide ? TEX_U16 : TEX_U8);
		t->read_float = true;
	}
	return CUDA_SUCCESS;
}

static void texture_set_level(struct texture *t, unsigned i, const struct array *a)
{
	bool layers = a->desc.Flags & (CUDA_ARRAY3D_LAYERED | CUDA_ARRAY3D_CUBEMAP);

	t->level[i] = (struct tex_level){
		.base = (uint8_t *)(uintptr_t)a->addr,
		.width = a->desc.Width,
		.height = a->desc.Height,
		.depth = layers ? 0 : a->desc.Depth,
		.pitch = a->pitch,
		.slice = a->slice,
	};
	if (!i) {
		t->layers = layers ? a->desc.Depth : 0;
		t->cube = a->desc.Flags & CUDA_ARRAY3D_CUBEMAP;
	}
}

static CUresult texture_from_array(struct texture *t, struct texture_memory *m, CUarray handle)
{
	m->array = object_find(handle, KIND_ARRAY);
	if (!m->array)
		return CUDA_ERROR_INVALID_VALUE;
	t->levels = 1;
	texture_set_level(t, 0, m->array);
	return texture_set_format(t, m->array->desc.Format, m->array->desc.NumChannels);
}

static CUresult texture_from_mipmap(struct texture *t, struct texture_memory *m, CUmipmappedArray handle)
{
	m->mipmap = object_find(handle, KIND_MIPMAP);
	if (!m->mipmap)
		return CUDA_ERROR_INVALID_VALUE;
	t->levels = m->mipmap->levels < TEX_MAX_LEVELS ? m->mipmap->levels : TEX_MAX_LEVELS;
	for (unsigned i = 0; i < t->levels; i++) {
		struct array *a = object_find64(m->mipmap->level[i], KIND_ARRAY);

		if (!a)
			return CUDA_ERROR_INVALID_VALUE;
		texture_set_level(t, i, a);
		object_put(a);
	}
	return texture_set_format(t, m->mipmap->desc.Format, m->mipmap->desc.NumChannels);
}

static CUresult texture_from_linear(struct texture *t, const CUDA_RESOURCE_DESC *res)
{
	unsigned element = array_element(res->res.linear.format, res->res.linear.numChannels);
	uint64_t addr = res->res.linear.devPtr, bytes = res->res.linear.sizeInBytes;

	if (!addr || addr % ALIGN || !element || bytes / element > MAX_LINEAR)
		return CUDA_ERROR_INVALID_VALUE;
	t->levels = 1;
	t->level[0] = (struct tex_level){
		.base = (uint8_t *)(uintptr_t)addr,
		.width = bytes / element,
		.pitch = bytes,
		.slice = bytes,
	};
	return texture_set_format(t, res->res.linear.format, res->res.linear.numChannels);
}

static CUresult texture_from_pitch2d(struct texture *t, const CUDA_RESOURCE_DESC *res)
{
	uint64_t addr = res->res.pitch2D.devPtr, pitch = res->res.pitch2D.pitchInBytes;
	uint64_t width = res->res.pitch2D.width, height = res->res.pitch2D.height;

	if (!addr || addr % ALIGN || pitch % PITCH_ALIGN || width > MAX_WIDTH || height > MAX_HEIGHT)
		return CUDA_ERROR_INVALID_VALUE;
	t->levels = 1;
	t->level[0] = (struct tex_level){
		.base = (uint8_t *)(uintptr_t)addr,
		.width = width,
		.height = height,
		.pitch = pitch,
		.slice = pitch * height,
	};
	return texture_set_format(t, res->res.pitch2D.format, res->res.pitch2D.numChannels);
}

/* ---- resource views: another format for the same bytes, a range of levels, a range of layers ---- */

static bool view_format(CUresourceViewFormat v, CUarray_format *format, unsigned *channels)
{
	static const unsigned char kinds[] = {
		CU_AD_FORMAT_UNSIGNED_INT8,
		CU_AD_FORMAT_SIGNED_INT8,
		CU_AD_FORMAT_UNSIGNED_INT16,
		CU_AD_FORMAT_SIGNED_INT16,
		CU_AD_FORMAT_UNSIGNED_INT32,
		CU_AD_FORMAT_SIGNED_INT32,
		CU_AD_FORMAT_HALF,
		CU_AD_FORMAT_FLOAT,
	};
	unsigned i = v - CU_RES_VIEW_FORMAT_UINT_1X8;

	if (v < CU_RES_VIEW_FORMAT_UINT_1X8 || v > CU_RES_VIEW_FORMAT_FLOAT_4X32)
		return false;
	*format = kinds[i / 3];
	*channels = 1u << i % 3;
	return true;
}

static CUresult texture_apply_view(struct texture *t, const CUDA_RESOURCE_VIEW_DESC *v)
{
	unsigned before = array_element((CUarray_format)t->format, t->channels), channels, first = v->firstMipmapLevel;
	CUarray_format format;

	if (v->format >= CU_RES_VIEW_FORMAT_UNSIGNED_BC1 && v->format <= CU_RES_VIEW_FORMAT_UNSIGNED_BC7)
		return CUDA_ERROR_NOT_SUPPORTED;
	if (!view_format(v->format, &format, &channels) || array_element(format, channels) != before ||
		first >= t->levels || v->lastMipmapLevel < first || v->lastLayer < v->firstLayer ||
		(v->lastLayer && v->lastLayer >= t->layers))
		return CUDA_ERROR_INVALID_VALUE;
	const struct tex_level *l = &t->level[first];
	if (v->width != l->width || v->height != l->height || (l->depth && v->depth != l->depth))
		return CUDA_ERROR_INVALID_VALUE;
	t->levels = (v->lastMipmapLevel < t->levels ? v->lastMipmapLevel + 1 : t->levels) - first;
	memmove(t->level, l, t->levels * sizeof *l);
	if (t->layers && v->lastLayer) {
		for (unsigned i = 0; i < t->levels; i++)
			t->level[i].base += v->firstLayer * t->level[i].slice;
		t->layers = v->lastLayer - v->firstLayer + 1;
	}
	return texture_set_format(t, format, channels);
}

CUresult texture_fill(
	struct texture *t, struct texture_memory *m, const CUDA_RESOURCE_DESC *res, const CUDA_RESOURCE_VIEW_DESC *view)
{
	bool array = res->resType == CU_RESOURCE_TYPE_ARRAY || res->resType == CU_RESOURCE_TYPE_MIPMAPPED_ARRAY;
	CUresult r = CUDA_ERROR_INVALID_VALUE;

	memset(t, 0, sizeof *t);
	*m = (struct texture_memory){0};
	if (res->flags || (view && !array))
		return r;
	if (res->resType == CU_RESOURCE_TYPE_ARRAY)
		r = texture_from_array(t, m, res->res.array.hArray);
	else if (res->resType == CU_RESOURCE_TYPE_MIPMAPPED_ARRAY)
		r = texture_from_mipmap(t, m, res->res.mipmap.hMipmappedArray);
	else if (res->resType == CU_RESOURCE_TYPE_LINEAR)
		r = texture_from_linear(t, res);
	else if (res->resType == CU_RESOURCE_TYPE_PITCH2D)
		r = texture_from_pitch2d(t, res);
	if (!r && view)
		r = texture_apply_view(t, view);
	if (r)
		texture_memory_put(m);
	return r;
}

CUresult texture_sampler(struct texture *t, const CUDA_TEXTURE_DESC *d)
{
	if (d->flags & ~KNOWN_FLAGS || d->filterMode > CU_TR_FILTER_MODE_LINEAR ||
		d->mipmapFilterMode > CU_TR_FILTER_MODE_LINEAR)
		return CUDA_ERROR_INVALID_VALUE;
	for (int i = 0; i < 3; i++) {
		if (d->addressMode[i] > CU_TR_ADDRESS_MODE_BORDER)
			return CUDA_ERROR_INVALID_VALUE;
		t->address[i] = d->addressMode[i];
	}
	t->filter = d->filterMode;
	t->mip_filter = d->mipmapFilterMode;
	t->normalized = d->flags & CU_TRSF_NORMALIZED_COORDINATES;
	t->read_float |= !(d->flags & CU_TRSF_READ_AS_INTEGER);
	t->srgb = d->flags & CU_TRSF_SRGB;
	t->seamless = d->flags & CU_TRSF_SEAMLESS_CUBEMAP;
	memcpy(t->border, d->borderColor, sizeof t->border);
	t->mip_bias = d->mipmapLevelBias;
	t->min_lod = d->minMipmapLevelClamp;
	t->max_lod = d->maxMipmapLevelClamp;
	return CUDA_SUCCESS;
}
