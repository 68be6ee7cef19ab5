/*
 * Initialisation, devices of threads, and primary contexts.
 *
 * The runtime retains the primary context of a device once, when a thread first needs it, and gives it up when the program
 * calls cudaDeviceReset. A thread that has a current context, its own or one of a library, keeps it. The check on each call
 * is one comparison: `checked` is the context that the thread used last, `resets` counts the resets since.
 */
#include <stdlib.h>

#include "cudart/runtime.h"

#define MAX_DEVICES 64

static struct {
	_Atomic bool started;
	_Atomic unsigned resets;
	pthread_mutex_t lock; /* protects the rest */
	struct {
		CUcontext primary; /* NULL until first retained; the handle stays the same */
		bool retained;
	} devices[MAX_DEVICES];
} runtime = {.lock = PTHREAD_MUTEX_INITIALIZER};

static _Thread_local struct {
	int device;
	bool chosen; /* by cudaSetDevice */
	CUcontext checked;
	unsigned resets;
} thread;

static cudaError_t driver_start(void)
{
	CUresult r = cuInit(0);
	int version = 0;

	if (r)
		return from_driver(r);
	if (cuDriverGetVersion(&version) || version < CUDART_MAJOR * 1000)
		return cudaErrorInsufficientDriver;
	atomic_store_explicit(&runtime.started, true, memory_order_release);
	return cudaSuccess;
}

cudaError_t runtime_start(void)
{
	if (!atomic_load_explicit(&runtime.started, memory_order_acquire)) {
		cudaError_t e = driver_start();
		if (e)
			return e;
	}
	return atomic_load_explicit(&managed_waits, memory_order_relaxed) ? managed_load() : cudaSuccess;
}

cudaError_t device_count(int *count)
{
	*count = 0;
	return from_driver(cuDeviceGetCount(count));
}

cudaError_t device_check(int device)
{
	int count;
	cudaError_t e = device_count(&count);

	return e ? e : device < 0 || device >= count ? cudaErrorInvalidDevice : cudaSuccess;
}

/* With the lock held. */
static cudaError_t primary_retain(int device)
{
	CUcontext ctx = NULL;
	CUresult r;

	if (device < 0 || device >= MAX_DEVICES)
		return cudaErrorInvalidDevice;
	if (runtime.devices[device].retained)
		return cudaSuccess;
	r = cuDevicePrimaryCtxRetain(&ctx, device);
	if (r)
		return from_driver(r);
	runtime.devices[device].primary = ctx;
	runtime.devices[device].retained = true;
	return cudaSuccess;
}

cudaError_t primary_context(int device, CUcontext *ctx)
{
	cudaError_t e;

	pthread_mutex_lock(&runtime.lock);
	e = primary_retain(device);
	if (!e)
		*ctx = runtime.devices[device].primary;
	pthread_mutex_unlock(&runtime.lock);
	return e;
}

/* With the lock held: the device whose primary context this is, or -1. */
static int primary_device(CUcontext ctx)
{
	for (int i = 0; i < MAX_DEVICES; i++)
		if (runtime.devices[i].primary == ctx)
			return i;
	return -1;
}

/*
 * With the lock held. Other code has made this context current. If it is a primary context, the runtime retains it, too, so
 * that the context outlives its other user.
 */
static bool context_adopt(CUcontext ctx)
{
	int device = primary_device(ctx), active = 0;
	unsigned flags;
	CUdevice of;

	if (device >= 0)
		return primary_retain(device) == cudaSuccess;
	if (cuCtxGetDevice(&of))
		return false;
	if (!cuDevicePrimaryCtxGetState(of, &flags, &active) && active && of >= 0 && of < MAX_DEVICES &&
		!runtime.devices[of].retained && !primary_retain(of) && runtime.devices[of].primary != ctx) {
		cuDevicePrimaryCtxRelease_v2(of);
		runtime.devices[of].retained = false;
	}
	return true;
}

static cudaError_t context_prepare(CUcontext ctx)
{
	cudaError_t e = cudaSuccess;
	unsigned resets = atomic_load(&runtime.resets);

	pthread_mutex_lock(&runtime.lock);
	if (!ctx || !context_adopt(ctx)) {
		e = primary_retain(thread.device);
		ctx = e ? NULL : runtime.devices[thread.device].primary;
	}
	pthread_mutex_unlock(&runtime.lock);
	if (!e)
		e = from_driver(cuCtxSetCurrent(ctx));
	thread.checked = e ? NULL : ctx;
	thread.resets = resets;
	return e;
}

cudaError_t context_enter(void)
{
	cudaError_t e = runtime_start();
	CUcontext ctx = NULL;
	CUresult r;

	if (e)
		return e;
	r = cuCtxGetCurrent(&ctx);
	if (r)
		return from_driver(r);
	if (ctx && ctx == thread.checked &&
		thread.resets == atomic_load_explicit(&runtime.resets, memory_order_relaxed))
		return cudaSuccess;
	return context_prepare(ctx);
}

cudaError_t device_current(int *device)
{
	CUcontext ctx = NULL;
	CUdevice of;
	CUresult r = cuCtxGetCurrent(&ctx);

	if (r)
		return from_driver(r);
	*device = thread.device;
	if (!ctx)
		return cudaSuccess;
	pthread_mutex_lock(&runtime.lock);
	int known = primary_device(ctx);
	pthread_mutex_unlock(&runtime.lock);
	if (known >= 0)
		*device = known;
	else if (!cuCtxGetDevice(&of))
		*device = of;
	return cudaSuccess;
}

/* ---- the calls ---- */

cudaError_t rt_cudaGetDevice(int *device)
{
	return device ? device_current(device) : cudaErrorInvalidValue;
}

cudaError_t rt_cudaSetDevice(int device)
{
	cudaError_t e = device_check(device);
	CUcontext ctx;

	if (e)
		return e;
	thread.device = device;
	thread.chosen = true;
	e = primary_context(device, &ctx);
	if (!e)
		e = from_driver(cuCtxSetCurrent(ctx));
	thread.checked = e ? NULL : ctx;
	thread.resets = atomic_load(&runtime.resets);
	return e;
}

cudaError_t rt_cudaInitDevice(int device, unsigned int deviceFlags, unsigned int flags)
{
	cudaError_t e = device_check(device);
	CUcontext ctx;

	if (e)
		return e;
	if (flags & 1) { /* cudaInitDeviceFlagsAreValid */
		CUresult r = cuDevicePrimaryCtxSetFlags_v2(device, deviceFlags & ~(unsigned)CU_CTX_MAP_HOST);
		if (r)
			return from_driver(r);
	}
	return primary_context(device, &ctx);
}

/* The first of the listed devices serves threads that have not chosen one. */
cudaError_t rt_cudaSetValidDevices(int *device_arr, int len)
{
	int count;
	cudaError_t e = device_count(&count);

	if (e)
		return e;
	if (len < 0 || len > count || (len && !device_arr))
		return cudaErrorInvalidValue;
	for (int i = 0; i < len; i++)
		if (device_arr[i] < 0 || device_arr[i] >= count)
			return cudaErrorInvalidDevice;
	if (!thread.chosen)
		thread.device = len ? device_arr[0] : 0;
	return cudaSuccess;
}

cudaError_t rt_cudaSetDeviceFlags(unsigned int flags)
{
	int device;
	cudaError_t e = device_current(&device);

	if (e)
		return e;
	return from_driver(cuDevicePrimaryCtxSetFlags_v2(device, flags & ~(unsigned)CU_CTX_MAP_HOST));
}

cudaError_t rt_cudaGetDeviceFlags(unsigned int *flags)
{
	CUcontext ctx = NULL;
	int device, active;
	cudaError_t e;

	if (!flags)
		return cudaErrorInvalidValue;
	e = device_current(&device);
	if (e)
		return e;
	if (!cuCtxGetCurrent(&ctx) && ctx && !cuCtxGetFlags(flags))
		return cudaSuccess;
	e = from_driver(cuDevicePrimaryCtxGetState(device, flags, &active));
	if (!e)
		*flags |= CU_CTX_MAP_HOST;
	return e;
}

cudaError_t rt_cudaDeviceReset(void)
{
	int device;
	cudaError_t e = device_current(&device);

	if (e)
		return e;
	pthread_mutex_lock(&runtime.lock);
	e = from_driver(cuDevicePrimaryCtxReset_v2(device));
	if (!e && device < MAX_DEVICES)
		runtime.devices[device].retained = false;
	pthread_mutex_unlock(&runtime.lock);
	atomic_fetch_add(&runtime.resets, 1);
	return e;
}

cudaError_t rt_cudaThreadExit(void)
{
	return rt_cudaDeviceReset();
}
