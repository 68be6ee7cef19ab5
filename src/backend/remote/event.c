/* Events: recorded by posting; what is known to be done needs no question. */
#include <stdlib.h>
#include "backend/remote/remote.h"

struct event {
	uint64_t id;
	unsigned flags;
	_Atomic(struct stream *) stream; /* recorded in; NULL: never */
	_Atomic(uint64_t) work;		 /* done when so much of the stream is */
};

CUresult remote_cuEventCreate(CUevent *phEvent, unsigned int flags)
{
	CUresult r = call_cuEventCreate(phEvent, flags);
	struct event *e = r ? NULL : calloc(1, sizeof *e);

	if (r)
		return r;
	if (!e || !record_put((uintptr_t)*phEvent, e))
		return CUDA_ERROR_OUT_OF_MEMORY;
	e->id = (uintptr_t)*phEvent;
	e->flags = flags;
	return CUDA_SUCCESS;
}

CUresult remote_cuEventDestroy_v2(CUevent handle)
{
	struct event *e = record_take((uintptr_t)handle);

	return e ? call_cuEventDestroy_v2(handle) : CUDA_ERROR_INVALID_HANDLE;
}

CUresult remote_cuEventRecordWithFlags(CUevent handle, CUstream stream, unsigned int flags)
{
	CUresult r;
	struct event *e = record_find((uintptr_t)handle);
	struct stream *s = e ? stream_find(stream, &r) : NULL;

	if (!e)
		return CUDA_ERROR_INVALID_HANDLE;
	if (!s)
		return r;
	r = flags ? call_cuEventRecordWithFlags(handle, stream, flags) : call_cuEventRecord(handle, stream);
	e->work = s->work;
	e->stream = s;
	return r;
}

CUresult remote_cuEventRecord(CUevent handle, CUstream stream)
{
	return remote_cuEventRecordWithFlags(handle, stream, 0);
}

static bool done(const struct event *e)
{
	struct stream *s = e->stream;

	return !s || s->settled >= e->work;
}

CUresult remote_cuEventQuery(CUevent handle)
{
	struct event *e = record_find((uintptr_t)handle);

	if (!e)
		return CUDA_ERROR_INVALID_HANDLE;
	return done(e) ? call_late() : call_cuEventQuery(handle);
}

CUresult remote_cuEventSynchronize(CUevent handle)
{
	struct event *e = record_find((uintptr_t)handle);

	if (!e)
		return CUDA_ERROR_INVALID_HANDLE;
	if (!done(e)) {
		CUresult r = stream_settle(e->stream);
		if (r)
			return r;
	}
	return call_late();
}

CUresult remote_cuStreamWaitEvent(CUstream stream, CUevent handle, unsigned int flags)
{
	if (!record_find((uintptr_t)handle))
		return CUDA_ERROR_INVALID_HANDLE;
	return call_cuStreamWaitEvent(stream, handle, flags);
}
