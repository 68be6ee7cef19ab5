/*
 * CUDA_LAUNCH_BLOCKING: a launch returns when its kernel has ended, and tells of that kernel's errors.  What people
 * are told to set when they look for a bug; a vendor's driver sees to it itself.
 */
#include <stdlib.h>
#include "front/front.h"

static struct cuda_ops *table;
static __typeof__(((struct cuda_ops *)0)->cuLaunchKernel) launch;
static __typeof__(((struct cuda_ops *)0)->cuLaunchKernelEx) launch_ex;
static __typeof__(((struct cuda_ops *)0)->cuLaunchCooperativeKernel) launch_cooperative;

/* What is captured is not launched.  A kernel that has failed by now may make the question itself fail: that is told. */
static CUresult wait_for(CUresult r, CUstream stream)
{
	CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;

	if (r)
		return r;
	r = table->cuStreamIsCapturing(stream, &status);
	if (r)
		return r == CUDA_ERROR_STREAM_CAPTURE_IMPLICIT ? CUDA_SUCCESS : r;
	return status ? CUDA_SUCCESS : table->cuStreamSynchronize(stream);
}

static CUresult blocking(CUfunction f, unsigned int gx, unsigned int gy, unsigned int gz, unsigned int bx,
	unsigned int by, unsigned int bz, unsigned int shared, CUstream stream, void **params, void **extra)
{
	return wait_for(launch(f, gx, gy, gz, bx, by, bz, shared, stream, params, extra), stream);
}

static CUresult blocking_ex(const CUlaunchConfig *c, CUfunction f, void **params, void **extra)
{
	CUresult r = launch_ex(c, f, params, extra);

	return r ? r : wait_for(r, c->hStream);
}

static CUresult blocking_cooperative(CUfunction f, unsigned int gx, unsigned int gy, unsigned int gz, unsigned int bx,
	unsigned int by, unsigned int bz, unsigned int shared, CUstream stream, void **params)
{
	return wait_for(launch_cooperative(f, gx, gy, gz, bx, by, bz, shared, stream, params), stream);
}

void front_block_launches(struct cuda_ops *t)
{
	const char *set = getenv("CUDA_LAUNCH_BLOCKING");

	if (!set || !atoi(set) || !t->cuLaunchKernel || !t->cuLaunchKernelEx || !t->cuLaunchCooperativeKernel)
		return;
	table = t;
	launch = t->cuLaunchKernel;
	launch_ex = t->cuLaunchKernelEx;
	launch_cooperative = t->cuLaunchCooperativeKernel;
	t->cuLaunchKernel = blocking;
	t->cuLaunchKernelEx = blocking_ex;
	t->cuLaunchCooperativeKernel = blocking_cooperative;
}
