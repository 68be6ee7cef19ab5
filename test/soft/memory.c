/*
 * Device memory: addresses and limits; copies and fills write the right bytes in the right order, and refuse other
 * memory; many threads at once.
 */
#include <pthread.h>
#include <unistd.h>
#include "engine.h"

enum { MIB = 1 << 20 };

static void allocation(void)
{
	CUdeviceptr p, q, base;
	size_t size, free0, free1, total;

	OK(soft_cuMemGetInfo_v2(&free0, &total));
	CHECK(total == 256 * MIB && free0 <= total);
	CHECK_EQ(soft_cuMemAlloc_v2(&p, 0), CUDA_ERROR_INVALID_VALUE);
	CHECK_EQ(soft_cuMemAlloc_v2(NULL, 16), CUDA_ERROR_INVALID_VALUE);
	CHECK_EQ(soft_cuMemAlloc_v2(&p, 1ull << 60), CUDA_ERROR_OUT_OF_MEMORY);
	CHECK_EQ(soft_cuMemAlloc_v2(&p, 1ull << 63), CUDA_ERROR_OUT_OF_MEMORY);
	CHECK_EQ(soft_cuMemAlloc_v2(&p, ~0ull), CUDA_ERROR_OUT_OF_MEMORY);
	OK(soft_cuMemAlloc_v2(&p, 200 * MIB));
	CHECK_EQ(soft_cuMemAlloc_v2(&q, 100 * MIB), CUDA_ERROR_OUT_OF_MEMORY); /* refused, without side effects */
	OK(soft_cuMemGetInfo_v2(&free1, &total));
	CHECK_EQ(free0 - free1, 200 * MIB);
	OK(soft_cuMemGetAddressRange_v2(&base, &size, p + 12345));
	CHECK(base == p && size == 200 * MIB);
	CHECK_EQ(soft_cuMemFree_v2(p + 512), CUDA_ERROR_INVALID_VALUE);
	OK(soft_cuMemFree_v2(p));
	CHECK_EQ(soft_cuMemFree_v2(p), CUDA_ERROR_INVALID_VALUE);
	OK(soft_cuMemFree_v2(0));
	CHECK_EQ(soft_cuMemFree_v2(0x1234), CUDA_ERROR_INVALID_VALUE);
	OK(soft_cuMemGetInfo_v2(&free1, &total));
	CHECK_EQ(free0, free1);
	CHECK_EQ(soft_cuMemGetAddressRange_v2(&base, &size, p), CUDA_ERROR_NOT_FOUND);
}

static unsigned char byte_at(CUdeviceptr p)
{
	unsigned char byte = 0;

	OK(soft_cuMemcpyDtoH_v2(&byte, p, 1));
	return byte;
}

/* Many small blocks of mixed sizes, freed out of order: aligned, disjoint, and all freed in the end. */
static void small_blocks(void)
{
	enum { N = 4000 };
	static CUdeviceptr p[N];
	size_t before, after, total;

	OK(soft_cuMemGetInfo_v2(&before, &total));
	for (int i = 0; i < N; i++) {
		OK(soft_cuMemAlloc_v2(&p[i], 1 + i * 37 % 3000));
		CHECK_EQ(p[i] % 512, 0);
		OK(soft_cuMemsetD8_v2(p[i], (unsigned char)i, 1 + i * 37 % 3000));
	}
	for (int i = 0; i < N; i++)
		CHECK_EQ(byte_at(p[i] + i * 37 % 3000), i & 0xff);
	for (int i = 0; i < N; i += 2)
		OK(soft_cuMemFree_v2(p[i]));
	for (int i = 0; i < N; i += 2)
		OK(soft_cuMemAlloc_v2(&p[i], 700));
	for (int i = 1; i < N; i += 2) /* unchanged */
		CHECK_EQ(byte_at(p[i]), i & 0xff);
	for (int i = 0; i < N; i++)
		OK(soft_cuMemFree_v2(p[i]));
	OK(soft_cuMemGetInfo_v2(&after, &total));
	CHECK_EQ(before, after);
}

static void copies(void)
{
	static unsigned char in[MIB], out[MIB];
	CUdeviceptr p, q;
	CUstream s;

	for (int i = 0; i < MIB; i++)
		in[i] = i * 7 + i / 256;
	OK(soft_cuMemAlloc_v2(&p, MIB));
	OK(soft_cuMemAlloc_v2(&q, MIB));
	OK(soft_cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
	OK(soft_cuMemcpyHtoD_v2(p, in, MIB));
	OK(soft_cuMemcpyDtoD_v2(q, p, MIB));
	OK(soft_cuMemcpyDtoH_v2(out, q, MIB));
	CHECK(!memcmp(in, out, MIB));
	memset(out, 0, MIB);
	OK(soft_cuMemcpy(p, (uintptr_t)in, MIB));
	OK(soft_cuStreamSynchronize(NULL)); /* the copy may still be pending, and s does not wait for it */
	OK(soft_cuMemcpyAsync(q, p, MIB, s));
	OK(soft_cuMemcpyDtoHAsync_v2(out, q, MIB, s)); /* pageable: complete when the call returns */
	CHECK(!memcmp(in, out, MIB));
	OK(soft_cuMemcpyPeer(q, soft_current(), p, soft_current(), MIB));
	CHECK_EQ(soft_cuMemcpyHtoD_v2(p, NULL, 4), CUDA_ERROR_INVALID_VALUE);
	CHECK_EQ(soft_cuMemcpyDtoH_v2(NULL, p, 4), CUDA_ERROR_INVALID_VALUE);
	OK(soft_cuMemcpyDtoH_v2(NULL, 0, 0));
	CHECK_EQ(soft_cuMemcpyHtoD_v2(p, in, MIB + 1), CUDA_ERROR_INVALID_VALUE);
	CHECK_EQ(soft_cuMemcpyHtoD_v2(p + MIB - 1, in, 2), CUDA_ERROR_INVALID_VALUE);
	CHECK_EQ(soft_cuMemcpyDtoH_v2(out, p, 1ull << 63), CUDA_ERROR_INVALID_VALUE);
	CHECK_EQ(soft_cuMemcpyHtoD_v2((uintptr_t)out, in, 4), CUDA_ERROR_INVALID_VALUE); /* not device memory */
	OK(soft_cuMemFree_v2(q));
	CHECK_EQ(soft_cuMemcpyDtoH_v2(out, q, 4), CUDA_ERROR_INVALID_VALUE); /* freed */
	OK(soft_cuMemFree_v2(p));
	OK(soft_cuStreamDestroy_v2(s));
}

/* A pageable source may be reused as soon as the asynchronous copy returns, however late it runs. */
static void staging(void)
{
	CUdeviceptr flag, p;
	CUstream s;
	int x = 42, y = 0;

	OK(soft_cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
	OK(soft_cuMemAlloc_v2(&flag, 4));
	OK(soft_cuMemAlloc_v2(&p, 4));
	OK(soft_cuMemsetD32_v2(flag, 0, 1));
	OK(soft_cuStreamWaitValue32_v2(s, flag, 1, CU_STREAM_WAIT_VALUE_GEQ));
	OK(soft_cuMemcpyHtoDAsync_v2(p, &x, 4, s));
	x = 0;
	CHECK_EQ(soft_cuStreamQuery(s), CUDA_ERROR_NOT_READY);
	CUstream writer;
	OK(soft_cuStreamCreate(&writer, CU_STREAM_NON_BLOCKING));
	OK(soft_cuStreamWriteValue32_v2(writer, flag, 1, 0));
	OK(soft_cuStreamSynchronize(s));
	OK(soft_cuMemcpyDtoH_v2(&y, p, 4));
	CHECK_EQ(y, 42);
	CHECK_EQ(soft_cuStreamWaitValue32_v2(s, flag + 1, 1, 0), CUDA_ERROR_INVALID_VALUE);
	CHECK_EQ(soft_cuStreamWriteValue64_v2(s, 8, 1, 0), CUDA_ERROR_INVALID_VALUE);
	OK(soft_cuMemFree_v2(flag));
	OK(soft_cuMemFree_v2(p));
	OK(soft_cuStreamDestroy_v2(s));
	OK(soft_cuStreamDestroy_v2(writer));
}

static void fills(void)
{
	unsigned short h[64];
	unsigned w[16];
	unsigned char b[64];
	CUdeviceptr p;

	OK(soft_cuMemAlloc_v2(&p, 64));
	OK(soft_cuMemsetD8_v2(p, 0, 64));
	OK(soft_cuMemsetD16_v2(p + 2, 0xabcd, 3));
	OK(soft_cuMemcpyDtoH_v2(h, p, 64));
	CHECK(h[0] == 0 && h[1] == 0xabcd && h[3] == 0xabcd && h[4] == 0);
	OK(soft_cuMemsetD32Async(p, 0x01020304, 16, NULL));
	OK(soft_cuMemcpyDtoH_v2(w, p, 64));
	CHECK(w[0] == 0x01020304 && w[15] == 0x01020304);
	OK(soft_cuMemsetD8_v2(p, 0, 64));
	OK(soft_cuMemsetD2D8_v2(p + 1, 16, 9, 3, 4));
	OK(soft_cuMemcpyDtoH_v2(b, p, 64));
	for (int i = 0; i < 64; i++)
		CHECK_EQ(b[i], i % 16 >= 1 && i % 16 < 4 ? 9 : 0);
	OK(soft_cuMemsetD8_v2(0, 1, 0));
	CHECK_EQ(soft_cuMemsetD8_v2(p, 1, 65), CUDA_ERROR_INVALID_VALUE);
	CHECK_EQ(soft_cuMemsetD8_v2(0, 1, 1), CUDA_ERROR_INVALID_VALUE);
	CHECK_EQ(soft_cuMemsetD32_v2(p + 2, 1, 1), CUDA_ERROR_INVALID_VALUE); /* not aligned */
	CHECK_EQ(soft_cuMemsetD32_v2(p, 1, 1ull << 62), CUDA_ERROR_INVALID_VALUE);
	CHECK_EQ(soft_cuMemsetD2D8_v2(p, 16, 1, 16, 5), CUDA_ERROR_INVALID_VALUE);
	CHECK_EQ(soft_cuMemsetD2D8_v2(p, 2, 1, 16, 2), CUDA_ERROR_INVALID_VALUE);
	CHECK_EQ(soft_cuMemsetD2D32_v2(p, 1ull << 63, 1, 1, 3), CUDA_ERROR_INVALID_VALUE);
	OK(soft_cuMemFree_v2(p));
}

/* One thread launches and wakes another, which synchronizes and reads what the launch wrote. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static int turn; /* even: the launching thread's */
static CUcontext shared;
static CUdeviceptr cell;
enum { ROUNDS = 2000 };

#ifndef APPLICATION
static CUresult add_one(const struct image_kernel *k, const struct launch *l)
{
	int *p = *(int *const *)l->params;

	(void)k;
	*p += 1;
	return CUDA_SUCCESS;
}
#endif

static void *reader(void *arg)
{
	int got = -1;

	(void)arg;
	OK(soft_cuCtxSetCurrent(shared));
	for (int i = 0; i < ROUNDS; i++) {
		pthread_mutex_lock(&lock);
		while (turn != 2 * i + 1)
			pthread_cond_wait(&cond, &lock);
		pthread_mutex_unlock(&lock);
		OK(soft_cuStreamSynchronize(NULL));
		OK(soft_cuMemcpyDtoH_v2(&got, cell, 4));
		CHECK_EQ(got, i + 1);
		pthread_mutex_lock(&lock);
		turn++;
		pthread_cond_broadcast(&cond);
		pthread_mutex_unlock(&lock);
	}
	return NULL;
}

static void launch_and_read_in_two_threads(void)
{
	static const char ptx[] =
		".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 p)\n"
		"{ .reg .u64 %a; .reg .u32 %v; ld.param.u64 %a, [p]; atom.global.add.u32 %v, [%a], 1; ret; }\n";
	CUmodule m;
	CUfunction f;
	pthread_t t;
	void *params[] = {&cell};

	OK(soft_cuCtxGetCurrent(&shared));
	OK(soft_cuModuleLoadData(&m, ptx));
	OK(soft_cuModuleGetFunction(&f, m, "k"));
	OK(soft_cuMemAlloc_v2(&cell, 4));
	OK(soft_cuMemsetD32_v2(cell, 0, 1));
	kernels_do(add_one);
	pthread_create(&t, NULL, reader, NULL);
	for (int i = 0; i < ROUNDS; i++) {
		OK(soft_cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL));
		pthread_mutex_lock(&lock);
		turn++;
		pthread_cond_broadcast(&cond);
		while (turn != 2 * i + 2)
			pthread_cond_wait(&cond, &lock);
		pthread_mutex_unlock(&lock);
	}
	pthread_join(t, NULL);
	OK(soft_cuModuleUnload(m));
	OK(soft_cuMemFree_v2(cell));
}

/* Sixteen threads, each with its own stream. */
static void *worker(void *arg)
{
	unsigned char in[3000], out[3000];
	CUdeviceptr p, q;
	CUstream s;

	OK(soft_cuCtxSetCurrent(shared));
	OK(soft_cuStreamCreate(&s, (uintptr_t)arg % 2 ? CU_STREAM_NON_BLOCKING : CU_STREAM_DEFAULT));
	for (int i = 0; i < 60; i++) {
		OK(soft_cuMemAlloc_v2(&p, sizeof in));
		OK(soft_cuMemAlloc_v2(&q, sizeof in));
		memset(in, i + (int)(uintptr_t)arg, sizeof in);
		OK(soft_cuMemcpyHtoDAsync_v2(p, in, sizeof in, s));
		OK(soft_cuMemcpyDtoDAsync_v2(q, p, sizeof in, s));
		OK(soft_cuMemsetD8Async(p, 0, sizeof in, s));
		OK(soft_cuMemcpyDtoHAsync_v2(out, q, sizeof out, s));
		OK(soft_cuStreamSynchronize(s));
		CHECK(!memcmp(in, out, sizeof in));
		OK(soft_cuMemFree_v2(p));
		OK(soft_cuMemFree_v2(q));
	}
	OK(soft_cuStreamDestroy_v2(s));
	return NULL;
}

static void threads(void)
{
	pthread_t t[16];

	for (uintptr_t i = 0; i < 16; i++)
		pthread_create(&t[i], NULL, worker, (void *)i);
	for (int i = 0; i < 16; i++)
		pthread_join(t[i], NULL);
}

int main(void)
{
	CUcontext ctx;

	OK(soft_open(&test_engine, &(struct soft_config){.memory = 256 * MIB}));
	OK(soft_cuCtxCreate_v2(&ctx, 0, 0));
	allocation();
	small_blocks();
	copies();
	staging();
	fills();
	launch_and_read_in_two_threads();
	threads();
	OK(soft_cuCtxDestroy_v2(ctx));
	return RESULT();
}
