/* Streams and events, where the driver's function takes other arguments. */
#include <stdlib.h>

#include "cudart/runtime.h"

cudaError_t rt_cudaStreamCreate(cudaStream_t *pStream)
{
	return from_driver(cuStreamCreate(pStream, CU_STREAM_DEFAULT));
}

cudaError_t rt_cudaEventCreate(cudaEvent_t *event)
{
	return from_driver(cuEventCreate(event, CU_EVENT_DEFAULT));
}

struct callback {
	cudaStreamCallback_t function;
	void *data;
};

/* The driver calls this once for each callback, also after an error of the stream. */
static void callback_run(CUstream stream, CUresult status, void *data)
{
	struct callback c = *(struct callback *)data;

	free(data);
	c.function(stream, from_driver(status), c.data);
}

cudaError_t rt_cudaStreamAddCallback(
	cudaStream_t stream, cudaStreamCallback_t callback, void *userData, unsigned int flags)
{
	struct callback *c;
	CUresult r;

	if (!callback)
		return cudaErrorInvalidValue;
	c = malloc(sizeof *c);
	if (!c)
		return cudaErrorMemoryAllocation;
	*c = (struct callback){callback, userData};
	r = cuStreamAddCallback(stream, callback_run, c, flags);
	if (r)
		free(c);
	return from_driver(r);
}

cudaError_t rt_cudaStreamAttachMemAsync(cudaStream_t stream, void *devPtr, size_t length, unsigned int flags)
{
	return from_driver(cuStreamAttachMemAsync(stream, (CUdeviceptr)devPtr, length, flags));
}

cudaError_t rt_cudaStreamGetCaptureInfo(
	cudaStream_t stream, cudaStreamCaptureStatus *captureStatus_out, unsigned long long *id_out)
{
	cuuint64_t id = 0;
	CUresult r = cuStreamGetCaptureInfo(stream, captureStatus_out, &id);

	if (!r && id_out)
		*id_out = id;
	return from_driver(r);
}
