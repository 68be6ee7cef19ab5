/*
 * Streams that wait for a value in memory, which the host or another stream writes later: calls behind the wait return at
 * once, copies of pinned memory too, and use the bytes that are there when the value has been written.
 */
#include <pthread.h>
#include "driver.h"

enum { BYTES = 300000 };

static CUstream s, other;
static unsigned char *in, *out; /* pinned, not mapped for kernels */
static volatile unsigned *flag; /* mapped for the device */
static CUdeviceptr flag_there, memory_there, word;
static unsigned turn;

static void fill_pattern(unsigned char *p, unsigned seed)
{
	for (unsigned i = 0; i < BYTES; i++)
		p[i] = (i * 31 + i / 251 + seed) & 0xff;
}

static void set_flag(unsigned value)
{
	__atomic_store_n(flag, value, __ATOMIC_RELEASE);
}

/* A copy up and a copy down behind a wait; the host changes the source until it writes the value. */
static void copy_behind(CUstream stream)
{
	turn++;
	memset(in, 0xaa, BYTES);
	memset(out, 0, BYTES);
	OK(cuMemcpyHtoDAsync_v2(memory_there, in, BYTES, stream));
	OK(cuMemcpyDtoHAsync_v2(out, memory_there, BYTES, stream));
	CHECK_EQ(cuStreamQuery(stream), CUDA_ERROR_NOT_READY);
	fill_pattern(in, turn);
	CHECK_EQ(out[5], 0);
}

static void check_copied(void)
{
	CHECK(!memcmp(in, out, BYTES));
}

static void test_host_writes(void)
{
	CUevent e = NULL;

	OK(cuEventCreate(&e, CU_EVENT_DISABLE_TIMING));
	for (unsigned i = 1; i <= 4; i++) {
		OK(cuStreamWaitValue32_v2(s, flag_there, i, CU_STREAM_WAIT_VALUE_GEQ));
		copy_behind(s);
		OK(cuEventRecord(e, s));
		set_flag(i);
		if (i == 1)
			OK(cuStreamSynchronize(s));
		else if (i == 2)
			OK(cuEventSynchronize(e));
		else if (i == 3)
			while (cuEventQuery(e) == CUDA_ERROR_NOT_READY)
				usleep(1000);
		else
			while (cuStreamQuery(s) == CUDA_ERROR_NOT_READY)
				usleep(1000);
		check_copied();
	}
	OK(cuEventDestroy_v2(e));
	set_flag(0);
}

/* Another thread writes the value while this one waits, without a CUDA call. */
static void *write_flag_later(void *arg)
{
	usleep(100000);
	set_flag(7);
	return arg;
}

static void test_other_thread(void)
{
	pthread_t thread;

	OK(cuStreamWaitValue32_v2(s, flag_there, 7, CU_STREAM_WAIT_VALUE_EQ));
	copy_behind(s);
	pthread_create(&thread, NULL, write_flag_later, NULL);
	OK(cuCtxSynchronize());
	check_copied();
	pthread_join(thread, NULL);
	set_flag(0);
}

static void test_other_stream(void)
{
	CUstreamBatchMemOpParams two[2] = {{0}};

	OK(cuStreamWaitValue64_v2(s, word, 5, CU_STREAM_WAIT_VALUE_GEQ));
	copy_behind(s);
	OK(cuStreamWriteValue64_v2(other, word, 5, 0));
	OK(cuStreamSynchronize(s));
	check_copied();
	for (int i = 0; i < 2; i++) {
		two[i].waitValue.operation = i ? CU_STREAM_MEM_OP_WAIT_VALUE_32 : CU_STREAM_MEM_OP_WRITE_VALUE_32;
		two[i].waitValue.address = i ? word + 8 : word + 16;
		two[i].waitValue.value = 1;
	}
	OK(cuStreamBatchMemOp_v2(s, 2, two, 0));
	copy_behind(s);
	OK(cuStreamWriteValue32_v2(other, word + 8, 1, 0));
	OK(cuStreamSynchronize(s));
	check_copied();
	CHECK_EQ(word_at(word + 16), 1);
}

/* A stream that waits for an event behind a value wait. */
static void test_event(void)
{
	CUevent e = NULL;

	OK(cuEventCreate(&e, CU_EVENT_DISABLE_TIMING));
	OK(cuStreamWaitValue32_v2(s, flag_there, 9, CU_STREAM_WAIT_VALUE_EQ));
	OK(cuEventRecord(e, s));
	OK(cuStreamWaitEvent(other, e, 0));
	copy_behind(other);
	set_flag(9);
	OK(cuStreamSynchronize(other));
	check_copied();
	OK(cuEventDestroy_v2(e));
	set_flag(0);
}

/* Pinned to pinned memory, and rows. */
static void test_other_copies(void)
{
	CUDA_MEMCPY2D rows = {.srcMemoryType = CU_MEMORYTYPE_DEVICE,
		.srcDevice = memory_there,
		.srcPitch = 1000,
		.dstMemoryType = CU_MEMORYTYPE_HOST,
		.dstHost = out,
		.dstPitch = 1000,
		.WidthInBytes = 1000,
		.Height = 300};

	OK(cuStreamWaitValue32_v2(s, flag_there, 3, CU_STREAM_WAIT_VALUE_EQ));
	memset(out, 0, BYTES);
	OK(cuMemcpyAsync((uintptr_t)out, (uintptr_t)in, BYTES, s));
	fill_pattern(in, 77);
	CHECK_EQ(cuStreamQuery(s), CUDA_ERROR_NOT_READY);
	set_flag(3);
	OK(cuStreamSynchronize(s));
	check_copied();
	OK(cuMemcpyHtoD_v2(memory_there, in, BYTES));
	OK(cuStreamWaitValue32_v2(s, flag_there, 4, CU_STREAM_WAIT_VALUE_EQ));
	memset(out, 0, BYTES);
	OK(cuMemcpy2DAsync_v2(&rows, s));
	CHECK_EQ(cuStreamQuery(s), CUDA_ERROR_NOT_READY);
	set_flag(4);
	OK(cuStreamSynchronize(s));
	check_copied();
	set_flag(0);
}

/*
 * An upload that waits for room in the arena behind a value wait must not block other streams of the context.  How far the
 * threads get is a matter of timing: the test may miss a thread that blocks, but never fails without one.
 */
enum { LARGE_UPLOAD = 80 << 20, SMALL_UPLOAD = 4 << 20 };

static void *upload_in_thread(void *arg)
{
	CUstream *stream = arg;
	size_t size = *stream == s ? LARGE_UPLOAD : SMALL_UPLOAD;
	CUdeviceptr p = 0;
	void *from = calloc(1, size);

	OK(cuCtxSetCurrent(context));
	OK(cuMemAlloc_v2(&p, size));
	OK(cuMemcpyHtoDAsync_v2(p, from, size, *stream));
	OK(cuStreamSynchronize(*stream));
	OK(cuMemFree_v2(p));
	free(from);
	return NULL;
}

static void test_full_arena(void)
{
	pthread_t large, small;
	CUstream fresh = NULL;

	OK(cuStreamWaitValue32_v2(s, flag_there, 2, CU_STREAM_WAIT_VALUE_EQ));
	pthread_create(&large, NULL, upload_in_thread, &s);
	for (int i = 0; i < 30; i++) {
		usleep(10000);
		if (i == 15)
			pthread_create(&small, NULL, upload_in_thread, &other);
		OK(cuStreamCreate(&fresh, CU_STREAM_NON_BLOCKING));
		OK(cuStreamSynchronize(fresh));
		OK(cuStreamDestroy_v2(fresh));
	}
	set_flag(2);
	pthread_join(small, NULL);
	pthread_join(large, NULL);
	set_flag(0);
}

/* Last, because value waits in a graph count as pending for the rest of the process. */
static void test_graph(void)
{
	CUgraphExec x = NULL;
	CUgraph g = NULL;

	OK(cuStreamBeginCapture_v2(s, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
	OK(cuStreamWaitValue32_v2(s, flag_there, 6, CU_STREAM_WAIT_VALUE_EQ));
	OK(cuStreamEndCapture(s, &g));
	OK(cuGraphInstantiateWithFlags(&x, g, 0));
	for (int i = 0; i < 3; i++) {
		OK(cuGraphLaunch(x, s));
		copy_behind(s);
		set_flag(6);
		OK(cuStreamSynchronize(s));
		check_copied();
		set_flag(0);
	}
	OK(cuGraphExecDestroy(x));
	OK(cuGraphDestroy(g));
}

int main(void)
{
	void *p = NULL;

	alarm(230); /* ends a call that never returns */
	start();
	OK(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
	OK(cuStreamCreate(&other, CU_STREAM_NON_BLOCKING));
	OK(cuMemHostAlloc((void **)&in, BYTES, 0));
	OK(cuMemHostAlloc((void **)&out, BYTES, 0));
	OK(cuMemHostAlloc(&p, 4096, CU_MEMHOSTALLOC_DEVICEMAP));
	flag = p;
	OK(cuMemHostGetDevicePointer_v2(&flag_there, p, 0));
	memory_there = memory(BYTES);
	word = memory(64);
	test_host_writes();
	test_other_thread();
	test_other_stream();
	test_event();
	test_other_copies();
	test_full_arena();
	test_graph();
	return failures ? 1 : 0;
}
