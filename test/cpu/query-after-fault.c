/*
 * Programs that only query a stream or an event behind a kernel that fails: the query must return the error.  A device
 * runs nothing that was queued behind the failure, so the signal that a query set up is never written.
 */
#include <stdbool.h>
#include <unistd.h>
#include "test/cpu/device.h"

#define POLLS_MS 30000 /* the watchdog (ctest sets GANGWAY_WATCHDOG_MS) ends the kernel long before */

static const char text[] = PTX ".visible .entry stuck()\n{\nAGAIN: bra AGAIN;\nret; }\n";

static CUresult query_until_known(CUstream stream, CUevent event)
{
	CUresult r = CUDA_ERROR_NOT_READY;

	for (int i = 0; i < POLLS_MS && r == CUDA_ERROR_NOT_READY; i++) {
		r = event ? cuEventQuery(event) : cuStreamQuery(stream);
		usleep(1000);
	}
	return r;
}

static void fails_at_query(bool by_event)
{
	CUcontext ctx = device_start();
	CUfunction f = device_kernel(text, "stuck");
	CUevent event = NULL;
	CUstream stream;

	OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	OK(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
	OK(cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, stream, NULL, NULL));
	OK(cuEventRecord(event, stream));
	CHECK_EQ(query_until_known(stream, by_event ? event : NULL), CUDA_ERROR_LAUNCH_TIMEOUT);
	CHECK_EQ(cuCtxSynchronize(), CUDA_ERROR_LAUNCH_TIMEOUT);
	OK(cuCtxDestroy_v2(ctx));
}

int main(void)
{
	fails_at_query(false);
	fails_at_query(true);
	return RESULT();
}
