/*
 * CUDA_LAUNCH_BLOCKING, a debugging aid: a launch returns after its kernel has ended, with the error of that kernel.  A
 * vendor driver implements this itself.
 */
#include <stdlib.h>
#include "front/front.h"

static const struct cuda_ops *device_ops;
static __typeof__(((struct cuda_ops *)0)->cuLaunchKernel) launch;
static __typeof__(((struct cuda_ops *)0)->cuLaunchKernelEx) launch_ex;
static __typeof__(((struct cuda_ops *)0)->cuLaunchCooperativeKernel) launch_cooperative;

/*
 * A captured launch has nothing to wait for.  If the kernel has failed already, cuStreamIsCapturing may return its error:
 * the launch then returns that error.
 */
static CUresult launch_wait(CUresult r, CUstream stream)
{
	CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;

	if (r)
		return r;
	r = device_ops->cuStreamIsCapturing(stream, &status);
	if (r)
		return r == CUDA_ERROR_STREAM_CAPTURE_IMPLICIT ? CUDA_SUCCESS : r;
	return status ? CUDA_SUCCESS : device_ops->cuStreamSynchronize(stream);
}

static CUresult blocking_launch(CUfunction f, unsigned int gx, unsigned int gy, unsigned int gz, unsigned int bx,
	unsigned int by, unsigned int bz, unsigned int shared, CUstream stream, void **params, void **extra)
{
	return launch_wait(launch(f, gx, gy, gz, bx, by, bz, shared, stream, params, extra), stream);
}

static CUresult blocking_launch_ex(const CUlaunchConfig *c, CUfunction f, void **params, void **extra)
{
	CUresult r = launch_ex(c, f, params, extra);

	return r ? r : launch_wait(r, c->hStream);
}

static CUresult blocking_launch_cooperative(CUfunction f, unsigned int gx, unsigned int gy, unsigned int gz,
	unsigned int bx, unsigned int by, unsigned int bz, unsigned int shared, CUstream stream, void **params)
{
	return launch_wait(launch_cooperative(f, gx, gy, gz, bx, by, bz, shared, stream, params), stream);
}

void front_block_launches(struct cuda_ops *t)
{
	const char *set = secure_getenv("CUDA_LAUNCH_BLOCKING");

	if (!set || !atoi(set) || !t->cuLaunchKernel || !t->cuLaunchKernelEx || !t->cuLaunchCooperativeKernel)
		return;
	device_ops = t;
	launch = t->cuLaunchKernel;
	launch_ex = t->cuLaunchKernelEx;
	launch_cooperative = t->cuLaunchCooperativeKernel;
	t->cuLaunchKernel = blocking_launch;
	t->cuLaunchKernelEx = blocking_launch_ex;
	t->cuLaunchCooperativeKernel = blocking_launch_cooperative;
}
