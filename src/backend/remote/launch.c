/* Launches: parameters are packed as the kernel will see them, and posted. */
#include <stdlib.h>
#include "backend/remote/remote.h"

struct shape {
	unsigned grid[3], block[3], shared;
	bool cooperative;
	const CUlaunchAttribute *attributes;
	unsigned nattributes;
};

/* Wrong geometry is told at once, as CUDA does; the server would find it too late. */
static bool fits(const struct context *c, const struct function *f, const struct shape *s)
{
	const struct wire_device *d = device_find(c->device);
	const int *a = d->attribute;
	uint64_t threads = (uint64_t)s->block[0] * s->block[1] * s->block[2];
	int most = f->info.known[CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK]
			   ? f->info.attribute[CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK]
			   : a[CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK];

	for (int i = 0; i < 3; i++)
		if (!s->grid[i] || !s->block[i] || s->grid[i] > (unsigned)a[CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X + i] ||
			s->block[i] > (unsigned)a[CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X + i])
			return false;
	return threads <= (uint64_t)most &&
	       s->shared <= (unsigned)a[CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN];
}

/* kernelParams, or the buffer in extra; into `to`, which has room for f->info.bytes. */
static bool pack(const struct function *f, void **params, void **extra, uint8_t *to, uint32_t *size)
{
	const void *buffer = NULL;
	size_t n = 0;

	if (params || !extra) {
		for (unsigned i = 0; i < f->info.params; i++) {
			if (!params || !params[i])
				return false;
			memcpy(to + f->info.param[i].offset, params[i], f->info.param[i].size);
		}
		*size = f->info.bytes;
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
	if (n > f->info.bytes)
		n = f->info.bytes;
	if (n && !buffer)
		return false;
	memcpy(to, buffer, n);
	*size = n;
	return true;
}

static CUresult launch(CUfunction func, const struct shape *shape, CUstream handle, void **params, void **extra)
{
	CUresult r;
	struct stream *s = stream_find(handle, &r);
	struct function *f = s ? function_find(func, &r) : NULL;
	struct lane *lane = call_lane();
	struct wire_launch *a;
	uint8_t *to;

	if (!f)
		return r;
	if (!fits(s->ctx, f, shape) || f->info.params > WIRE_PARAMS)
		return CUDA_ERROR_INVALID_VALUE;
	r = call_late();
	if (r)
		return r;
	size_t attributes = wire_pad(shape->nattributes * sizeof *shape->attributes);
	size_t room = wire_pad(sizeof *a) + attributes + wire_pad(f->info.bytes);
	a = call_reserve(lane, room);
	if (!a)
		return call_lost();
	*a = (struct wire_launch){
		.function = f->id,
		.stream = s->id,
		.grid = {shape->grid[0], shape->grid[1], shape->grid[2]},
		.block = {shape->block[0], shape->block[1], shape->block[2]},
		.shared = shape->shared,
		.cooperative = shape->cooperative,
		.attributes = shape->nattributes,
	};
	to = (uint8_t *)a + wire_pad(sizeof *a);
	memcpy(to, shape->attributes, shape->nattributes * sizeof *shape->attributes);
	if (!pack(f, params, extra, to + attributes, &a->params))
		return CUDA_ERROR_INVALID_VALUE;
	stream_posted(s);
	return call_send(lane, WIRE_LAUNCH, room, NULL, 0);
}

CUresult remote_cuLaunchKernel(CUfunction f, unsigned int gx, unsigned int gy, unsigned int gz, unsigned int bx,
	unsigned int by, unsigned int bz, unsigned int shared, CUstream stream, void **params, void **extra)
{
	struct shape s = {.grid = {gx, gy, gz}, .block = {bx, by, bz}, .shared = shared};

	return launch(f, &s, stream, params, extra);
}

CUresult remote_cuLaunchCooperativeKernel(CUfunction f, unsigned int gx, unsigned int gy, unsigned int gz,
	unsigned int bx, unsigned int by, unsigned int bz, unsigned int shared, CUstream stream, void **params)
{
	struct shape s = {.grid = {gx, gy, gz}, .block = {bx, by, bz}, .shared = shared, .cooperative = true};

	return launch(f, &s, stream, params, NULL);
}

CUresult remote_cuLaunchKernelEx(const CUlaunchConfig *c, CUfunction f, void **params, void **extra)
{
	if (!c || (c->numAttrs && !c->attrs))
		return CUDA_ERROR_INVALID_VALUE;
	struct shape s = {
		.grid = {c->gridDimX, c->gridDimY, c->gridDimZ},
		.block = {c->blockDimX, c->blockDimY, c->blockDimZ},
		.shared = c->sharedMemBytes,
		.attributes = c->attrs,
		.nattributes = c->numAttrs,
	};
	return launch(f, &s, c->hStream, params, extra);
}
