/*
 * An error belongs to the context that it was made in, and ends with it.  Several threads wait for a kernel that goes
 * wrong; as soon as one of them has heard of it, the context is destroyed and another one made, which is well.
 */
#include <pthread.h>
#include <semaphore.h>
#include "test/cpu/device.h"

#define WAITERS 4
#define ROUNDS  20

static const char text[] =
	PTX ".visible .entry fine()\n{ ret; }\n"
	    ".visible .entry wild()\n{ .reg .u64 %a; mov.u64 %a, 16; st.global.u32 [%a], 1; ret; }\n";

static sem_t gate, heard;
static CUcontext failing;
static CUstream streams[WAITERS];

static void wait_at_gate(void *arg)
{
	(void)arg;
	sem_wait(&gate);
}

/* The others may find their stream or context gone by the time they wait for it. */
static void *wait_for(void *arg)
{
	CUresult r;

	cuCtxSetCurrent(failing);
	r = cuStreamSynchronize(*(CUstream *)arg);
	if (r != CUDA_ERROR_CONTEXT_IS_DESTROYED && r != CUDA_ERROR_INVALID_HANDLE && r != CUDA_ERROR_INVALID_CONTEXT)
		CHECK_EQ(r, CUDA_ERROR_ILLEGAL_ADDRESS);
	sem_post(&heard);
	return NULL;
}

/* In the current context: something goes wrong, and somebody has heard of it. */
static void go_wrong(pthread_t *threads)
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
		pthread_create(&threads[i], NULL, wait_for, &streams[i]);
	sem_post(&gate);
	sem_wait(&heard);
}

static void go_well(void)
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

static void all_heard(pthread_t *threads)
{
	for (int i = 0; i < WAITERS; i++)
		pthread_join(threads[i], NULL);
	for (int i = 1; i < WAITERS; i++)
		sem_wait(&heard);
}

static void another_context(void)
{
	pthread_t threads[WAITERS];
	CUcontext ctx, next;

	OK(cuCtxCreate_v2(&ctx, 0, 0));
	go_wrong(threads);
	OK(cuCtxDestroy_v2(ctx));
	OK(cuCtxCreate_v2(&next, 0, 0));
	go_well();
	all_heard(threads);
	go_well();
	OK(cuCtxDestroy_v2(next));
}

static void the_same_again(void)
{
	pthread_t threads[WAITERS];
	CUcontext ctx;

	OK(cuDevicePrimaryCtxRetain(&ctx, 0));
	OK(cuCtxSetCurrent(ctx));
	go_wrong(threads);
	OK(cuDevicePrimaryCtxReset_v2(0));
	all_heard(threads);
	OK(cuDevicePrimaryCtxRetain(&ctx, 0));
	go_well();
	OK(cuDevicePrimaryCtxRelease_v2(0));
}

int main(void)
{
	OK(cuInit(0));
	sem_init(&gate, 0, 0);
	sem_init(&heard, 0, 0);
	for (int i = 0; i < ROUNDS && !failures; i++) {
		another_context();
		the_same_again();
	}
	return RESULT();
}
