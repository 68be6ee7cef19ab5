/* Kernel launches: the geometry is checked, the parameters are packed as the kernel sees them, and the launch is posted. */
#include <stdlib.h>
#include "backend/remote/code/code.h"
#include "backend/remote/wait/wait.h"
#include "backend/remote/hostmem/mirror.h"

struct launch_shape {
	unsigned grid[3], block[3], shared;
	bool cooperative; /* by cuLaunchCooperativeKernel, not by an attribute */
	bool resident;    /* cooperative either way: all blocks must be resident at once */
	const CUlaunchAttribute *attributes;
	unsigned nattributes;
};

/* Whether the grid consists of whole clusters; any: the device supports clusters of more than one block. */
static bool launch_clusters_fit(const struct launch_shape *s, bool any)
{
	for (unsigned i = 0; i < s->nattributes; i++) {
		const CUlaunchAttributeValue *v = &s->attributes[i].value;
		if (s->attributes[i].id != CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION)
			continue;
		if (!v->clusterDim.x || !v->clusterDim.y || !v->clusterDim.z || s->grid[0] % v->clusterDim.x ||
			s->grid[1] % v->clusterDim.y || s->grid[2] % v->clusterDim.z)
			return false;
		if (!any && v->clusterDim.x * v->clusterDim.y * v->clusterDim.z > 1)
			return false;
	}
	return true;
}

/* Clusters of more than 8 blocks depend on the device, so the server is asked: CUDA reports that error at once. */
static bool launch_has_large_cluster(const struct launch_shape *s)
{
	for (unsigned i = 0; i < s->nattributes; i++) {
		const CUlaunchAttributeValue *v = &s->attributes[i].value;

		if (s->attributes[i].id == CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION &&
			(uint64_t)v->clusterDim.x * v->clusterDim.y * v->clusterDim.z > 8)
			return true;
	}
	return false;
}

/* CUDA reports invalid geometry at once; the server's error would come later, as an async error. */
static bool launch_shape_valid(const struct context *c, const struct function_info *f, const struct launch_shape *s)
{
	const int *a = device_find(c->device)->attribute;
	const struct wire_function *h = &f->head;
	uint64_t threads = (uint64_t)s->block[0] * s->block[1] * s->block[2];
	int max_threads = h->known[CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK]
				  ? h->attribute[CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK]
				  : a[CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK];
	int shared = h->known[CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES]
			     ? h->attribute[CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES]
			     : a[CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN];

	for (int i = 0; i < 3; i++)
		if (!s->grid[i] || !s->block[i] || s->grid[i] > (unsigned)a[CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X + i] ||
			s->block[i] > (unsigned)a[CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X + i])
			return false;
	return threads <= (uint64_t)max_threads && s->shared <= (unsigned)shared &&
	       (!s->nattributes || launch_clusters_fit(s, a[CU_DEVICE_ATTRIBUTE_CLUSTER_LAUNCH]));
}

/* The blocks of a cooperative grid wait for each other, so that all of them must be resident. */
static bool launch_fits_device(const struct context *c, CUfunction f, const struct launch_shape *s)
{
	int sms = device_find(c->device)->attribute[CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT], each;
	uint64_t blocks = (uint64_t)s->grid[0] * s->grid[1] * s->grid[2];

	if (remote_cuOccupancyMaxActiveBlocksPerMultiprocessor(
		    &each, f, s->block[0] * s->block[1] * s->block[2], s->shared))
		return true; /* the server reports it */
	return blocks <= (uint64_t)each * sms;
}

bool launch_pack(const struct function_info *f, void **params, void **extra, uint8_t *to, uint32_t *size)
{
	const void *buffer = NULL;
	size_t n = 0;

	if (params || !extra) {
		for (unsigned i = 0; i < f->head.params; i++) {
			if (!params || !params[i])
				return false;
			memcpy(to + f->param[i].offset, params[i], f->param[i].size);
		}
		*size = f->head.bytes;
		return true;
	}
	for (int i = 0; extra[i] != CU_LAUNCH_PARAM_END && i < 8; i += 2) {
		if (extra[i] == CU_LAUNCH_PARAM_BUFFER_POINTER)
			buffer = extra[i + 1];
		else if (extra[i] == CU_LAUNCH_PARAM_BUFFER_SIZE)
			n = *(size_t *)extra[i + 1];
		else
			return false;
	}
	if (n > f->head.bytes)
		n = f->head.bytes;
	if (n && !buffer)
		return false;
	if (n)
		memcpy(to, buffer, n);
	*size = n;
	return true;
}

static CUresult launch_post(
	CUfunction func, const struct launch_shape *shape, CUstream handle, void **params, void **extra)
{
	CUresult r;
	struct stream *s = stream_find(handle, &r);
	struct function *f = s ? function_find(func, &r) : NULL;
	struct lane *lane = call_lane();
	struct wire_launch *a;
	const struct function_info *i;
	uint8_t *to;

	if (!f)
		return r;
	i = f->info;
	if (!function_fits(f, s->ctx))
		return CUDA_ERROR_INVALID_HANDLE;
	if (!launch_shape_valid(s->ctx, i, shape))
		return CUDA_ERROR_INVALID_VALUE;
	if (shape->resident && !launch_fits_device(s->ctx, func, shape))
		return CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE;
	r = async_error_take();
	if (r)
		return r;
	mirror_before_work(true);
	size_t attributes = wire_pad(shape->nattributes * sizeof *shape->attributes);
	size_t room = wire_pad(sizeof *a) + attributes + wire_pad(i->head.bytes);
	a = call_reserve(lane, room);
	if (!a)
		return client_lost();
	*a = (struct wire_launch){
		.function = f->id,
		.stream = s->id,
		.grid = {shape->grid[0], shape->grid[1], shape->grid[2]},
		.block = {shape->block[0], shape->block[1], shape->block[2]},
		.shared = shape->shared,
		.cooperative = shape->cooperative,
		.attributes = shape->nattributes,
		.prints = !f->silent,
	};
	to = (uint8_t *)a + wire_pad(sizeof *a);
	if (shape->nattributes)
		memcpy(to, shape->attributes, shape->nattributes * sizeof *shape->attributes);
	if (!launch_pack(i, params, extra, to + attributes, &a->params))
		return CUDA_ERROR_INVALID_VALUE;
	r = call_send(lane, WIRE_LAUNCH, room, NULL, 0);
	stream_note_posted(s);
	return r || !launch_has_large_cluster(shape) ? r : call_flush();
}

CUresult remote_cuLaunchKernel(CUfunction f, unsigned int gx, unsigned int gy, unsigned int gz, unsigned int bx,
	unsigned int by, unsigned int bz, unsigned int shared, CUstream stream, void **params, void **extra)
{
	struct launch_shape s = {.grid = {gx, gy, gz}, .block = {bx, by, bz}, .shared = shared};

	return launch_post(f, &s, stream, params, extra);
}

CUresult remote_cuLaunchCooperativeKernel(CUfunction f, unsigned int gx, unsigned int gy, unsigned int gz,
	unsigned int bx, unsigned int by, unsigned int bz, unsigned int shared, CUstream stream, void **params)
{
	struct launch_shape s = {
		.grid = {gx, gy, gz}, .block = {bx, by, bz}, .shared = shared, .cooperative = true, .resident = true};

	return launch_post(f, &s, stream, params, NULL);
}

/* Checks the attributes.  Events recorded by a launch are known to the server only. */
static CUresult launch_check_attributes(const CUlaunchConfig *c, bool *cooperative)
{
	for (unsigned i = 0; i < c->numAttrs; i++) {
		const CUlaunchAttribute *a = &c->attrs[i];
		if (a->id == CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_EVENT)
			event_set_foreign(a->value.programmaticEvent.event);
		else if (a->id == CU_LAUNCH_ATTRIBUTE_LAUNCH_COMPLETION_EVENT)
			event_set_foreign(a->value.launchCompletionEvent.event);
		else if (a->id == CU_LAUNCH_ATTRIBUTE_DEVICE_UPDATABLE_KERNEL_NODE &&
			 a->value.deviceUpdatableKernelNode.deviceUpdatable)
			return CUDA_ERROR_NOT_SUPPORTED;
		else if (a->id == CU_LAUNCH_ATTRIBUTE_COOPERATIVE)
			*cooperative = a->value.cooperative != 0;
	}
	return CUDA_SUCCESS;
}

CUresult remote_cuLaunchKernelEx(const CUlaunchConfig *c, CUfunction f, void **params, void **extra)
{
	bool cooperative = false;
	CUresult r;

	if (!c || (c->numAttrs && !c->attrs) || c->numAttrs > 32)
		return CUDA_ERROR_INVALID_VALUE;
	r = c->numAttrs ? launch_check_attributes(c, &cooperative) : CUDA_SUCCESS;
	if (r)
		return r;
	struct launch_shape s = {
		.grid = {c->gridDimX, c->gridDimY, c->gridDimZ},
		.block = {c->blockDimX, c->blockDimY, c->blockDimZ},
		.shared = c->sharedMemBytes,
		.resident = cooperative,
		.attributes = c->attrs,
		.nattributes = c->numAttrs,
	};
	return launch_post(f, &s, c->hStream, params, extra);
}
