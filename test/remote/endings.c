/*
 * What ends: streams that are destroyed while they still have work, events that were recorded in them, threads
 * with streams of their own, modules that come and go.  Work that was given is waited for, no handle means
 * something it is not, and nothing piles up.
 */
#include <malloc.h>
#include <pthread.h>
#include <stdatomic.h>
#include "driver.h"

static atomic_int ran, gate;

static void wait_gate(void *arg)
{
	(void)arg;
	while (!gate)
		usleep(100);
	usleep(20000);
	ran++;
}

static void count(void *arg)
{
	(void)arg;
	ran++;
}

static void *open_gate(void *arg)
{
	usleep(50000);
	gate = 1;
	return arg;
}

/* A stream; nothing has run, and the gate is closed. */
static CUstream begin(unsigned flags)
{
	CUstream s = NULL;

	ran = gate = 0;
	OK(cuStreamCreate(&s, flags));
	return s;
}

/* A context waits for what a stream was given, though the stream is destroyed. */
static void destroyed_stream(unsigned flags, CUresult (*wait)(void))
{
	pthread_t opener;
	CUstream s = begin(flags);

	OK(cuLaunchHostFunc(s, wait_gate, NULL));
	OK(cuStreamDestroy_v2(s));
	CHECK_EQ(ran, 0);
	CHECK_EQ(cuStreamQuery(s), CUDA_ERROR_INVALID_HANDLE);
	CHECK_EQ(cuStreamDestroy_v2(s), CUDA_ERROR_INVALID_HANDLE);
	pthread_create(&opener, NULL, open_gate, NULL);
	OK(wait());
	CHECK_EQ(ran, 1);
	pthread_join(opener, NULL);
}

static CUresult wait_legacy(void)
{
	return cuStreamSynchronize(NULL);
}

/* An event outlives its stream, and is done when it is. */
static void orphaned_event(void)
{
	pthread_t opener;
	CUstream s = begin(CU_STREAM_NON_BLOCKING);
	CUevent e = NULL;

	OK(cuEventCreate(&e, CU_EVENT_DISABLE_TIMING));
	OK(cuLaunchHostFunc(s, wait_gate, NULL));
	OK(cuEventRecord(e, s));
	OK(cuStreamDestroy_v2(s));
	CHECK_EQ(cuEventQuery(e), CUDA_ERROR_NOT_READY);
	pthread_create(&opener, NULL, open_gate, NULL);
	OK(cuEventSynchronize(e));
	CHECK_EQ(ran, 1);
	OK(cuEventQuery(e));
	pthread_join(opener, NULL);
	OK(cuEventDestroy_v2(e));
}

static void wrong_kinds(void)
{
	CUstream s = NULL;
	CUevent e = NULL;

	OK(cuStreamCreate(&s, 0));
	OK(cuEventCreate(&e, 0));
	CHECK_EQ(cuStreamQuery((CUstream)e), CUDA_ERROR_INVALID_HANDLE);
	CHECK_EQ(cuStreamSynchronize((CUstream)context), CUDA_ERROR_INVALID_HANDLE);
	CHECK_EQ(cuEventQuery((CUevent)s), CUDA_ERROR_INVALID_HANDLE);
	CHECK_EQ(cuCtxSetCurrent((CUcontext)s), CUDA_ERROR_INVALID_CONTEXT);
	CHECK(cuLaunchKernel((CUfunction)e, 1, 1, 1, 1, 1, 1, 0, s, NULL, NULL) != CUDA_SUCCESS);
	OK(cuEventDestroy_v2(e));
	OK(cuStreamDestroy_v2(s));
}

/* One thread gives a stream work and waits for it, while another waits for everything there is. */
static void *wait_all(void *arg)
{
	OK(cuCtxSetCurrent(context));
	while (!gate)
		OK(cuCtxSynchronize());
	return arg;
}

static void two_waiters(void)
{
	pthread_t other;
	CUstream s = begin(CU_STREAM_NON_BLOCKING);

	pthread_create(&other, NULL, wait_all, NULL);
	for (int i = 1; i <= 300; i++) {
		OK(cuLaunchHostFunc(s, count, NULL));
		OK(cuStreamSynchronize(s));
		CHECK_EQ(ran, i);
	}
	gate = 1;
	pthread_join(other, NULL);
	OK(cuStreamDestroy_v2(s));
}

/* Somebody looks at an event and later waits for it; that other contexts come and go meanwhile is nothing to it. */
static void other_contexts(int destroyed)
{
	CUcontext other = NULL;
	pthread_t opener;
	CUstream s = begin(CU_STREAM_NON_BLOCKING);
	CUevent e = NULL;

	OK(cuEventCreate(&e, CU_EVENT_DISABLE_TIMING));
	if (destroyed)
		OK(cuCtxCreate_v2(&other, 0, 0));
	OK(cuCtxSetCurrent(context));
	OK(cuLaunchHostFunc(s, wait_gate, NULL));
	OK(cuEventRecord(e, s));
	OK(cuLaunchHostFunc(s, count, NULL)); /* so that waiting for the event is not waiting for the stream */
	CHECK_EQ(cuEventQuery(e), CUDA_ERROR_NOT_READY);
	if (destroyed)
		OK(cuCtxDestroy_v2(other));
	else
		OK(cuCtxCreate_v2(&other, 0, 0));
	OK(cuCtxSetCurrent(context));
	pthread_create(&opener, NULL, open_gate, NULL);
	OK(cuEventSynchronize(e));
	CHECK(ran >= 1);
	pthread_join(opener, NULL);
	OK(cuStreamSynchronize(s));
	if (!destroyed)
		OK(cuCtxDestroy_v2(other));
	OK(cuEventDestroy_v2(e));
	OK(cuStreamDestroy_v2(s));
}

static void *short_life(void *p)
{
	unsigned v = 0, one = 1;

	OK(cuCtxSetCurrent(context));
	OK(cuMemcpyHtoDAsync_v2(*(CUdeviceptr *)p, &one, sizeof one, CU_STREAM_PER_THREAD));
	OK(cuMemcpyDtoHAsync_v2(&v, *(CUdeviceptr *)p, sizeof v, CU_STREAM_PER_THREAD));
	OK(cuStreamSynchronize(CU_STREAM_PER_THREAD));
	CHECK_EQ(v, 1);
	return NULL;
}

static void some_of_each(int n)
{
	CUdeviceptr p = memory(4);

	for (int i = 0; i < n; i++) {
		CUstream s = NULL;
		CUevent e = NULL;
		CUmodule m = NULL;
		CUfunction f = NULL;
		pthread_t thread;
		OK(cuStreamCreate(&s, i % 2));
		OK(cuEventCreate(&e, 0));
		OK(cuMemsetD32Async(p, 1, 1, s));
		OK(cuEventRecord(e, s));
		OK(cuEventQuery(e) == CUDA_ERROR_NOT_READY ? CUDA_SUCCESS : cuEventQuery(e));
		OK(cuStreamDestroy_v2(s));
		OK(cuEventDestroy_v2(e));
		if (i % 8)
			continue;
		OK(cuModuleLoadData(&m, ptx));
		OK(cuModuleGetFunction(&f, m, "fill"));
		OK(cuModuleUnload(m));
		pthread_create(&thread, NULL, short_life, &p);
		pthread_join(thread, NULL);
	}
	OK(cuCtxSynchronize());
	OK(cuMemFree_v2(p));
}

static size_t in_use(void)
{
	return mallinfo2().uordblks; /* 0 with a sanitizer's malloc */
}

static void nothing_piles_up(void)
{
	size_t before, after;

	some_of_each(3000);
	before = in_use();
	some_of_each(6000);
	after = in_use();
	if (after > before + (256 << 10))
		printf("%zu bytes in use, then %zu\n", before, after), failures++;
}

int main(void)
{
	start();
	destroyed_stream(CU_STREAM_NON_BLOCKING, cuCtxSynchronize);
	destroyed_stream(0, cuCtxSynchronize);
	destroyed_stream(0, wait_legacy);
	orphaned_event();
	wrong_kinds();
	two_waiters();
	other_contexts(0);
	other_contexts(1);
	nothing_piles_up();
	return RESULT();
}
