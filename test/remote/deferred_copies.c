/*
 * Copies of pinned memory behind host functions that fill or read it: the copies use the bytes that are there when the
 * stream gets there, and no copy call blocks, however many copies are pending.
 *
 *	deferred_copies [posts]		posts: only test_many, for deferred-copies.sh, which counts frames
 */
#include <pthread.h>
#include <stdatomic.h>
#include "driver.h"

enum { SIZE = 3 << 20 };

static atomic_int gate, ran;
static CUstream s;

static unsigned char *pinned_alloc(size_t size)
{
	void *p = NULL;

	OK(cuMemHostAlloc(&p, size, 0));
	memset(p, 1, size);
	return p;
}

static void fill_pattern(unsigned char *p, size_t n, unsigned seed)
{
	for (size_t i = 0; i < n; i++)
		p[i] = (i * 31 + i / 251 + seed) & 0xff;
}

static void wait_gate(void *unused)
{
	(void)unused;
	while (!gate)
		usleep(100);
}

static void fill_nine(void *p)
{
	wait_gate(NULL);
	memset(p, 9, SIZE);
}

static void fill_numbers(void *p)
{
	wait_gate(NULL);
	fill_pattern(p, SIZE, 5);
}

static void set_ran(void *unused)
{
	(void)unused;
	ran = 1;
}

/* Many copies behind a host function that fills their source once all of them are submitted. */
static void test_many(void)
{
	unsigned char *in = pinned_alloc(SIZE), last = 0;
	CUdeviceptr p = memory(SIZE);

	gate = 0;
	OK(cuLaunchHostFunc(s, fill_nine, in));
	for (int i = 0; i < 50; i++)
		OK(cuMemcpyHtoDAsync_v2(p, in, SIZE, s));
	gate = 1;
	OK(cuStreamSynchronize(s));
	OK(cuMemcpyDtoH_v2(&last, p + SIZE - 1, 1));
	CHECK_EQ(last, 9);
	OK(cuMemFreeHost(in));
	OK(cuMemFree_v2(p));
}

/* Up, down and host to host, one behind the other, each larger than a piece; and an empty copy. */
static void test_directions(void)
{
	enum { LARGE = 3 * SIZE + 12345 };
	unsigned char *in = pinned_alloc(LARGE), *middle = pinned_alloc(LARGE), *out = pinned_alloc(LARGE);
	CUdeviceptr p = memory(LARGE), q = memory(LARGE);

	fill_pattern(in, LARGE, 3);
	gate = 0;
	OK(cuLaunchHostFunc(s, fill_numbers, in));
	OK(cuMemcpyHtoDAsync_v2(p, in, LARGE, s));
	OK(cuMemcpyDtoHAsync_v2(middle, p, LARGE, s));
	OK(cuMemcpyHtoDAsync_v2(q, middle, LARGE, s));
	OK(cuMemcpyDtoHAsync_v2(out, q, LARGE, s));
	OK(cuMemcpyAsync((uintptr_t)in + LARGE - 100, (uintptr_t)out, 100, s));
	OK(cuMemcpyAsync((uintptr_t)in, (uintptr_t)out, 0, s));
	gate = 1;
	OK(cuStreamSynchronize(s));
	CHECK(!memcmp(in, out, LARGE - 100));
	CHECK(!memcmp(in + LARGE - 100, out, 100));
	CHECK(out[SIZE - 1] == (((SIZE - 1) * 31u + (SIZE - 1) / 251 + 5) & 0xff));
	OK(cuMemFree_v2(p));
	OK(cuMemFree_v2(q));
	OK(cuMemFreeHost(in));
	OK(cuMemFreeHost(middle));
	OK(cuMemFreeHost(out));
}

/* A copy up reads the bytes of a pending copy down, after all host functions have run. */
static void test_down_then_up(void)
{
	enum { LARGE = 48 << 20 };
	unsigned char *buffer = pinned_alloc(LARGE), last = 0;
	CUdeviceptr p = memory(LARGE), q = memory(16);

	OK(cuMemsetD8_v2(p, 7, LARGE));
	OK(cuStreamSynchronize(NULL));
	for (int i = 0; i < 3; i++) {
		memset(buffer, 1, LARGE);
		ran = gate = 0;
		OK(cuLaunchHostFunc(s, wait_gate, NULL));
		OK(cuLaunchHostFunc(s, set_ran, NULL));
		OK(cuMemcpyDtoHAsync_v2(buffer, p, LARGE, s));
		gate = 1;
		while (!ran)
			usleep(10);
		usleep(500);
		OK(cuMemcpyHtoDAsync_v2(q, buffer + LARGE - 16, 16, s));
		OK(cuStreamSynchronize(s));
		OK(cuMemcpyDtoH_v2(&last, q + 15, 1));
		CHECK_EQ(last, 7);
	}
	OK(cuMemFree_v2(p));
	OK(cuMemFree_v2(q));
	OK(cuMemFreeHost(buffer));
}

/* A synchronous copy of pinned memory has completed when it returns, as non-blocking streams can see. */
static void test_synchronous(void)
{
	enum { LARGE = 256 << 20, SMALL_COPY = 16384 };
	unsigned char *in = pinned_alloc(SMALL_COPY), *out = pinned_alloc(SMALL_COPY);
	CUdeviceptr p = memory(LARGE), last = p + LARGE - SMALL_COPY;
	CUDA_MEMCPY2D two = {.srcMemoryType = CU_MEMORYTYPE_HOST,
		.srcHost = in,
		.srcPitch = 64,
		.dstMemoryType = CU_MEMORYTYPE_DEVICE,
		.dstDevice = last,
		.dstPitch = 64,
		.WidthInBytes = 64,
		.Height = SMALL_COPY / 64};

	for (int i = 0; i < 3; i++) {
		memset(in, 10 + i, SMALL_COPY);
		OK(cuMemsetD8Async(p, 200, LARGE, NULL));
		if (i == 0)
			OK(cuMemcpyHtoD_v2(last, in, SMALL_COPY));
		else if (i == 1)
			OK(cuMemcpy(last, (uintptr_t)in, SMALL_COPY));
		else
			OK(cuMemcpy2D_v2(&two));
		OK(cuMemcpyDtoHAsync_v2(out, last, SMALL_COPY, s));
		OK(cuStreamSynchronize(s));
		CHECK_EQ(out[SMALL_COPY - 1], 10 + i);
	}
	OK(cuMemFree_v2(p));
	OK(cuMemFreeHost(in));
	OK(cuMemFreeHost(out));
}

static void *open_gate(void *unused)
{
	usleep(50000);
	gate = 1;
	return unused;
}

/* Freeing or unregistering pinned memory waits for the pending copies of it. */
static void test_free(void)
{
	static unsigned char own[SIZE];
	unsigned char *in = pinned_alloc(SIZE), last = 0;
	CUdeviceptr p = memory(SIZE);
	pthread_t thread;

	for (int registered = 0; registered < 2; registered++) {
		gate = 0;
		if (registered)
			OK(cuMemHostRegister_v2(in = own, SIZE, 0));
		OK(cuLaunchHostFunc(s, registered ? fill_numbers : fill_nine, in));
		OK(cuMemcpyHtoDAsync_v2(p, in, SIZE, s));
		CHECK(!pthread_create(&thread, NULL, open_gate, NULL));
		OK(registered ? cuMemHostUnregister(own) : cuMemFreeHost(in));
		memset(own, 3, SIZE);
		pthread_join(thread, NULL);
		OK(cuStreamSynchronize(s));
		OK(cuMemcpyDtoH_v2(&last, p + SIZE - 1, 1));
		CHECK_EQ(last, registered ? ((SIZE - 1) * 31u + (SIZE - 1) / 251 + 5) & 0xff : 9);
	}
	OK(cuMemFree_v2(p));
}

static void test_rows(void)
{
	enum { PITCH = 128, ROWS = 9, SLICES = 3 };
	unsigned char *in = pinned_alloc(SIZE), *out = pinned_alloc(SIZE);
	CUdeviceptr p = memory(PITCH * ROWS * SLICES);
	CUDA_MEMCPY3D up = {.srcMemoryType = CU_MEMORYTYPE_HOST,
		.srcHost = in,
		.srcPitch = PITCH,
		.srcHeight = ROWS,
		.srcXInBytes = 3,
		.srcY = 1,
		.srcZ = 1,
		.dstMemoryType = CU_MEMORYTYPE_DEVICE,
		.dstDevice = p,
		.dstPitch = PITCH,
		.dstHeight = ROWS,
		.WidthInBytes = 90,
		.Height = 5,
		.Depth = 2};
	CUDA_MEMCPY3D down = {.srcMemoryType = CU_MEMORYTYPE_DEVICE,
		.srcDevice = p,
		.srcPitch = PITCH,
		.srcHeight = ROWS,
		.dstMemoryType = CU_MEMORYTYPE_HOST,
		.dstHost = out,
		.dstPitch = 90,
		.dstHeight = 5,
		.WidthInBytes = 90,
		.Height = 5,
		.Depth = 2};
	unsigned wrong = 0;

	gate = 0;
	OK(cuLaunchHostFunc(s, fill_numbers, in));
	OK(cuMemcpy3DAsync_v2(&up, s));
	OK(cuMemcpy3DAsync_v2(&down, s));
	gate = 1;
	OK(cuStreamSynchronize(s));
	for (int z = 0; z < 2; z++)
		for (int y = 0; y < 5; y++)
			wrong += memcmp(out + (z * 5 + y) * 90, in + ((z + 1) * ROWS + y + 1) * PITCH + 3, 90) != 0;
	CHECK_EQ(wrong, 0);
	OK(cuMemFree_v2(p));
	OK(cuMemFreeHost(in));
	OK(cuMemFreeHost(out));
}

enum { SMALL = 5000, TIMES = 60, ALL = TIMES * SMALL };

static pthread_barrier_t both;

struct side {
	pthread_t thread;
	unsigned char *in, *out;
	CUdeviceptr p;
};

static void *submit_copies(void *arg)
{
	struct side *v = arg;

	OK(cuCtxSetCurrent(context));
	pthread_barrier_wait(&both);
	for (int at = 0; at < ALL; at += SMALL) {
		OK(cuMemcpyHtoDAsync_v2(v->p + at, v->in + at, SMALL, s));
		OK(cuMemcpyDtoHAsync_v2(v->out + at, v->p + at, SMALL, s));
	}
	return NULL;
}

/* Two threads submit copies to one stream, which share its pieces. */
static void test_two_threads(void)
{
	struct side side[2];

	for (int i = 0; i < 2; i++) {
		side[i] = (struct side){.in = pinned_alloc(ALL), .out = pinned_alloc(ALL), .p = memory(ALL)};
		fill_pattern(side[i].in, ALL, 77 * i);
	}
	pthread_barrier_init(&both, NULL, 2);
	gate = 0;
	OK(cuLaunchHostFunc(s, wait_gate, NULL));
	for (int i = 0; i < 2; i++)
		CHECK(!pthread_create(&side[i].thread, NULL, submit_copies, &side[i]));
	for (int i = 0; i < 2; i++)
		pthread_join(side[i].thread, NULL);
	gate = 1;
	OK(cuStreamSynchronize(s));
	for (int i = 0; i < 2; i++) {
		CHECK(!memcmp(side[i].in, side[i].out, ALL));
		OK(cuMemFree_v2(side[i].p));
		OK(cuMemFreeHost(side[i].in));
		OK(cuMemFreeHost(side[i].out));
	}
}

/* Many streams with pending copies: ordinary copies still work, and destroyed streams complete their copies. */
static void test_streams(void)
{
	enum { STREAMS = 40, READ_BACK = 4096 };
	unsigned char *in = pinned_alloc(SIZE), *out = pinned_alloc(STREAMS * READ_BACK), *own = malloc(8 * SIZE);
	CUdeviceptr p[STREAMS], q = memory(8 * SIZE);
	CUstream t[STREAMS];
	CUevent filled;
	unsigned wrong = 0;

	memset(own, 4, 8 * SIZE);
	OK(cuEventCreate(&filled, CU_EVENT_DISABLE_TIMING));
	for (int round = 0; round < 2; round++) {
		memset(in, 1, SIZE);
		for (int i = 0; i < STREAMS; i++) {
			p[i] = memory(SIZE);
			OK(cuStreamCreate(&t[i], CU_STREAM_NON_BLOCKING));
		}
		gate = 0;
		OK(cuLaunchHostFunc(t[0], fill_numbers, in));
		OK(cuEventRecord(filled, t[0]));
		for (int i = 0; i < STREAMS; i++) {
			OK(cuStreamWaitEvent(t[i], filled, 0));
			OK(cuMemcpyHtoDAsync_v2(p[i], in, SIZE, t[i]));
			OK(cuMemcpyDtoHAsync_v2(out + i * READ_BACK, p[i], READ_BACK, t[i]));
		}
		OK(cuMemcpyHtoDAsync_v2(q, own, 8 * SIZE, s));
		gate = 1;
		OK(cuStreamSynchronize(t[0]));
		CHECK(!memcmp(in, out, READ_BACK));
		for (int i = 1; i < STREAMS; i++)
			OK(cuStreamDestroy_v2(t[i]));
		OK(cuCtxSynchronize());
		OK(cuStreamDestroy_v2(t[0]));
		for (int i = 0; i < STREAMS; i++) {
			unsigned char last = 0;
			OK(cuMemcpyDtoH_v2(&last, p[i] + SIZE - 1, 1));
			wrong += last != in[SIZE - 1] || memcmp(in, out + i * READ_BACK, READ_BACK);
			OK(cuMemFree_v2(p[i]));
		}
	}
	CHECK_EQ(wrong, 0);
	OK(cuEventDestroy_v2(filled));
	OK(cuMemFree_v2(q));
	OK(cuMemFreeHost(in));
	OK(cuMemFreeHost(out));
	free(own);
}

int main(int argc, char **argv)
{
	start();
	OK(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
	test_many();
	if (argc == 1 || strcmp(argv[1], "posts")) {
		test_directions();
		test_down_then_up();
		test_synchronous();
		test_free();
		test_rows();
		test_two_threads();
		test_streams();
	}
	OK(cuStreamDestroy_v2(s));
	return RESULT();
}
