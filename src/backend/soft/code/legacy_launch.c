/* The legacy launch calls, which set shape and parameters on the function before cuLaunchGrid. */
#include "backend/soft/code/launch.h"

#include <stdlib.h>
#include <string.h>

/* Resolves the function, creates its legacy launch if missing, and returns with the function's lock held. */
static CUresult legacy_enter_locked(CUfunction handle, struct function **f)
{
	CUresult r = function_enter(handle, f);

	if (r)
		return r;
	pthread_mutex_lock(&(*f)->lock);
	if (!(*f)->legacy)
		(*f)->legacy = calloc(1, sizeof *(*f)->legacy);
	if ((*f)->legacy)
		return CUDA_SUCCESS;
	pthread_mutex_unlock(&(*f)->lock);
	object_put(*f);
	return CUDA_ERROR_OUT_OF_MEMORY;
}

static CUresult legacy_leave_unlock(struct function *f, CUresult r)
{
	pthread_mutex_unlock(&f->lock);
	object_put(f);
	return r;
}

CUresult soft_cuFuncSetBlockShape(CUfunction handle, int x, int y, int z)
{
	struct function *f;

	if (x <= 0 || y <= 0 || z <= 0)
		return CUDA_ERROR_INVALID_VALUE;
	CUresult r = legacy_enter_locked(handle, &f);
	if (r)
		return r;
	f->legacy->block[0] = x;
	f->legacy->block[1] = y;
	f->legacy->block[2] = z;
	return legacy_leave_unlock(f, CUDA_SUCCESS);
}

CUresult soft_cuFuncSetSharedSize(CUfunction handle, unsigned int bytes)
{
	struct function *f;
	CUresult r = legacy_enter_locked(handle, &f);

	if (r)
		return r;
	f->legacy->shared = bytes;
	return legacy_leave_unlock(f, CUDA_SUCCESS);
}

CUresult soft_cuParamSetSize(CUfunction handle, unsigned int size)
{
	struct function *f;
	CUresult r = legacy_enter_locked(handle, &f);

	if (r)
		return r;
	if (size > sizeof f->legacy->params)
		return legacy_leave_unlock(f, CUDA_ERROR_INVALID_VALUE);
	f->legacy->params_size = size;
	return legacy_leave_unlock(f, CUDA_SUCCESS);
}

CUresult soft_cuParamSetv(CUfunction handle, int offset, void *ptr, unsigned int size)
{
	struct function *f;
	CUresult r = legacy_enter_locked(handle, &f);

	if (r)
		return r;
	if (!ptr || offset < 0 || (uint64_t)offset + size > sizeof f->legacy->params)
		return legacy_leave_unlock(f, CUDA_ERROR_INVALID_VALUE);
	memcpy(f->legacy->params + offset, ptr, size);
	return legacy_leave_unlock(f, CUDA_SUCCESS);
}

CUresult soft_cuParamSeti(CUfunction handle, int offset, unsigned int value)
{
	return soft_cuParamSetv(handle, offset, &value, sizeof value);
}

CUresult soft_cuParamSetf(CUfunction handle, int offset, float value)
{
	return soft_cuParamSetv(handle, offset, &value, sizeof value);
}

CUresult soft_cuLaunchGridAsync(CUfunction handle, int width, int height, CUstream stream)
{
	struct function *f;
	struct legacy_launch setup;
	CUresult r = width > 0 && height > 0 ? legacy_enter_locked(handle, &f) : CUDA_ERROR_INVALID_VALUE;

	if (r)
		return r;
	setup = *f->legacy;
	legacy_leave_unlock(f, CUDA_SUCCESS);
	size_t size = setup.params_size;
	void *extra[] = {
		CU_LAUNCH_PARAM_BUFFER_POINTER, setup.params, CU_LAUNCH_PARAM_BUFFER_SIZE, &size, CU_LAUNCH_PARAM_END};
	struct kernel_launch l = {.grid = {width, height, 1},
		.block = {setup.block[0], setup.block[1], setup.block[2]},
		.shared = setup.shared};
	return launch_kernel(handle, stream, &l, NULL, extra);
}

CUresult soft_cuLaunchGrid(CUfunction f, int width, int height)
{
	return soft_cuLaunchGridAsync(f, width, height, NULL);
}

CUresult soft_cuLaunch(CUfunction f)
{
	return soft_cuLaunchGridAsync(f, 1, 1, NULL);
}
