/* Events, host functions and callbacks: they run in stream order and in this process, wherever the device is. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include "driver.h"

static atomic_int ran, gate, order[8], count;

static void note(void *arg)
{
	order[atomic_fetch_add(&count, 1) & 7] = (int)(intptr_t)arg;
}

static void wait_gate(void *arg)
{
	(void)arg;
	while (!gate)
		usleep(100);
	ran++;
}

static void called(CUstream stream, CUresult status, void *data)
{
	CHECK(stream == *(CUstream *)data);
	CHECK_EQ(status, CUDA_SUCCESS);
	ran++;
}

static void test_order(void)
{
	CUstream s;

	OK(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
	count = 0;
	for (intptr_t i = 1; i <= 5; i++)
		OK(cuLaunchHostFunc(s, note, (void *)i));
	OK(cuStreamSynchronize(s));
	CHECK_EQ(count, 5);
	for (int i = 0; i < 5; i++)
		CHECK_EQ(order[i], i + 1);
	ran = 0;
	OK(cuStreamAddCallback(s, called, &s, 0));
	OK(cuStreamSynchronize(s));
	CHECK_EQ(ran, 1);
	CHECK_EQ(cuLaunchHostFunc(s, NULL, NULL), CUDA_ERROR_INVALID_VALUE);
	OK(cuStreamDestroy_v2(s));
}

/* A host function sees the bytes of the copy ahead of it; the copy behind it sees what the function writes. */
struct squares {
	unsigned n, *from, *to;
};

static void square(void *arg)
{
	struct squares *q = arg;

	for (unsigned i = 0; i < q->n; i++)
		q->to[i] = q->from[i] * q->from[i];
}

static void squared(CUstream stream, CUresult status, void *arg)
{
	(void)stream, (void)status;
	square(arg);
}

static void test_data(unsigned n, bool callback)
{
	size_t bytes = n * sizeof(unsigned);
	unsigned in[1000], out[1000], wrong = 0;
	CUdeviceptr p = memory(bytes);
	struct squares q = {.n = n};
	CUstream s;

	OK(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
	OK(cuMemAllocHost_v2((void **)&q.from, 2 * bytes));
	q.to = q.from + n;
	for (unsigned round = 0; round < 20; round++) {
		for (unsigned i = 0; i < n; i++)
			in[i] = round + i;
		OK(cuMemcpyHtoD_v2(p, in, bytes));
		OK(cuMemcpyDtoHAsync_v2(q.from, p, bytes, s));
		if (callback)
			OK(cuStreamAddCallback(s, squared, &q, 0));
		else
			OK(cuLaunchHostFunc(s, square, &q));
		OK(cuMemcpyHtoDAsync_v2(p, q.to, bytes, s));
		OK(cuStreamSynchronize(s));
		OK(cuMemcpyDtoH_v2(out, p, bytes));
		for (unsigned i = 0; i < n; i++)
			wrong += q.from[i] != in[i] || out[i] != in[i] * in[i];
	}
	CHECK_EQ(wrong, 0);
	OK(cuMemFreeHost(q.from));
	OK(cuMemFree_v2(p));
	OK(cuStreamDestroy_v2(s));
}

/* Copies of pinned memory, flat or in rows, return at once behind a host function that blocks. */
static void test_copies_behind_gate(void)
{
	enum { SIDE = 64, BYTES = SIDE * SIDE };
	unsigned char *up, *down;
	CUdeviceptr p = memory(BYTES);
	CUDA_MEMCPY2D rows = {.srcMemoryType = CU_MEMORYTYPE_HOST,
		.srcPitch = SIDE,
		.dstMemoryType = CU_MEMORYTYPE_DEVICE,
		.dstDevice = p,
		.dstPitch = SIDE,
		.WidthInBytes = SIDE / 2,
		.Height = SIDE};
	CUstream s;

	OK(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
	OK(cuMemAllocHost_v2((void **)&up, 4 * BYTES));
	OK(cuMemAllocHost_v2((void **)&down, 4 * BYTES));
	memset(up, 1, BYTES);
	memset(down, 0, BYTES);
	rows.srcHost = up;
	gate = 0;
	OK(cuLaunchHostFunc(s, wait_gate, NULL));
	OK(cuMemcpyHtoDAsync_v2(p, up, BYTES, s));
	OK(cuMemcpy2DAsync_v2(&rows, s));
	OK(cuMemcpyDtoHAsync_v2(down, p, BYTES, s));
	CHECK_EQ(cuStreamQuery(s), CUDA_ERROR_NOT_READY);
	memset(up, 3, BYTES); /* the copies read it only after the gate opens */
	gate = 1;
	OK(cuStreamSynchronize(s));
	CHECK(down[0] == 3 && down[BYTES - 1] == 3);
	OK(cuMemFreeHost(up));
	OK(cuMemFreeHost(down));
	OK(cuMemFree_v2(p));
	OK(cuStreamDestroy_v2(s));
}

/* An event completes when its stream gets there, before the work behind it completes. */
static void test_event(void)
{
	CUstream s;
	CUevent first, second;
	float ms = -1;

	OK(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
	OK(cuEventCreate(&first, 0));
	OK(cuEventCreate(&second, 0));
	OK(cuEventQuery(first)); /* never recorded: nothing to wait for */
	OK(cuEventSynchronize(first));
	OK(cuStreamWaitEvent(s, first, 0));
	gate = 0;
	ran = 0;
	OK(cuEventRecord(first, s));
	OK(cuLaunchHostFunc(s, wait_gate, NULL));
	OK(cuEventRecord(second, s));
	OK(cuEventSynchronize(first));
	OK(cuEventQuery(first));
	CHECK_EQ(cuEventQuery(second), CUDA_ERROR_NOT_READY);
	CHECK_EQ(cuStreamQuery(s), CUDA_ERROR_NOT_READY);
	CHECK_EQ(cuEventElapsedTime_v2(&ms, first, second), CUDA_ERROR_NOT_READY);
	CHECK_EQ(ran, 0);
	gate = 1;
	OK(cuEventSynchronize(second));
	CHECK_EQ(ran, 1);
	OK(cuEventElapsedTime_v2(&ms, first, second));
	CHECK(ms >= 0);
	while (cuStreamQuery(s) == CUDA_ERROR_NOT_READY)
		usleep(100);
	OK(cuStreamQuery(s));
	OK(cuEventDestroy_v2(first));
	CHECK(cuEventQuery(first) != CUDA_SUCCESS);
	OK(cuEventDestroy_v2(second));
	OK(cuStreamDestroy_v2(s));
}

/* Two threads wait for two events; the event recorded last completes first. */
static void *synchronize_event(void *event)
{
	OK(cuCtxSetCurrent(context));
	OK(cuEventSynchronize(*(CUevent *)event));
	return NULL;
}

static void test_two_waits(void)
{
	CUstream a, b;
	CUevent slow, quick;
	pthread_t t;

	OK(cuStreamCreate(&a, CU_STREAM_NON_BLOCKING));
	OK(cuStreamCreate(&b, CU_STREAM_NON_BLOCKING));
	OK(cuEventCreate(&slow, CU_EVENT_DISABLE_TIMING));
	OK(cuEventCreate(&quick, CU_EVENT_DISABLE_TIMING));
	gate = 0;
	ran = 0;
	OK(cuLaunchHostFunc(a, wait_gate, NULL));
	OK(cuEventRecord(slow, a));
	OK(cuStreamWaitEvent(a, slow, 0)); /* a command behind the event */
	CHECK(!pthread_create(&t, NULL, synchronize_event, &slow));
	usleep(20000);
	OK(cuEventRecord(quick, b));
	OK(cuMemsetD8Async(memory(16), 1, 16, b));
	OK(cuEventSynchronize(quick));
	CHECK_EQ(ran, 0);
	CHECK_EQ(cuEventQuery(slow), CUDA_ERROR_NOT_READY);
	OK(cuEventDestroy_v2(quick));
	gate = 1;
	pthread_join(t, NULL);
	OK(cuEventQuery(slow));
	OK(cuEventDestroy_v2(slow)); /* destroy a pending event, too */
	OK(cuEventCreate(&slow, 0));
	OK(cuEventRecord(slow, a));
	OK(cuEventDestroy_v2(slow));
	OK(cuStreamDestroy_v2(a));
	OK(cuStreamDestroy_v2(b));
}

/* A call that waits for the device inside the driver must not keep host functions from running. */
static void test_implicit_wait(void)
{
	CUdeviceptr p = memory(64);
	CUstream s;

	OK(cuStreamCreate(&s, CU_STREAM_DEFAULT));
	ran = 0;
	gate = 1;
	for (int i = 0; i < 20; i++) {
		OK(cuLaunchHostFunc(s, wait_gate, NULL));
		OK(cuMemsetD8Async(p, 1, 64, s));
	}
	OK(cuMemFree_v2(p));
	OK(cuStreamSynchronize(s));
	CHECK_EQ(ran, 20);
	OK(cuStreamDestroy_v2(s));
}

static void test_many_events(void)
{
	CUevent e[40];
	CUstream s;

	OK(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
	for (int k = 0; k < 50; k++)
		for (int i = 0; i < 40; i++) {
			if (!k)
				OK(cuEventCreate(&e[i], 0));
			OK(cuEventRecord(e[i], s));
			cuEventQuery(e[(i * 7) % (k ? 40 : i + 1)]);
		}
	for (int i = 0; i < 40; i++)
		OK(cuEventSynchronize(e[i]));
	for (int i = 0; i < 40; i++)
		OK(cuEventDestroy_v2(e[i]));
	OK(cuStreamDestroy_v2(s));
}

/* After a wait for the last of three streams that wait for each other, the events and streams before it are complete. */
static void test_implied_completion(void)
{
	enum { CHAIN = 3, ROUNDS = 100, BYTES = 1 << 16 };
	CUstream s[CHAIN];
	CUevent e[CHAIN];
	CUdeviceptr p = memory(BYTES);

	for (int i = 0; i < CHAIN; i++) {
		OK(cuStreamCreate(&s[i], CU_STREAM_NON_BLOCKING));
		OK(cuEventCreate(&e[i], CU_EVENT_DISABLE_TIMING));
	}
	for (int round = 0; round < ROUNDS && !failures; round++) {
		for (int i = 0; i < CHAIN; i++) {
			if (i)
				OK(cuStreamWaitEvent(s[i], e[i - 1], 0));
			OK(cuMemsetD8Async(p, 1, BYTES, s[i]));
			OK(cuEventRecord(e[i], s[i]));
		}
		if (round % 2)
			OK(cuStreamSynchronize(s[CHAIN - 1]));
		else
			OK(cuEventSynchronize(e[CHAIN - 1]));
		for (int i = 0; i < CHAIN; i++)
			CHECK_EQ(cuEventQuery(e[i]), CUDA_SUCCESS);
		if (round % 2)
			CHECK_EQ(cuStreamQuery(s[0]), CUDA_SUCCESS);
	}
	for (int i = 0; i < CHAIN; i++) {
		OK(cuStreamDestroy_v2(s[i]));
		OK(cuEventDestroy_v2(e[i]));
	}
	OK(cuMemFree_v2(p));
}

int main(void)
{
	start();
	test_order();
	test_data(1000, false);
	test_data(1000, true);
	test_data(100, false); /* small enough to be mirrored over TCP */
	test_data(100, true);
	test_copies_behind_gate();
	test_event();
	test_two_waits();
	test_implicit_wait();
	test_many_events();
	test_implied_completion();
	return RESULT();
}
