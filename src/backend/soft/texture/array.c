/* CUDA arrays and mipmapped arrays. */
#include "backend/soft/texture/array.h"

#include <stdlib.h>

#include "backend/soft/memory/range.h"
#include "cuda/format.h"

#define ROW_ALIGN   64u
#define LEVEL_ALIGN 512u

#define KNOWN_FLAGS \
	(CUDA_ARRAY3D_LAYERED | CUDA_ARRAY3D_SURFACE_LDST | CUDA_ARRAY3D_CUBEMAP | CUDA_ARRAY3D_TEXTURE_GATHER | \
		CUDA_ARRAY3D_COLOR_ATTACHMENT | CUDA_ARRAY3D_SPARSE | CUDA_ARRAY3D_DEFERRED_MAPPING | \
		CUDA_ARRAY3D_VIDEO_ENCODE_DECODE)

/* ---- formats ---- */

/* Formats with a fixed number of channels. */
static bool format_has_fixed_channels(CUarray_format format, unsigned *channels, unsigned *bytes)
{
	static const unsigned char count[] = {1, 2, 4};
	bool unorm = format >= CU_AD_FORMAT_UNORM_INT8X1 && format <= CU_AD_FORMAT_UNORM_INT16X4;
	bool snorm = format >= CU_AD_FORMAT_SNORM_INT8X1 && format <= CU_AD_FORMAT_SNORM_INT16X4;

	if (unorm || snorm) {
		unsigned i = format - (unorm ? CU_AD_FORMAT_UNORM_INT8X1 : CU_AD_FORMAT_SNORM_INT8X1);

		*channels = count[i % 3];
		*bytes = *channels * (i < 3 ? 1 : 2);
		return true;
	}
	*channels = 4;
	*bytes = 4;
	return format == CU_AD_FORMAT_UNORM_INT_101010_2;
}

unsigned array_element(CUarray_format format, unsigned channels)
{
	unsigned want, bytes;

	if (format_has_fixed_channels(format, &want, &bytes))
		return channels == want ? bytes : 0;
	if (channels != 1 && channels != 2 && channels != 4)
		return 0;
	return channels * format_channel(format);
}

/* Block-compressed formats, which are not supported. */
static bool format_is_block_compressed(CUarray_format format, unsigned channels)
{
	static const unsigned char count[] = {4, 4, 4, 4, 4, 4, 1, 1, 2, 2, 3, 3, 4, 4};

	return format >= CU_AD_FORMAT_BC1_UNORM && format <= CU_AD_FORMAT_BC7_UNORM_SRGB &&
	       channels == count[format - CU_AD_FORMAT_BC1_UNORM];
}

/* ---- shapes ---- */

static bool dimensions_fit(const CUDA_ARRAY3D_DESCRIPTOR *d, size_t w, size_t h, size_t depth)
{
	return d->Width <= w && d->Height <= h && d->Depth <= depth;
}

static bool shape_is_valid(const CUDA_ARRAY3D_DESCRIPTOR *d)
{
	bool layered = d->Flags & CUDA_ARRAY3D_LAYERED, surface = d->Flags & CUDA_ARRAY3D_SURFACE_LDST;

	if (!d->Width)
		return false;
	if (d->Flags & CUDA_ARRAY3D_CUBEMAP)
		return d->Width == d->Height && dimensions_fit(d, 32768, 32768, 2046) &&
		       (layered ? d->Depth && d->Depth % 6 == 0 : d->Depth == 6);
	if (layered)
		return d->Depth && dimensions_fit(d, 32768, 32768, 2048);
	if (!d->Height)
		return !d->Depth && d->Width <= (surface ? 32768 : 131072);
	if (d->Flags & CUDA_ARRAY3D_TEXTURE_GATHER)
		return !d->Depth && dimensions_fit(d, 32768, 32768, 0);
	if (!d->Depth)
		return dimensions_fit(d, 131072, 65536, 0);
	return dimensions_fit(d, 16384, 16384, 16384) || dimensions_fit(d, 8192, 8192, 32768);
}

static CUresult descriptor_check(const CUDA_ARRAY3D_DESCRIPTOR *d)
{
	if (d->Flags & ~KNOWN_FLAGS || !shape_is_valid(d))
		return CUDA_ERROR_INVALID_VALUE;
	if (!array_element(d->Format, d->NumChannels))
		return format_is_block_compressed(d->Format, d->NumChannels) ? CUDA_ERROR_NOT_SUPPORTED
									     : CUDA_ERROR_INVALID_VALUE;
	if (d->Flags & (CUDA_ARRAY3D_SPARSE | CUDA_ARRAY3D_DEFERRED_MAPPING | CUDA_ARRAY3D_VIDEO_ENCODE_DECODE))
		return CUDA_ERROR_NOT_SUPPORTED;
	return CUDA_SUCCESS;
}

/* Computes pitch, slice and size from the descriptor. */
static void array_set_layout(struct array *a)
{
	const CUDA_ARRAY3D_DESCRIPTOR *d = &a->desc;

	a->element = array_element(d->Format, d->NumChannels);
	a->pitch = (d->Width * a->element + ROW_ALIGN - 1) & -(size_t)ROW_ALIGN;
	a->slice = a->pitch * (d->Height ? d->Height : 1);
	a->size = a->slice * (d->Depth ? d->Depth : 1);
}

/* ---- arrays ---- */

static void array_release(void *object)
{
	struct array *a = object;

	if (a->owner)
		object_put(a->owner);
	else if (a->addr)
		device_memory_free(a->object.ctx->device, a->addr, a->size);
	free(a);
}

CUresult array_find(CUarray handle, struct array **a)
{
	if (!atomic_load(&soft.ready))
		return CUDA_ERROR_NOT_INITIALIZED;
	*a = object_find(handle, KIND_ARRAY);
	return *a ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

static CUresult array_create(struct context *ctx, const CUDA_ARRAY3D_DESCRIPTOR *desc, CUarray *out)
{
	CUresult r = descriptor_check(desc);
	struct array *a = r ? NULL : calloc(1, sizeof *a);

	if (!a)
		return r ? r : CUDA_ERROR_OUT_OF_MEMORY;
	a->desc = *desc;
	array_set_layout(a);
	r = device_memory_alloc(ctx->device, a->size, &a->addr);
	if (!r && object_init_held(&a->object, KIND_ARRAY, ctx, array_release)) {
		device_memory_free(ctx->device, a->addr, a->size);
		r = CUDA_ERROR_OUT_OF_MEMORY;
	}
	if (r) {
		free(a);
		return r;
	}
	*out = object_handle(CUarray, a);
	object_put(a);
	return CUDA_SUCCESS;
}

CUresult soft_cuArray3DCreate_v2(CUarray *out, const CUDA_ARRAY3D_DESCRIPTOR *desc)
{
	struct context *ctx;
	CUresult r = context_enter(&ctx);

	if (r)
		return r;
	return out && desc ? array_create(ctx, desc, out) : CUDA_ERROR_INVALID_VALUE;
}

CUresult soft_cuArrayCreate_v2(CUarray *out, const CUDA_ARRAY_DESCRIPTOR *desc)
{
	if (!desc)
		return soft_cuArray3DCreate_v2(out, NULL);
	CUDA_ARRAY3D_DESCRIPTOR d = {desc->Width, desc->Height, 0, desc->Format, desc->NumChannels, 0};
	return soft_cuArray3DCreate_v2(out, &d);
}

CUresult soft_cuArray3DGetDescriptor_v2(CUDA_ARRAY3D_DESCRIPTOR *desc, CUarray handle)
{
	struct array *a;
	CUresult r = desc ? array_find(handle, &a) : CUDA_ERROR_INVALID_VALUE;

	if (r)
		return r;
	*desc = a->desc;
	object_put(a);
	return CUDA_SUCCESS;
}

CUresult soft_cuArrayGetDescriptor_v2(CUDA_ARRAY_DESCRIPTOR *desc, CUarray handle)
{
	CUDA_ARRAY3D_DESCRIPTOR d;
	CUresult r = desc ? soft_cuArray3DGetDescriptor_v2(&d, handle) : CUDA_ERROR_INVALID_VALUE;

	if (!r)
		*desc = (CUDA_ARRAY_DESCRIPTOR){d.Width, d.Height, d.Format, d.NumChannels};
	return r;
}

/* Pending copies reference the array.  The levels of a mipmap are destroyed with the mipmap. */
CUresult soft_cuArrayDestroy(CUarray handle)
{
	struct array *a;
	CUresult r = array_find(handle, &a);

	if (r)
		return r;
	if (!a->owner) {
		context_wait(a->object.ctx);
		if (!object_close(a))
			r = CUDA_ERROR_INVALID_HANDLE;
	}
	object_put(a);
	return r;
}

/* No array here has planes, is sparse, or has deferred memory. */
static CUresult array_check_no_property(CUarray handle, const void *out)
{
	struct array *a;
	CUresult r = out ? array_find(handle, &a) : CUDA_ERROR_INVALID_VALUE;

	if (r)
		return r;
	object_put(a);
	return CUDA_ERROR_INVALID_VALUE;
}

CUresult soft_cuArrayGetPlane(CUarray *plane, CUarray handle, unsigned int index)
{
	(void)index;
	return array_check_no_property(handle, plane);
}

CUresult soft_cuArrayGetSparseProperties(CUDA_ARRAY_SPARSE_PROPERTIES *properties, CUarray handle)
{
	return array_check_no_property(handle, properties);
}

CUresult soft_cuArrayGetMemoryRequirements(CUDA_ARRAY_MEMORY_REQUIREMENTS *requirements, CUarray handle, CUdevice dev)
{
	(void)dev;
	return array_check_no_property(handle, requirements);
}

/* ---- mipmaps ---- */

static void mipmap_release(void *object)
{
	struct mipmap *m = object;

	if (m->addr)
		device_memory_free(m->object.ctx->device, m->addr, m->size);
	free(m);
}

CUresult mipmap_find(CUmipmappedArray handle, struct mipmap **m)
{
	if (!atomic_load(&soft.ready))
		return CUDA_ERROR_NOT_INITIALIZED;
	*m = object_find(handle, KIND_MIPMAP);
	return *m ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

static size_t half_dimension(size_t n)
{
	return n > 1 ? n / 2 : n;
}

/* Depth shrinks if it is a dimension, and stays if it counts layers or faces. */
static CUDA_ARRAY3D_DESCRIPTOR next_level_descriptor(CUDA_ARRAY3D_DESCRIPTOR d)
{
	d.Width = half_dimension(d.Width);
	d.Height = half_dimension(d.Height);
	if (!(d.Flags & (CUDA_ARRAY3D_LAYERED | CUDA_ARRAY3D_CUBEMAP)))
		d.Depth = half_dimension(d.Depth);
	return d;
}

static unsigned max_levels(const CUDA_ARRAY3D_DESCRIPTOR *d)
{
	bool deep = !(d->Flags & (CUDA_ARRAY3D_LAYERED | CUDA_ARRAY3D_CUBEMAP));
	size_t n = d->Width | d->Height | (deep ? d->Depth : 0);
	unsigned levels = 64 - __builtin_clzll(n);

	return levels < ARRAY_LEVELS ? levels : ARRAY_LEVELS;
}

static CUresult mipmap_create_level(struct mipmap *m, unsigned i, const CUDA_ARRAY3D_DESCRIPTOR *d, uint64_t addr)
{
	struct array *a = calloc(1, sizeof *a);

	if (!a)
		return CUDA_ERROR_OUT_OF_MEMORY;
	a->desc = *d;
	array_set_layout(a);
	a->addr = addr;
	object_ref(m);
	a->owner = m;
	if (object_init_held(&a->object, KIND_ARRAY, m->object.ctx, array_release)) {
		free(a);
		object_put(m);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	m->level[i] = a->object.handle;
	object_put(a);
	return CUDA_SUCCESS;
}

/* Places the levels one after the other, and creates their arrays if m has memory.  *bytes: their total size. */
static CUresult mipmap_place_levels(struct mipmap *m, uint64_t *bytes)
{
	CUDA_ARRAY3D_DESCRIPTOR d = m->desc;
	CUresult r = CUDA_SUCCESS;

	*bytes = 0;
	for (unsigned i = 0; i < m->levels && !r; i++, d = next_level_descriptor(d)) {
		struct array a = {.desc = d};

		array_set_layout(&a);
		if (m->addr)
			r = mipmap_create_level(m, i, &d, m->addr + *bytes);
		*bytes += (a.size + LEVEL_ALIGN - 1) & -(uint64_t)LEVEL_ALIGN;
	}
	return r;
}

static void mipmap_close_levels(struct mipmap *m)
{
	for (unsigned i = 0; i < m->levels; i++) {
		struct array *a = object_find64(m->level[i], KIND_ARRAY);

		if (a)
			object_close(a);
		object_put(a);
	}
}

CUresult soft_cuMipmappedArrayCreate(CUmipmappedArray *out, const CUDA_ARRAY3D_DESCRIPTOR *desc, unsigned int levels)
{
	struct context *ctx;
	CUresult r = context_enter(&ctx);

	if (r)
		return r;
	r = out && desc ? descriptor_check(desc) : CUDA_ERROR_INVALID_VALUE;
	struct mipmap *m = r ? NULL : calloc(1, sizeof *m);
	if (!m)
		return r ? r : CUDA_ERROR_OUT_OF_MEMORY;
	unsigned most = max_levels(desc);
	m->desc = *desc;
	m->levels = levels < 1 ? 1 : levels > most ? most : levels;
	if (object_init_held(&m->object, KIND_MIPMAP, ctx, mipmap_release)) {
		free(m);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	mipmap_place_levels(m, &m->size);
	r = device_memory_alloc(ctx->device, m->size, &m->addr);
	if (r)
		m->addr = 0;
	else
		r = mipmap_place_levels(m, &m->size);
	if (!r) {
		*out = object_handle(CUmipmappedArray, m);
	} else {
		mipmap_close_levels(m);
		object_close(m);
	}
	object_put(m);
	return r;
}

CUresult soft_cuMipmappedArrayGetLevel(CUarray *out, CUmipmappedArray handle, unsigned int level)
{
	struct mipmap *m;
	CUresult r = out ? mipmap_find(handle, &m) : CUDA_ERROR_INVALID_VALUE;

	if (r)
		return r;
	if (level < m->levels)
		*out = (CUarray)(uintptr_t)m->level[level];
	else
		r = CUDA_ERROR_INVALID_VALUE;
	object_put(m);
	return r;
}

CUresult soft_cuMipmappedArrayDestroy(CUmipmappedArray handle)
{
	struct mipmap *m;
	CUresult r = mipmap_find(handle, &m);

	if (r)
		return r;
	context_wait(m->object.ctx);
	if (object_close(m))
		mipmap_close_levels(m);
	else
		r = CUDA_ERROR_INVALID_HANDLE;
	object_put(m);
	return r;
}

static CUresult mipmap_check_no_property(CUmipmappedArray handle, const void *out)
{
	struct mipmap *m;
	CUresult r = out ? mipmap_find(handle, &m) : CUDA_ERROR_INVALID_VALUE;

	if (r)
		return r;
	object_put(m);
	return CUDA_ERROR_INVALID_VALUE;
}

CUresult soft_cuMipmappedArrayGetSparseProperties(CUDA_ARRAY_SPARSE_PROPERTIES *properties, CUmipmappedArray handle)
{
	return mipmap_check_no_property(handle, properties);
}

CUresult soft_cuMipmappedArrayGetMemoryRequirements(
	CUDA_ARRAY_MEMORY_REQUIREMENTS *requirements, CUmipmappedArray handle, CUdevice dev)
{
	(void)dev;
	return mipmap_check_no_property(handle, requirements);
}
