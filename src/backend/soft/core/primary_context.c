/*
 * Primary contexts: one per device.  The handle exists before the context is retained, and never changes.
 */
#include "backend/soft/core/soft.h"

static CUresult primary_enter(CUdevice dev, struct device **d)
{
	if (!atomic_load(&soft.ready))
		return CUDA_ERROR_NOT_INITIALIZED;
	*d = device_find(dev);
	return *d ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
}

CUresult soft_primary_handle(CUcontext *ctx, CUdevice dev)
{
	struct device *d;
	CUresult r = primary_enter(dev, &d);

	if (!r)
		*ctx = object_handle(CUcontext, d->primary);
	return r;
}

CUresult soft_cuDevicePrimaryCtxRetain(CUcontext *pctx, CUdevice dev)
{
	struct device *d;
	CUresult r = primary_enter(dev, &d);

	if (r)
		return r;
	if (!pctx)
		return CUDA_ERROR_INVALID_VALUE;
	pthread_mutex_lock(&d->primary_lock);
	if (!d->primary->retained)
		r = context_activate(d->primary);
	if (!r)
		d->primary->retained++;
	pthread_mutex_unlock(&d->primary_lock);
	if (!r)
		*pctx = object_handle(CUcontext, d->primary);
	return r;
}

CUresult soft_cuDevicePrimaryCtxRelease_v2(CUdevice dev)
{
	struct device *d;
	CUresult r = primary_enter(dev, &d);

	if (r)
		return r;
	pthread_mutex_lock(&d->primary_lock);
	if (!d->primary->retained)
		r = CUDA_ERROR_INVALID_CONTEXT;
	else if (--d->primary->retained == 0)
		context_end(d->primary);
	pthread_mutex_unlock(&d->primary_lock);
	return r;
}

CUresult soft_cuDevicePrimaryCtxReset_v2(CUdevice dev)
{
	struct device *d;
	CUresult r = primary_enter(dev, &d);

	if (r)
		return r;
	pthread_mutex_lock(&d->primary_lock);
	d->primary->retained = 0;
	context_end(d->primary);
	pthread_mutex_unlock(&d->primary_lock);
	return CUDA_SUCCESS;
}

CUresult soft_cuDevicePrimaryCtxSetFlags_v2(CUdevice dev, unsigned int flags)
{
	struct device *d;
	CUresult r = primary_enter(dev, &d);

	if (r)
		return r;
	if (!context_flags_ok(flags))
		return CUDA_ERROR_INVALID_VALUE;
	atomic_store(&d->primary->flags, flags);
	return CUDA_SUCCESS;
}

CUresult soft_cuDevicePrimaryCtxGetState(CUdevice dev, unsigned int *flags, int *active)
{
	struct device *d;
	CUresult r = primary_enter(dev, &d);

	if (r)
		return r;
	if (!flags || !active)
		return CUDA_ERROR_INVALID_VALUE;
	*flags = atomic_load(&d->primary->flags);
	*active = atomic_load(&d->primary->active);
	return CUDA_SUCCESS;
}
