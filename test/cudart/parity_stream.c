/* Streams, events, callbacks, launches, kernels as functions, occupancy, entry points. */
#include "test/cudart/parity.h"

static void callback(cudaStream_t stream, cudaError_t status, void *data)
{
	(void)stream;
	*(int *)data = 100 + (int)status;
}

static void function(void *data)
{
	++*(int *)data;
}

static void try_events(cudaStream_t s)
{
	cudaEvent_t a = NULL, b = NULL, c = NULL;
	float ms = -1;

	TRY(cudaEventCreate, &a);
	TRY(cudaEventCreate, NULL);
	TRY(cudaEventCreateWithFlags, &b, 0);
	TRY(cudaEventCreateWithFlags, &c, 2);
	TRY(cudaEventCreateWithFlags, &c, 0x70);
	TRY(cudaEventCreateWithFlags, &c, 4);
	TRY(cudaEventQuery, a);
	TRY(cudaEventSynchronize, a);
	TRY(cudaEventElapsedTime, &ms, a, b);
	TRY(cudaEventRecord, a, s);
	TRY(cudaEventRecordWithFlags, b, s, 0);
	TRY(cudaEventRecordWithFlags, b, s, 9);
	TRY(cudaEventSynchronize, b);
	TRY(cudaEventQuery, b);
	TRY(cudaEventElapsedTime, &ms, a, b);
	SHOW(ms >= 0);
	TRY(cudaEventElapsedTime, NULL, a, b);
	TRY(cudaEventElapsedTime, &ms, a, NULL);
	TRY(cudaEventElapsedTime, &ms, a, c);
	TRY(cudaStreamWaitEvent, s, a, 0);
	TRY(cudaStreamWaitEvent, s, NULL, 0);
	TRY(cudaStreamWaitEvent, s, a, 5);
	TRY(cudaStreamWaitEvent, NULL, a, 0);
	TRY(cudaEventRecord, NULL, s);
	TRY(cudaEventRecord, a, BAD(cudaStream_t));
	TRY(cudaEventRecord, BAD(cudaEvent_t), s);
	TRY(cudaEventQuery, NULL);
	TRY(cudaEventQuery, BAD(cudaEvent_t));
	TRY(cudaEventSynchronize, NULL);
	TRY(cudaEventDestroy, a);
	TRY(cudaEventDestroy, a);
	TRY(cudaEventDestroy, b);
	TRY(cudaEventDestroy, NULL);
}

static void try_attributes(cudaStream_t s, cudaStream_t other)
{
	CUlaunchAttributeValue value;

	for (int i = 0; i < 18; i++) {
		memset(&value, 0, sizeof value);
		TRY(cudaStreamGetAttribute, s, i, &value);
		SHOW(value.priority);
	}
	memset(&value, 0, sizeof value);
	value.syncPolicy = 2;
	TRY(cudaStreamSetAttribute, s, 3, &value);
	TRY(cudaStreamSetAttribute, s, 99, &value);
	TRY(cudaStreamCopyAttributes, other, s);
	TRY(cudaStreamCopyAttributes, BAD(cudaStream_t), s);
}

void parity_stream(void)
{
	cudaStream_t s = NULL, t = NULL, u = NULL;
	unsigned long long id = 0, id2 = 0;
	unsigned flags = 9;
	int n = 77, flag = 0;

	TRY(cudaStreamCreate, &s);
	TRY(cudaStreamCreate, NULL);
	TRY(cudaStreamCreateWithFlags, &t, 1);
	TRY(cudaStreamCreateWithFlags, &u, 8);
	TRY(cudaStreamCreateWithFlags, NULL, 1);
	TRY(cudaStreamCreateWithPriority, &u, 1, -1);
	TRY(cudaStreamGetPriority, u, &n);
	SHOW(n);
	TRY(cudaStreamGetPriority, u, NULL);
	TRY(cudaStreamGetPriority, NULL, &n);
	TRY(cudaStreamGetPriority, BAD(cudaStream_t), &n);
	TRY(cudaStreamCreateWithPriority, NULL, 1, -1);
	TRY(cudaStreamGetFlags, t, &flags);
	SHOW(flags);
	TRY(cudaStreamGetFlags, NULL, &flags);
	SHOW(flags);
	TRY(cudaStreamGetFlags, cudaStreamPerThread, &flags);
	SHOW(flags);
	TRY(cudaStreamGetFlags, t, NULL);
	TRY(cudaStreamGetId, t, &id);
	TRY(cudaStreamGetId, NULL, &id2);
	SHOW(id == id2);
	TRY(cudaStreamGetId_ptsz, NULL, &id);
	TRY(cudaStreamGetId, cudaStreamPerThread, &id2);
	SHOW(id == id2);
	TRY(cudaStreamGetId, t, NULL);
	TRY(cudaStreamGetDevice, t, &n);
	SHOW(n);
	TRY(cudaStreamGetDevice, NULL, &n);
	TRY(cudaStreamQuery, t);
	TRY(cudaStreamQuery, NULL);
	TRY(cudaStreamQuery, BAD(cudaStream_t));
	TRY(cudaStreamSynchronize, s);
	TRY(cudaStreamSynchronize, cudaStreamLegacy);
	TRY(cudaStreamSynchronize_ptsz, NULL);
	TRY(cudaStreamSynchronize, BAD(cudaStream_t));
	TRY(cudaStreamAddCallback, s, callback, &flag, 0);
	TRY(cudaStreamSynchronize, s);
	SHOW(flag);
	TRY(cudaStreamAddCallback, s, NULL, &flag, 0);
	TRY(cudaStreamAddCallback, s, callback, &flag, 1);
	TRY(cudaStreamAddCallback, BAD(cudaStream_t), callback, &flag, 0);
	TRY(cudaLaunchHostFunc, s, function, &flag);
	TRY(cudaStreamSynchronize, s);
	SHOW(flag);
	TRY(cudaLaunchHostFunc, s, NULL, &flag);
	TRY(cudaLaunchHostFunc, BAD(cudaStream_t), function, &flag);
	try_events(s);
	try_attributes(s, t);
	TRY(cudaStreamDestroy, s);
	TRY(cudaStreamDestroy, s);
	TRY(cudaStreamDestroy, t);
	TRY(cudaStreamDestroy, u);
	TRY(cudaStreamDestroy, NULL);
	TRY(cudaStreamDestroy, cudaStreamLegacy);
}
