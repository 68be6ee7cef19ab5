/* Launches of CUDA before version 4: the function keeps its block size, its shared memory and its parameters. */
#include <stdlib.h>
#include "backend/remote/code/code.h"

#define PARAMS_MAX 4096 /* bytes */

struct legacy_launch {
	pthread_mutex_t lock;
	int block[3];
	unsigned shared, size;
	uint8_t params[PARAMS_MAX];
};

static struct legacy_launch *legacy_launch_find(CUfunction handle)
{
	struct function *f = function_find_or_create((uintptr_t)handle);
	struct legacy_launch *o, *none = NULL;

	if (!f || f->legacy)
		return f ? f->legacy : NULL;
	o = calloc(1, sizeof *o);
	if (!o)
		return NULL;
	pthread_mutex_init(&o->lock, NULL);
	o->block[0] = o->block[1] = o->block[2] = 1;
	if (!atomic_compare_exchange_strong(&f->legacy, &none, o))
		free(o);
	return f->legacy;
}

CUresult remote_cuFuncSetBlockShape(CUfunction f, int x, int y, int z)
{
	struct legacy_launch *o = legacy_launch_find(f);

	if (!o)
		return CUDA_ERROR_INVALID_HANDLE;
	if (x <= 0 || y <= 0 || z <= 0)
		return CUDA_ERROR_INVALID_VALUE;
	pthread_mutex_lock(&o->lock);
	o->block[0] = x;
	o->block[1] = y;
	o->block[2] = z;
	pthread_mutex_unlock(&o->lock);
	return CUDA_SUCCESS;
}

CUresult remote_cuFuncSetSharedSize(CUfunction f, unsigned int bytes)
{
	struct legacy_launch *o = legacy_launch_find(f);

	if (!o)
		return CUDA_ERROR_INVALID_HANDLE;
	o->shared = bytes;
	return CUDA_SUCCESS;
}

CUresult remote_cuParamSetSize(CUfunction f, unsigned int bytes)
{
	struct legacy_launch *o = legacy_launch_find(f);

	if (!o)
		return CUDA_ERROR_INVALID_HANDLE;
	if (bytes > PARAMS_MAX)
		return CUDA_ERROR_INVALID_VALUE;
	o->size = bytes;
	return CUDA_SUCCESS;
}

CUresult remote_cuParamSetv(CUfunction f, int offset, void *ptr, unsigned int bytes)
{
	struct legacy_launch *o = legacy_launch_find(f);

	if (!o)
		return CUDA_ERROR_INVALID_HANDLE;
	if (!ptr || offset < 0 || offset > PARAMS_MAX || bytes > (unsigned)(PARAMS_MAX - offset))
		return CUDA_ERROR_INVALID_VALUE;
	pthread_mutex_lock(&o->lock);
	memcpy(o->params + offset, ptr, bytes);
	pthread_mutex_unlock(&o->lock);
	return CUDA_SUCCESS;
}

CUresult remote_cuParamSeti(CUfunction f, int offset, unsigned int value)
{
	return remote_cuParamSetv(f, offset, &value, sizeof value);
}

CUresult remote_cuParamSetf(CUfunction f, int offset, float value)
{
	return remote_cuParamSetv(f, offset, &value, sizeof value);
}

CUresult remote_cuLaunchGridAsync(CUfunction f, int width, int height, CUstream stream)
{
	struct legacy_launch *o = legacy_launch_find(f);
	struct legacy_launch now;
	size_t size;

	if (!o)
		return CUDA_ERROR_INVALID_HANDLE;
	if (width <= 0 || height <= 0)
		return CUDA_ERROR_INVALID_VALUE;
	pthread_mutex_lock(&o->lock);
	now = *o;
	pthread_mutex_unlock(&o->lock);
	size = now.size;
	void *extra[] = {
		CU_LAUNCH_PARAM_BUFFER_POINTER, now.params, CU_LAUNCH_PARAM_BUFFER_SIZE, &size, CU_LAUNCH_PARAM_END};
	return remote_cuLaunchKernel(
		f, width, height, 1, now.block[0], now.block[1], now.block[2], now.shared, stream, NULL, extra);
}

CUresult remote_cuLaunchGrid(CUfunction f, int width, int height)
{
	return remote_cuLaunchGridAsync(f, width, height, NULL);
}

CUresult remote_cuLaunch(CUfunction f)
{
	return remote_cuLaunchGrid(f, 1, 1);
}
