/*
 * Order across threads: one thread launches, another waits and reads the result; threads with their own streams do not
 * disturb each other; a stream used by several threads runs one command at a time.
 */
#include <pthread.h>
#include <stdatomic.h>
#include "test/cpu/device.h"

static const char text[] =
	PTX ".visible .entry put(.param .u64 to, .param .u32 value)\n"
	    "{ .reg .u64 %a; .reg .u32 %v;\n"
	    "ld.param.u64 %a, [to]; ld.param.u32 %v, [value]; st.global.u32 [%a], %v; ret; }\n"
	    ".visible .entry add(.param .u64 to, .param .u32 value)\n"
	    "{ .reg .u64 %a, %o; .reg .u32 %v, %w, %i, %n, %b;\n"
	    "ld.param.u64 %a, [to]; ld.param.u32 %v, [value];\n"
	    "mov.u32 %i, %tid.x; mov.u32 %b, %ctaid.x; mov.u32 %n, %ntid.x; mad.lo.u32 %i, %b, %n, %i;\n"
	    "mul.wide.u32 %o, %i, 4; add.u64 %a, %a, %o;\n"
	    "ld.global.u32 %w, [%a]; add.u32 %w, %w, %v; st.global.u32 [%a], %w; ret; }\n";

static CUcontext ctx;
static CUfunction put, add;

/* ---- one thread launches, another waits ---- */

enum { TURNS = 10000 };

static struct {
	pthread_mutex_t lock;
	pthread_cond_t change;
	unsigned launched, read;
	CUstream stream;
	CUevent event;
	CUdeviceptr cell;
} hand = {.lock = PTHREAD_MUTEX_INITIALIZER, .change = PTHREAD_COND_INITIALIZER};

static void *launcher(void *arg)
{
	(void)arg;
	OK(cuCtxSetCurrent(ctx));
	for (unsigned i = 1; i <= TURNS; i++) {
		void *args[] = {&hand.cell, &i};

		OK(device_launch(put, 1, 1, hand.stream, args));
		if (i % 4 == 3)
			OK(cuEventRecord(hand.event, hand.stream));
		pthread_mutex_lock(&hand.lock);
		hand.launched = i;
		pthread_cond_broadcast(&hand.change);
		while (hand.read < i)
			pthread_cond_wait(&hand.change, &hand.lock);
		pthread_mutex_unlock(&hand.lock);
	}
	return NULL;
}

/* Use each way to wait in turn; the last one reads in stream order. */
static unsigned wait_and_read(unsigned i)
{
	unsigned value = 0;

	switch (i % 4) {
	case 0:
		OK(cuCtxSynchronize());
		break;
	case 1:
		OK(cuStreamSynchronize(hand.stream));
		break;
	case 3:
		OK(cuEventSynchronize(hand.event));
		break;
	}
	if (i % 4 == 2) {
		OK(cuMemcpyDtoHAsync_v2(&value, hand.cell, sizeof value, hand.stream));
		OK(cuStreamSynchronize(hand.stream));
	} else {
		OK(cuMemcpyDtoH_v2(&value, hand.cell, sizeof value));
	}
	return value;
}

static void launch_and_wait(void)
{
	unsigned stale = 0;
	pthread_t t;

	OK(cuStreamCreate(&hand.stream, CU_STREAM_NON_BLOCKING));
	OK(cuEventCreate(&hand.event, CU_EVENT_DISABLE_TIMING));
	OK(cuMemAlloc_v2(&hand.cell, 4));
	pthread_create(&t, NULL, launcher, NULL);
	for (unsigned i = 1; i <= TURNS; i++) {
		pthread_mutex_lock(&hand.lock);
		while (hand.launched < i)
			pthread_cond_wait(&hand.change, &hand.lock);
		pthread_mutex_unlock(&hand.lock);
		stale += wait_and_read(i) != i;
		pthread_mutex_lock(&hand.lock);
		hand.read = i;
		pthread_cond_broadcast(&hand.change);
		pthread_mutex_unlock(&hand.lock);
	}
	pthread_join(t, NULL);
	CHECK_EQ(stale, 0);
	OK(cuMemFree_v2(hand.cell));
	OK(cuEventDestroy_v2(hand.event));
	OK(cuStreamDestroy_v2(hand.stream));
}

/* ---- one stream per thread ---- */

enum { THREADS = 16, ROUNDS = 100, CELLS = 256 };

static void *streamer(void *arg)
{
	unsigned me = (unsigned)(uintptr_t)arg, wrong = 0, *host;
	CUdeviceptr cells;
	CUstream s;

	OK(cuCtxSetCurrent(ctx));
	OK(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
	OK(cuMemAlloc_v2(&cells, CELLS * 4));
	for (unsigned round = 1; round <= ROUNDS; round++) {
		unsigned value = me * round;
		void *args[] = {&cells, &value};

		OK(cuMemAllocHost_v2((void **)&host, CELLS * 4)); /* while other threads wait for theirs */
		OK(cuMemsetD32Async(cells, round, CELLS, s));
		OK(device_launch(add, CELLS / 64, 64, s, args));
		OK(device_launch(add, CELLS / 64, 64, s, args));
		OK(cuMemcpyDtoHAsync_v2(host, cells, CELLS * 4, s));
		OK(cuStreamSynchronize(s));
		for (unsigned i = 0; i < CELLS; i++)
			wrong += host[i] != round + 2 * value;
		OK(cuMemFreeHost(host));
	}
	CHECK_EQ(wrong, 0);
	OK(cuMemFree_v2(cells));
	OK(cuStreamDestroy_v2(s));
	return NULL;
}

static void stream_per_thread(void)
{
	pthread_t t[THREADS];

	for (uintptr_t i = 0; i < THREADS; i++)
		pthread_create(&t[i], NULL, streamer, (void *)i);
	for (int i = 0; i < THREADS; i++)
		pthread_join(t[i], NULL);
}

/* ---- one stream for all threads ---- */

enum { BYTES = 512 << 10, COPIES = 100 };

static CUdeviceptr shared;
static _Atomic unsigned mixed;

/* Every copy is complete or not started, because all are in one stream. */
static void *copier(void *arg)
{
	unsigned char *bytes = malloc(BYTES);

	OK(cuCtxSetCurrent(ctx));
	for (int i = 0; i < COPIES; i++) {
		memset(bytes, (int)(uintptr_t)arg, BYTES);
		OK(cuMemcpyHtoD_v2(shared, bytes, BYTES));
		OK(cuMemcpyDtoH_v2(bytes, shared, BYTES));
		mixed += memcmp(bytes, bytes + 1, BYTES - 1) != 0;
	}
	free(bytes);
	return NULL;
}

static void shared_stream(void)
{
	pthread_t t[4];

	OK(cuMemAlloc_v2(&shared, BYTES));
	OK(cuMemsetD8_v2(shared, 0, BYTES));
	for (uintptr_t i = 0; i < 4; i++)
		pthread_create(&t[i], NULL, copier, (void *)(i + 1));
	for (int i = 0; i < 4; i++)
		pthread_join(t[i], NULL);
	CHECK_EQ(mixed, 0);
	OK(cuMemFree_v2(shared));
}

int main(void)
{
	ctx = device_start();
	put = device_kernel(text, "put");
	add = device_kernel(text, "add");
	launch_and_wait();
	stream_per_thread();
	shared_stream();
	OK(cuCtxDestroy_v2(ctx));
	return RESULT();
}
