/*
 * Memory pools: their statistics are those of the vendor driver for the same calls; a freed block is reused in its
 * stream at once, and in other streams when it may be; many threads at once lose nothing.
 */
#include <pthread.h>
#include <unistd.h>
#include "engine.h"

#define MB (1ull << 20)

static unsigned long long pool_attribute(CUmemoryPool p, CUmemPool_attribute a)
{
	unsigned long long v = 0;

	OK(soft_cuMemPoolGetAttribute(p, a, &v));
	return v;
}

#define STATS(p, res, res_high, use, use_high) \
	do { \
		CHECK_EQ(pool_attribute(p, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT), res); \
		CHECK_EQ(pool_attribute(p, CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH), res_high); \
		CHECK_EQ(pool_attribute(p, CU_MEMPOOL_ATTR_USED_MEM_CURRENT), use); \
		CHECK_EQ(pool_attribute(p, CU_MEMPOOL_ATTR_USED_MEM_HIGH), use_high); \
	} while (0)

static void statistics(CUstream s)
{
	CUmemoryPool p, q;
	CUdeviceptr a, b, c;
	unsigned long long keep = 64 * MB, zero = 0, five = 5;
	size_t before, after, total;

	OK(soft_cuDeviceGetDefaultMemPool(&p, 0));
	OK(soft_cuDeviceGetMemPool(&q, 0));
	CHECK(p == q);
	OK(soft_cuMemGetInfo_v2(&before, &total));
	OK(soft_cuMemAllocAsync(&a, 1, s));
	STATS(p, 32 * MB, 32 * MB, 1, 1);
	OK(soft_cuMemGetInfo_v2(&after, &total));
	CHECK_EQ(before - after, 32 * MB);
	OK(soft_cuMemAllocAsync(&b, 1000, s));
	CHECK_EQ(b - a, 512);
	OK(soft_cuMemAllocAsync(&c, 40 * MB, s));
	STATS(p, 64 * MB, 64 * MB, 40 * MB + 1001, 40 * MB + 1001);
	OK(soft_cuMemsetD8Async(c, 5, 40 * MB, s));
	OK(soft_cuMemFreeAsync(c, s));
	OK(soft_cuStreamSynchronize(s));
	STATS(p, 32 * MB, 64 * MB, 1001, 40 * MB + 1001);
	CHECK_EQ(soft_cuMemFreeAsync(c, s), CUDA_ERROR_INVALID_VALUE);
	CHECK_EQ(soft_cuMemcpyHtoD_v2(c, &zero, 8), CUDA_ERROR_INVALID_VALUE);
	OK(soft_cuMemFreeAsync(b, s));
	OK(soft_cuMemFree_v2(a));
	OK(soft_cuStreamSynchronize(s));
	STATS(p, 0, 64 * MB, 0, 40 * MB + 1001);
	OK(soft_cuMemGetInfo_v2(&after, &total));
	CHECK_EQ(before, after);
	OK(soft_cuMemFreeAsync(0, s));
	OK(soft_cuMemAllocAsync(&a, 0, s));
	CHECK_EQ(a, 0);
	CHECK_EQ(soft_cuMemAllocAsync(&a, 1ull << 63, s), CUDA_ERROR_OUT_OF_MEMORY);
	CHECK_EQ(soft_cuMemAllocAsync(NULL, 1, s), CUDA_ERROR_INVALID_VALUE);
	OK(soft_cuMemPoolSetAttribute(p, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &keep));
	OK(soft_cuMemAllocAsync(&a, MB, s));
	OK(soft_cuMemFreeAsync(a, s));
	OK(soft_cuStreamSynchronize(s));
	CHECK_EQ(pool_attribute(p, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT), 32 * MB);
	OK(soft_cuMemPoolTrimTo(p, 0));
	CHECK_EQ(pool_attribute(p, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT), 0);
	OK(soft_cuMemPoolSetAttribute(p, CU_MEMPOOL_ATTR_USED_MEM_HIGH, &zero));
	CHECK_EQ(soft_cuMemPoolSetAttribute(p, CU_MEMPOOL_ATTR_USED_MEM_HIGH, &five), CUDA_ERROR_INVALID_VALUE);
	CHECK_EQ(soft_cuMemPoolSetAttribute(p, CU_MEMPOOL_ATTR_USED_MEM_CURRENT, &zero), CUDA_ERROR_INVALID_VALUE);
	CHECK_EQ(soft_cuMemPoolDestroy(p), CUDA_ERROR_INVALID_VALUE);
	OK(soft_cuMemAlloc_v2(&a, 4096));
	OK(soft_cuMemFreeAsync(a, s));
	CHECK_EQ(soft_cuMemFree_v2(a), CUDA_ERROR_INVALID_VALUE);
}

/* Make the stream wait until the returned word is 1. */
static CUdeviceptr gate(CUstream s)
{
	CUdeviceptr word;

	OK(soft_cuMemAlloc_v2(&word, 4));
	OK(soft_cuMemsetD32_v2(word, 0, 1));
	OK(soft_cuStreamSynchronize(NULL));
	OK(soft_cuStreamWaitValue32_v2(s, word, 1, CU_STREAM_WAIT_VALUE_EQ));
	return word;
}

/* A block freed in a busy stream is reused by that stream at once, and not by another stream. */
static void reuse_order(CUstream s)
{
	CUdeviceptr a, b, c, open;
	CUstream other;
	char byte = 0;

	OK(soft_cuStreamCreate(&other, CU_STREAM_NON_BLOCKING));
	OK(soft_cuMemAllocAsync(&a, 8192, s));
	open = gate(s);
	OK(soft_cuMemsetD8Async(a, 1, 8192, s));
	OK(soft_cuMemFreeAsync(a, s));
	CHECK_EQ(soft_cuMemFreeAsync(a, s), CUDA_ERROR_INVALID_VALUE);
	OK(soft_cuMemAllocAsync(&c, 8192, other));
	CHECK(c != a);
	OK(soft_cuMemsetD8Async(c, 3, 8192, other));
	OK(soft_cuStreamSynchronize(other));
	OK(soft_cuMemAllocAsync(&b, 8000, s));
	CHECK_EQ(a, b);
	OK(soft_cuMemsetD8Async(b, 2, 8000, s));
	poke(open, 1);
	OK(soft_cuStreamSynchronize(s));
	OK(soft_cuMemFree_v2(open));
	OK(soft_cuMemcpyDtoH_v2(&byte, b + 7999, 1));
	CHECK_EQ(byte, 2);
	OK(soft_cuMemFreeAsync(b, other));
	OK(soft_cuMemFreeAsync(c, s));
	OK(soft_cuStreamSynchronize(s));
	OK(soft_cuStreamDestroy_v2(other));
}

static void created_pool(CUstream s)
{
	CUmemPoolProps props = {.allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
		.location = {CU_MEM_LOCATION_TYPE_DEVICE, 0},
		.maxSize = MB};
	CUmemAccessDesc access = {{CU_MEM_LOCATION_TYPE_DEVICE, 0}, CU_MEM_ACCESS_FLAGS_PROT_NONE};
	CUmemoryPool p, q, def;
	CUdeviceptr a, b;
	CUmemAccess_flags flags;
	int fd;

	OK(soft_cuMemPoolCreate(&p, &props));
	OK(soft_cuMemAllocFromPoolAsync(&a, 4096, p, s));
	OK(soft_cuMemAllocFromPoolAsync(&b, 2 * MB, p, s));
	OK(soft_cuMemFreeAsync(b, s));
	CHECK_EQ(soft_cuMemAllocFromPoolAsync(&b, 64 * MB, p, s), CUDA_ERROR_OUT_OF_MEMORY);
	CHECK_EQ(soft_cuMemPoolSetAccess(p, &access, 1), CUDA_ERROR_INVALID_DEVICE);
	access.flags = CU_MEM_ACCESS_FLAGS_PROT_READ;
	CHECK_EQ(soft_cuMemPoolSetAccess(p, &access, 1), CUDA_ERROR_NOT_SUPPORTED);
	OK(soft_cuMemPoolGetAccess(&flags, p, &access.location));
	CHECK_EQ(flags, CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
	CHECK_EQ(soft_cuMemPoolExportToShareableHandle(&fd, p, 1, 0),
		HAS(HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED) ? CUDA_ERROR_INVALID_VALUE : CUDA_ERROR_NOT_SUPPORTED);
	OK(soft_cuDeviceSetMemPool(0, p));
	OK(soft_cuDeviceGetMemPool(&q, 0));
	CHECK(p == q);
	OK(soft_cuMemPoolDestroy(p));
	CHECK_EQ(soft_cuMemPoolDestroy(p), CUDA_ERROR_INVALID_VALUE);
	OK(soft_cuDeviceGetDefaultMemPool(&def, 0));
	OK(soft_cuDeviceGetMemPool(&q, 0));
	CHECK(q == def);
	OK(soft_cuMemcpyHtoD_v2(a, "still there", 12)); /* a block outlives its pool */
	OK(soft_cuMemFreeAsync(a, s));
	OK(soft_cuStreamSynchronize(s));
	props.location.id = 9;
	CHECK_EQ(soft_cuMemPoolCreate(&p, &props), CUDA_ERROR_INVALID_VALUE);
	props.location = (CUmemLocation){CU_MEM_LOCATION_TYPE_HOST, 0};
	if (!served()) { /* behind a server, host memory of the pool would be out of reach */
		OK(soft_cuMemPoolCreate(&p, &props));
		OK(soft_cuMemPoolDestroy(p));
	} else {
		CHECK_EQ(soft_cuMemPoolCreate(&p, &props), CUDA_ERROR_NOT_SUPPORTED);
	}
	props.location = (CUmemLocation){CU_MEM_LOCATION_TYPE_DEVICE, 0};
	props.allocType = 0;
	CHECK_EQ(soft_cuMemPoolCreate(&p, &props), CUDA_ERROR_INVALID_VALUE);
	if (HAS(HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED)) {
		CHECK_EQ(soft_cuMemPoolImportFromShareableHandle(&p, (void *)0, 1, 0), CUDA_ERROR_INVALID_VALUE);
		CHECK_EQ(soft_cuMemPoolImportFromShareableHandle(&p, (void *)777, 1, 0), CUDA_ERROR_UNKNOWN);
	}
	CHECK_EQ(soft_cuMemAllocFromPoolAsync(&a, 4096, NULL, s), CUDA_ERROR_INVALID_VALUE);
}

/* cuMemAlloc gets the memory that a pool keeps; without memory the error is 2, without side effects. */
static void out_of_memory(CUstream s)
{
	unsigned long long keep = ~0ull;
	size_t free_, total;
	CUmemoryPool p;
	CUdeviceptr a, b;

	OK(soft_cuDeviceGetDefaultMemPool(&p, 0));
	OK(soft_cuMemPoolSetAttribute(p, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &keep));
	OK(soft_cuMemAllocAsync(&a, 600 * MB, s));
	CHECK_EQ(soft_cuMemAllocAsync(&b, 600 * MB, s), CUDA_ERROR_OUT_OF_MEMORY);
	CHECK_EQ(soft_cuMemAlloc_v2(&b, 600 * MB), CUDA_ERROR_OUT_OF_MEMORY);
	OK(soft_cuMemFreeAsync(a, s));
	OK(soft_cuStreamSynchronize(s));
	CHECK(pool_attribute(p, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT) >= 600 * MB);
	OK(soft_cuMemAlloc_v2(&b, 600 * MB));
	OK(soft_cuMemFree_v2(b));
	keep = 0;
	OK(soft_cuMemPoolSetAttribute(p, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &keep));
	OK(soft_cuMemPoolTrimTo(p, 0));
	OK(soft_cuMemGetInfo_v2(&free_, &total));
	CHECK_EQ(free_, total);
}

static CUcontext shared;

static void *hammer(void *arg)
{
	CUdeviceptr p[16] = {0};
	unsigned seed = (unsigned)(uintptr_t)arg + 1;
	CUstream s, s2;

	OK(soft_cuCtxSetCurrent(shared));
	OK(soft_cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
	OK(soft_cuStreamCreate(&s2, CU_STREAM_NON_BLOCKING));
	for (int i = 0; i < 1500; i++) {
		unsigned at = (seed = seed * 1103515245 + 12345) >> 16 & 15;
		size_t size = 1 + (seed >> 8) % (i % 50 ? 5000 : 3000000);

		if (p[at]) {
			if (i % 3 == 0) /* s must have finished with a block that s2 frees */
				OK(soft_cuStreamSynchronize(s));
			OK(soft_cuMemFreeAsync(p[at], i % 3 ? s : s2));
			p[at] = 0;
			continue;
		}
		OK(soft_cuMemAllocAsync(&p[at], size, s));
		OK(soft_cuMemsetD8Async(p[at], (int)i, size, s));
		if (i % 64 == 0)
			OK(soft_cuStreamSynchronize(s));
	}
	OK(soft_cuStreamSynchronize(s));
	for (int i = 0; i < 16; i++)
		OK(soft_cuMemFreeAsync(p[i], s));
	OK(soft_cuStreamSynchronize(s));
	OK(soft_cuStreamDestroy_v2(s));
	OK(soft_cuStreamDestroy_v2(s2));
	return NULL;
}

static void threads(void)
{
	size_t free_, total;
	CUmemoryPool p;
	pthread_t t[4];

	OK(soft_cuCtxGetCurrent(&shared));
	for (uintptr_t i = 0; i < 4; i++)
		pthread_create(&t[i], NULL, hammer, (void *)i);
	for (int i = 0; i < 4; i++)
		pthread_join(t[i], NULL);
	OK(soft_cuCtxSynchronize());
	OK(soft_cuDeviceGetDefaultMemPool(&p, 0));
	CHECK_EQ(pool_attribute(p, CU_MEMPOOL_ATTR_USED_MEM_CURRENT), 0);
	OK(soft_cuMemPoolTrimTo(p, 0));
	CHECK_EQ(pool_attribute(p, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT), 0);
	OK(soft_cuMemGetInfo_v2(&free_, &total));
	CHECK_EQ(free_, total);
}

int main(void)
{
	struct soft_config config = {.memory = 1024 * MB};
	CUcontext ctx;
	CUstream s;

	OK(soft_open(&test_engine, &config));
	OK(soft_cuCtxCreate_v2(&ctx, 0, 0));
	OK(soft_cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
	statistics(s);
	reuse_order(s);
	created_pool(s);
	out_of_memory(s);
	threads();
	OK(soft_cuCtxDestroy_v2(ctx));
	return RESULT();
}
