/*
 * Destruction of streams with pending work, of events recorded in them, of threads with default streams of their own, and
 * of modules: submitted work is waited for, a stale handle is never taken for another object, and no memory leaks.
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

/* A new stream; closes the gate. */
static CUstream stream_with_closed_gate(unsigned flags)
{
	CUstream s = NULL;

	ran = gate = 0;
	OK(cuStreamCreate(&s, flags));
	return s;
}

/* Synchronizing the context waits for the work of a destroyed stream. */
static void test_destroyed_stream(unsigned flags, CUresult (*wait)(void))
{
	pthread_t opener;
	CUstream s = stream_with_closed_gate(flags);

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

/* An event outlives the stream in which it was recorded, and completes when the work does. */
static void test_event_outlives_stream(void)
{
	pthread_t opener;
	CUstream s = stream_with_closed_gate(CU_STREAM_NON_BLOCKING);
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

static void test_wrong_handles(void)
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

/* One thread submits work and waits for its stream, while another synchronizes the context. */
static void *synchronize_in_thread(void *arg)
{
	OK(cuCtxSetCurrent(context));
	while (!gate)
		OK(cuCtxSynchronize());
	return arg;
}

static void test_two_waiters(void)
{
	pthread_t other;
	CUstream s = stream_with_closed_gate(CU_STREAM_NON_BLOCKING);

	pthread_create(&other, NULL, synchronize_in_thread, NULL);
	for (int i = 1; i <= 300; i++) {
		OK(cuLaunchHostFunc(s, count, NULL));
		OK(cuStreamSynchronize(s));
		CHECK_EQ(ran, i);
	}
	gate = 1;
	pthread_join(other, NULL);
	OK(cuStreamDestroy_v2(s));
}

/* An event is queried and later waited for; other contexts that are created and destroyed meanwhile do not disturb it. */
static void test_other_contexts(int destroyed)
{
	CUcontext other = NULL;
	pthread_t opener;
	CUstream s = stream_with_closed_gate(CU_STREAM_NON_BLOCKING);
	CUevent e = NULL;

	OK(cuEventCreate(&e, CU_EVENT_DISABLE_TIMING));
	if (destroyed)
		OK(cuCtxCreate_v2(&other, 0, 0));
	OK(cuCtxSetCurrent(context));
	OK(cuLaunchHostFunc(s, wait_gate, NULL));
	OK(cuEventRecord(e, s));
	OK(cuLaunchHostFunc(s, count, NULL)); /* behind the event, so that its wait is not a wait for the stream */
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

static void *use_per_thread_stream(void *p)
{
	unsigned v = 0, one = 1;

	OK(cuCtxSetCurrent(context));
	OK(cuMemcpyHtoDAsync_v2(*(CUdeviceptr *)p, &one, sizeof one, CU_STREAM_PER_THREAD));
	OK(cuMemcpyDtoHAsync_v2(&v, *(CUdeviceptr *)p, sizeof v, CU_STREAM_PER_THREAD));
	OK(cuStreamSynchronize(CU_STREAM_PER_THREAD));
	CHECK_EQ(v, 1);
	return NULL;
}

static void create_and_destroy(int n)
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
		pthread_create(&thread, NULL, use_per_thread_stream, &p);
		pthread_join(thread, NULL);
	}
	OK(cuCtxSynchronize());
	OK(cuMemFree_v2(p));
}

static size_t bytes_in_use(void)
{
	return mallinfo2().uordblks; /* 0 with the malloc of a sanitizer */
}

static void test_no_leaks(void)
{
	size_t before, after;

	create_and_destroy(3000);
	before = bytes_in_use();
	create_and_destroy(6000);
	after = bytes_in_use();
	if (after > before + (256 << 10))
		printf("memory leaks: %zu bytes in use after 3000 rounds, %zu after 9000\n", before, after), failures++;
}

int main(void)
{
	start();
	test_destroyed_stream(CU_STREAM_NON_BLOCKING, cuCtxSynchronize);
	test_destroyed_stream(0, cuCtxSynchronize);
	test_destroyed_stream(0, wait_legacy);
	test_event_outlives_stream();
	test_wrong_handles();
	test_two_waiters();
	test_other_contexts(0);
	test_other_contexts(1);
	test_no_leaks();
	return RESULT();
}
