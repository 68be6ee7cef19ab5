/* Texture and surface objects.  Their handles are the driver's own numbers, because kernels use them. */
#include "backend/remote/session/remote.h"

static CUresult texture_create(unsigned long long *out, const CUDA_RESOURCE_DESC *res, const CUDA_TEXTURE_DESC *tex,
	const CUDA_RESOURCE_VIEW_DESC *view)
{
	struct wire_texture a = {.surface = !tex, .has_view = view != NULL};

	if (!out || !res)
		return CUDA_ERROR_INVALID_VALUE;
	a.resource = *res;
	if (tex)
		a.texture = *tex;
	if (view)
		a.view = *view;
	return call_sync(WIRE_TEXTURE, &a, sizeof a, NULL, 0, &(struct wire_piece){out, sizeof *out}, 1);
}

CUresult remote_cuTexObjectCreate(CUtexObject *out, const CUDA_RESOURCE_DESC *res, const CUDA_TEXTURE_DESC *tex,
	const CUDA_RESOURCE_VIEW_DESC *view)
{
	return tex ? texture_create(out, res, tex, view) : CUDA_ERROR_INVALID_VALUE;
}

CUresult remote_cuSurfObjectCreate(CUsurfObject *out, const CUDA_RESOURCE_DESC *res)
{
	return texture_create(out, res, NULL, NULL);
}

static CUresult texture_resource(CUDA_RESOURCE_DESC *out, uint64_t object, uint64_t surface)
{
	uint64_t a[2] = {object, surface};

	if (!out)
		return CUDA_ERROR_INVALID_VALUE;
	return call_sync(WIRE_RESOURCE, a, sizeof a, NULL, 0, &(struct wire_piece){out, sizeof *out}, 1);
}

CUresult remote_cuTexObjectGetResourceDesc(CUDA_RESOURCE_DESC *out, CUtexObject object)
{
	return texture_resource(out, object, false);
}

CUresult remote_cuSurfObjectGetResourceDesc(CUDA_RESOURCE_DESC *out, CUsurfObject object)
{
	return texture_resource(out, object, true);
}
