/*
 * A sticky error belongs to one context and ends with it.  Several threads wait for a kernel that fails; as soon as one
 * of them has the error, the context is destroyed, and a new one works.
 */
#include <pthread.h>
#include <semaphore.h>
#include "test/cpu/device.h"

#define WAITERS 4
#define ROUNDS  20

static const char text[] =
	PTX ".visible .entry fine()\n{ ret; }\n"
	    ".visible .entry wild()\n{ .reg .u64 %a; mov.u64 %a, 16; st.global.u32 [%a], 1; ret; }\n";

static sem_t gate, error_seen;
static CUcontext failing;
static CUstream streams[WAITERS];

static void wait_at_gate(void *arg)
{
	(void)arg;
	sem_wait(&gate);
}

/* The stream or the context may be destroyed before a thread waits for it. */
static void *wait_for_error(void *arg)
{
	CUresult r;

	cuCtxSetCurrent(failing);
	r = cuStreamSynchronize(*(CUstream *)arg);
	if (r != CUDA_ERROR_CONTEXT_IS_DESTROYED && r != CUDA_ERROR_INVALID_HANDLE && r != CUDA_ERROR_INVALID_CONTEXT)
		CHECK_EQ(r, CUDA_ERROR_ILLEGAL_ADDRESS);
	sem_post(&error_seen);
	return NULL;
}

/* Make a kernel fail in the current context; return when one thread has the error. */
static void fail_kernel(pthread_t *threads)
{
	CUfunction wild;
	CUevent after;
	CUmodule m;

	OK(cuCtxGetCurrent(&failing));
	OK(cuModuleLoadData(&m, text));
	OK(cuModuleGetFunction(&wild, m, "wild"));
	OK(cuEventCreate(&after, CU_EVENT_DISABLE_TIMING));
	for (int i = 0; i < WAITERS; i++)
		OK(cuStreamCreate(&streams[i], CU_STREAM_NON_BLOCKING));
	OK(cuLaunchHostFunc(streams[0], wait_at_gate, NULL));
	OK(device_launch(wild, 1, 1, streams[0], NULL));
	OK(cuEventRecord(after, streams[0]));
	for (int i = 1; i < WAITERS; i++) {
		OK(cuStreamWaitEvent(streams[i], after, 0));
		CHECK_EQ(cuStreamQuery(streams[i]), CUDA_ERROR_NOT_READY);
	}
	for (int i = 0; i < WAITERS; i++)
		pthread_create(&threads[i], NULL, wait_for_error, &streams[i]);
	sem_post(&gate);
	sem_wait(&error_seen);
}

static void check_context_works(void)
{
	CUfunction fine;
	CUmodule m;

	OK(cuCtxSynchronize());
	OK(cuModuleLoadData(&m, text));
	OK(cuModuleGetFunction(&fine, m, "fine"));
	OK(device_launch(fine, 1, 1, NULL, NULL));
	OK(cuCtxSynchronize());
	OK(cuStreamSynchronize(NULL));
}

static void join_waiters(pthread_t *threads)
{
	for (int i = 0; i < WAITERS; i++)
		pthread_join(threads[i], NULL);
	for (int i = 1; i < WAITERS; i++)
		sem_wait(&error_seen);
}

static void destroy_and_create(void)
{
	pthread_t threads[WAITERS];
	CUcontext ctx, next;

	OK(cuCtxCreate_v2(&ctx, 0, 0));
	fail_kernel(threads);
	OK(cuCtxDestroy_v2(ctx));
	OK(cuCtxCreate_v2(&next, 0, 0));
	check_context_works();
	join_waiters(threads);
	check_context_works();
	OK(cuCtxDestroy_v2(next));
}

static void reset_primary(void)
{
	pthread_t threads[WAITERS];
	CUcontext ctx;

	OK(cuDevicePrimaryCtxRetain(&ctx, 0));
	OK(cuCtxSetCurrent(ctx));
	fail_kernel(threads);
	OK(cuDevicePrimaryCtxReset_v2(0));
	join_waiters(threads);
	OK(cuDevicePrimaryCtxRetain(&ctx, 0));
	check_context_works();
	OK(cuDevicePrimaryCtxRelease_v2(0));
}

int main(void)
{
	OK(cuInit(0));
	sem_init(&gate, 0, 0);
	sem_init(&error_seen, 0, 0);
	for (int i = 0; i < ROUNDS && !failures; i++) {
		destroy_and_create();
		reset_primary();
	}
	return RESULT();
}
