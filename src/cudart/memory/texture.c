/* Texture and surface objects. */
#include <string.h>

#include "cudart/runtime.h"

static cudaError_t resource_to_driver(const cudaResourceDesc *from, CUDA_RESOURCE_DESC *to)
{
	memset(to, 0, sizeof *to);
	to->resType = from->resType;
	switch (from->resType) {
	case CU_RESOURCE_TYPE_ARRAY:
		to->res.array.hArray = from->res.array.array;
		return cudaSuccess;
	case CU_RESOURCE_TYPE_MIPMAPPED_ARRAY:
		to->res.mipmap.hMipmappedArray = from->res.mipmap.mipmap;
		return cudaSuccess;
	case CU_RESOURCE_TYPE_LINEAR:
		to->res.linear.devPtr = (CUdeviceptr)from->res.linear.devPtr;
		to->res.linear.sizeInBytes = from->res.linear.sizeInBytes;
		return format_to_driver(&from->res.linear.desc, &to->res.linear.format, &to->res.linear.numChannels);
	case CU_RESOURCE_TYPE_PITCH2D:
		to->res.pitch2D.devPtr = (CUdeviceptr)from->res.pitch2D.devPtr;
		to->res.pitch2D.width = from->res.pitch2D.width;
		to->res.pitch2D.height = from->res.pitch2D.height;
		to->res.pitch2D.pitchInBytes = from->res.pitch2D.pitchInBytes;
		return format_to_driver(&from->res.pitch2D.desc, &to->res.pitch2D.format, &to->res.pitch2D.numChannels);
	default:
		return cudaErrorInvalidValue;
	}
}

static void resource_from_driver(const CUDA_RESOURCE_DESC *from, cudaResourceDesc *to)
{
	memset(to, 0, sizeof *to);
	to->resType = from->resType;
	switch (from->resType) {
	case CU_RESOURCE_TYPE_ARRAY:
		to->res.array.array = from->res.array.hArray;
		break;
	case CU_RESOURCE_TYPE_MIPMAPPED_ARRAY:
		to->res.mipmap.mipmap = from->res.mipmap.hMipmappedArray;
		break;
	case CU_RESOURCE_TYPE_LINEAR:
		to->res.linear.devPtr = (void *)from->res.linear.devPtr;
		to->res.linear.sizeInBytes = from->res.linear.sizeInBytes;
		format_from_driver(from->res.linear.format, from->res.linear.numChannels, &to->res.linear.desc);
		break;
	case CU_RESOURCE_TYPE_PITCH2D:
		to->res.pitch2D.devPtr = (void *)from->res.pitch2D.devPtr;
		to->res.pitch2D.width = from->res.pitch2D.width;
		to->res.pitch2D.height = from->res.pitch2D.height;
		to->res.pitch2D.pitchInBytes = from->res.pitch2D.pitchInBytes;
		format_from_driver(from->res.pitch2D.format, from->res.pitch2D.numChannels, &to->res.pitch2D.desc);
		break;
	default:
		break;
	}
}

static void texture_to_driver(const cudaTextureDesc *from, CUDA_TEXTURE_DESC *to)
{
	memset(to, 0, sizeof *to);
	memcpy(to->addressMode, from->addressMode, sizeof to->addressMode);
	memcpy(to->borderColor, from->borderColor, sizeof to->borderColor);
	to->filterMode = from->filterMode;
	to->flags = (from->readMode == cudaReadModeElementType ? CU_TRSF_READ_AS_INTEGER : 0) |
		    (from->normalizedCoords ? CU_TRSF_NORMALIZED_COORDINATES : 0) | (from->sRGB ? CU_TRSF_SRGB : 0) |
		    (from->disableTrilinearOptimization ? CU_TRSF_DISABLE_TRILINEAR_OPTIMIZATION : 0) |
		    (from->seamlessCubemap ? CU_TRSF_SEAMLESS_CUBEMAP : 0);
	to->maxAnisotropy = from->maxAnisotropy;
	to->mipmapFilterMode = from->mipmapFilterMode;
	to->mipmapLevelBias = from->mipmapLevelBias;
	to->minMipmapLevelClamp = from->minMipmapLevelClamp;
	to->maxMipmapLevelClamp = from->maxMipmapLevelClamp;
}

static void texture_from_driver(const CUDA_TEXTURE_DESC *from, cudaTextureDesc *to)
{
	memset(to, 0, sizeof *to);
	memcpy(to->addressMode, from->addressMode, sizeof to->addressMode);
	memcpy(to->borderColor, from->borderColor, sizeof to->borderColor);
	to->filterMode = from->filterMode;
	to->readMode = from->flags & CU_TRSF_READ_AS_INTEGER ? cudaReadModeElementType : cudaReadModeNormalizedFloat;
	to->normalizedCoords = !!(from->flags & CU_TRSF_NORMALIZED_COORDINATES);
	to->sRGB = !!(from->flags & CU_TRSF_SRGB);
	to->disableTrilinearOptimization = !!(from->flags & CU_TRSF_DISABLE_TRILINEAR_OPTIMIZATION);
	to->seamlessCubemap = !!(from->flags & CU_TRSF_SEAMLESS_CUBEMAP);
	to->maxAnisotropy = from->maxAnisotropy;
	to->mipmapFilterMode = from->mipmapFilterMode;
	to->mipmapLevelBias = from->mipmapLevelBias;
	to->minMipmapLevelClamp = from->minMipmapLevelClamp;
	to->maxMipmapLevelClamp = from->maxMipmapLevelClamp;
}

static void view_to_driver(const cudaResourceViewDesc *from, CUDA_RESOURCE_VIEW_DESC *to)
{
	*to = (CUDA_RESOURCE_VIEW_DESC){.format = from->format,
		.width = from->width,
		.height = from->height,
		.depth = from->depth,
		.firstMipmapLevel = from->firstMipmapLevel,
		.lastMipmapLevel = from->lastMipmapLevel,
		.firstLayer = from->firstLayer,
		.lastLayer = from->lastLayer};
}

static void view_from_driver(const CUDA_RESOURCE_VIEW_DESC *from, cudaResourceViewDesc *to)
{
	*to = (cudaResourceViewDesc){.format = from->format,
		.width = from->width,
		.height = from->height,
		.depth = from->depth,
		.firstMipmapLevel = from->firstMipmapLevel,
		.lastMipmapLevel = from->lastMipmapLevel,
		.firstLayer = from->firstLayer,
		.lastLayer = from->lastLayer};
}

static CUresult resource_format(const CUDA_RESOURCE_DESC *r, CUarray_format *format)
{
	CUDA_ARRAY3D_DESCRIPTOR d;
	CUarray array = r->res.array.hArray;
	CUresult e = CUDA_SUCCESS;

	if (r->resType == CU_RESOURCE_TYPE_LINEAR || r->resType == CU_RESOURCE_TYPE_PITCH2D) {
		*format = r->resType == CU_RESOURCE_TYPE_LINEAR ? r->res.linear.format : r->res.pitch2D.format;
		return CUDA_SUCCESS;
	}
	if (r->resType == CU_RESOURCE_TYPE_MIPMAPPED_ARRAY)
		e = cuMipmappedArrayGetLevel(&array, r->res.mipmap.hMipmappedArray, 0);
	if (!e)
		e = cuArray3DGetDescriptor_v2(&d, array);
	if (!e)
		*format = d.Format;
	return e;
}

/*
 * Only integers of 8 and 16 bits can be read as fractions, and normalized formats as nothing else. Integers that are read
 * as such cannot be filtered.
 */
static cudaError_t texture_check(const CUDA_RESOURCE_DESC *r, const cudaTextureDesc *t)
{
	CUarray_format format = CU_AD_FORMAT_MAX;
	CUresult e = resource_format(r, &format);
	bool wide = format == CU_AD_FORMAT_UNSIGNED_INT32 || format == CU_AD_FORMAT_SIGNED_INT32;
	bool integer = format <= CU_AD_FORMAT_SIGNED_INT32;
	bool fraction = format >= CU_AD_FORMAT_UNORM_INT8X1 && format <= CU_AD_FORMAT_SNORM_INT16X4;

	if (e)
		return from_driver(e);
	if (t->filterMode == CU_TR_FILTER_MODE_LINEAR && integer && (wide || t->readMode == cudaReadModeElementType))
		return cudaErrorInvalidFilterSetting;
	if (fraction ? t->readMode == cudaReadModeElementType
		     : t->readMode == cudaReadModeNormalizedFloat && (wide || !integer))
		return cudaErrorInvalidNormSetting;
	return cudaSuccess;
}

cudaError_t rt_cudaCreateTextureObject(cudaTextureObject_t *pTexObject, const cudaResourceDesc *pResDesc,
	const cudaTextureDesc *pTexDesc, const cudaResourceViewDesc *pResViewDesc)
{
	CUDA_RESOURCE_VIEW_DESC view;
	CUDA_RESOURCE_DESC resource;
	CUDA_TEXTURE_DESC texture;
	cudaError_t e;

	if (!pTexObject || !pResDesc)
		return cudaErrorInvalidValue;
	if (!pTexDesc)
		return cudaErrorInvalidResourceHandle;
	e = resource_to_driver(pResDesc, &resource);
	if (!e)
		e = texture_check(&resource, pTexDesc);
	if (e)
		return e;
	texture_to_driver(pTexDesc, &texture);
	if (pResViewDesc)
		view_to_driver(pResViewDesc, &view);
	return from_driver(cuTexObjectCreate(pTexObject, &resource, &texture, pResViewDesc ? &view : NULL));
}

cudaError_t rt_cudaGetTextureObjectResourceDesc(cudaResourceDesc *pResDesc, cudaTextureObject_t texObject)
{
	CUDA_RESOURCE_DESC d;
	CUresult r;

	if (!pResDesc)
		return cudaErrorInvalidValue;
	r = cuTexObjectGetResourceDesc(&d, texObject);
	if (!r)
		resource_from_driver(&d, pResDesc);
	return from_driver(r);
}

cudaError_t rt_cudaGetTextureObjectTextureDesc(cudaTextureDesc *pTexDesc, cudaTextureObject_t texObject)
{
	CUDA_TEXTURE_DESC d;
	CUresult r;

	if (!pTexDesc)
		return cudaErrorInvalidValue;
	r = cuTexObjectGetTextureDesc(&d, texObject);
	if (!r)
		texture_from_driver(&d, pTexDesc);
	return from_driver(r);
}

cudaError_t rt_cudaGetTextureObjectResourceViewDesc(cudaResourceViewDesc *pResViewDesc, cudaTextureObject_t texObject)
{
	CUDA_RESOURCE_VIEW_DESC d;
	CUresult r;

	if (!pResViewDesc)
		return cudaErrorInvalidValue;
	r = cuTexObjectGetResourceViewDesc(&d, texObject);
	if (!r)
		view_from_driver(&d, pResViewDesc);
	return from_driver(r);
}

cudaError_t rt_cudaCreateSurfaceObject(cudaSurfaceObject_t *pSurfObject, const cudaResourceDesc *pResDesc)
{
	CUDA_RESOURCE_DESC resource;
	cudaError_t e;

	if (!pSurfObject || !pResDesc)
		return cudaErrorInvalidValue;
	e = resource_to_driver(pResDesc, &resource);
	return e ? e : from_driver(cuSurfObjectCreate(pSurfObject, &resource));
}

cudaError_t rt_cudaGetSurfaceObjectResourceDesc(cudaResourceDesc *pResDesc, cudaSurfaceObject_t surfObject)
{
	CUDA_RESOURCE_DESC d;
	CUresult r;

	if (!pResDesc)
		return cudaErrorInvalidValue;
	r = cuSurfObjectGetResourceDesc(&d, surfObject);
	if (!r)
		resource_from_driver(&d, pResDesc);
	return from_driver(r);
}
