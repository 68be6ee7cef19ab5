/* Creates the textures and surfaces of a spec file through the CUDA driver API. */
#include "run_image.h"
#include "abi/cuda.h"
#include <dlfcn.h>

static void *lib;
#define CALL(fn, type, ...) ((CUresult(*) type)dlsym(lib, fn))(__VA_ARGS__)

static CUarray level_of(const struct cuda_image *c, unsigned level)
{
	CUarray a = (CUarray)c->array;

	if (c->mip && CALL("cuMipmappedArrayGetLevel", (CUarray *, CUmipmappedArray, unsigned), &a,
			      (CUmipmappedArray)c->array, level))
		return NULL;
	return a;
}

static bool copy(const struct argument *a, const struct cuda_image *c, bool to)
{
	for (unsigned l = 0; l < a->image.levels; l++) {
		struct extent e = image_level(a, l);
		CUDA_MEMCPY3D m = {.WidthInBytes = e.pitch, .Height = e.height, .Depth = e.slices};
		char *host = (char *)a->host + e.offset;

		m.srcMemoryType = to ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_ARRAY;
		m.dstMemoryType = to ? CU_MEMORYTYPE_ARRAY : CU_MEMORYTYPE_HOST;
		if (to) {
			m.srcHost = host;
			m.srcPitch = e.pitch;
			m.srcHeight = e.height;
			m.dstArray = level_of(c, l);
		} else {
			m.dstHost = host;
			m.dstPitch = e.pitch;
			m.dstHeight = e.height;
			m.srcArray = level_of(c, l);
		}
		if (CALL("cuMemcpy3D_v2", (void *), &m))
			return false;
	}
	return true;
}

static bool copy_memory(const struct argument *a, const struct cuda_image *c, bool to)
{
	return to ? !CALL("cuMemcpyHtoD_v2", (CUdeviceptr, const void *, size_t), c->memory, a->host, a->bytes)
		  : !CALL("cuMemcpyDtoH_v2", (void *, CUdeviceptr, size_t), a->host, c->memory, a->bytes);
}

static bool make_object(const struct argument *a, struct cuda_image *c)
{
	const struct image *i = &a->image;
	CUDA_RESOURCE_DESC r = {0};
	CUDA_TEXTURE_DESC d = {.filterMode = i->linear, .mipmapFilterMode = 0, .maxMipmapLevelClamp = 99};

	if (i->memory) {
		r.resType = CU_RESOURCE_TYPE_LINEAR;
		r.res.linear.devPtr = c->memory;
		r.res.linear.format = image_format(a);
		r.res.linear.numChannels = i->channels;
		r.res.linear.sizeInBytes = a->bytes;
	} else {
		r.resType = c->mip ? CU_RESOURCE_TYPE_MIPMAPPED_ARRAY : CU_RESOURCE_TYPE_ARRAY;
		r.res.array.hArray = (CUarray)c->array;
	}
	if (i->surface)
		return !CALL("cuSurfObjectCreate", (void *, void *), &c->handle, &r);
	for (int k = 0; k < 3; k++)
		d.addressMode[k] = i->address;
	d.flags = (i->normalized ? 2u : 0) | (i->as_float || a->v.type[0] == 'f' ? 0 : 1u);
	return !CALL("cuTexObjectCreate", (void *, void *, void *, void *), &c->handle, &r, &d, NULL);
}

static bool make_array(const struct argument *a, struct cuda_image *c)
{
	const struct image *i = &a->image;
	CUDA_ARRAY3D_DESCRIPTOR d = {
		i->width, i->height, i->layers ? i->layers : i->depth, image_format(a), i->channels, 0};

	d.Flags = (i->cube            ? CUDA_ARRAY3D_CUBEMAP
			  : i->layers ? CUDA_ARRAY3D_LAYERED
				      : 0u) |
		  (i->surface ? CUDA_ARRAY3D_SURFACE_LDST : 0u) | (i->gather ? CUDA_ARRAY3D_TEXTURE_GATHER : 0u);
	c->mip = i->levels > 1;
	if (c->mip ? CALL("cuMipmappedArrayCreate", (void *, void *, unsigned), &c->array, &d, i->levels)
		   : CALL("cuArray3DCreate_v2", (void *, void *), &c->array, &d)) {
		c->array = NULL;
		return false;
	}
	return copy(a, c, true);
}

static bool make_memory(const struct argument *a, struct cuda_image *c)
{
	if (CALL("cuMemAlloc_v2", (CUdeviceptr *, size_t), &c->memory, a->bytes)) {
		c->memory = 0;
		return false;
	}
	return copy_memory(a, c, true);
}

bool cuda_image_make(const struct argument *a, struct cuda_image *c)
{
	lib = lib ? lib : dlopen("libcuda.so.1", RTLD_NOW);
	return (a->image.memory ? make_memory(a, c) : make_array(a, c)) && make_object(a, c);
}

bool cuda_image_read(const struct argument *a, const struct cuda_image *c)
{
	return a->image.memory ? copy_memory(a, c, false) : copy(a, c, false);
}

void cuda_image_free(const struct argument *a, struct cuda_image *c)
{
	if (!c->array && !c->memory)
		return;
	if (c->handle)
		CALL(a->image.surface ? "cuSurfObjectDestroy" : "cuTexObjectDestroy", (unsigned long long), c->handle);
	if (c->memory)
		CALL("cuMemFree_v2", (CUdeviceptr), c->memory);
	else
		CALL(c->mip ? "cuMipmappedArrayDestroy" : "cuArrayDestroy", (void *), c->array);
	*c = (struct cuda_image){0};
}
