/*
 * Stream-ordered allocation: freed memory is unknown at once, and pools do not mix.  An event that is recorded several
 * times completes with its last record.
 */
#include <pthread.h>
#include <stdbool.h>
#include "application.h"

#define TIMES 100
#define SIZE  (1 << 20)

static CUcontext context;

/* Not alone: another thread may have been given the freed memory. */
static void allocate_and_free(CUstream s, bool alone)
{
	CUdeviceptr p = 0;
	unsigned char back = 0;

	for (int i = 0; i < TIMES; i++) {
		OK(cuMemAllocAsync(&p, SIZE, s));
		CHECK(p);
		OK(cuMemFreeAsync(p, s));
		if (alone)
			CHECK_EQ(cuMemFreeAsync(p, s), CUDA_ERROR_INVALID_VALUE);
	}
	OK(cuMemAllocAsync(&p, SIZE, s));
	OK(cuMemsetD8Async(p, 7, SIZE, s));
	OK(cuMemcpyDtoHAsync_v2(&back, p + SIZE - 1, 1, s));
	OK(cuStreamSynchronize(s));
	CHECK(back == 7);
	OK(cuMemFreeAsync(p, s));
	OK(cuStreamSynchronize(s));
}

/* No call accepts the address of freed memory. */
static void check_freed(CUstream s, CUstream other)
{
	CUdeviceptr p = 0, q = 0, base = 0;
	CUmemorytype type = 0;
	size_t size = 0;

	OK(cuMemAllocAsync(&p, SIZE, s));
	OK(cuMemFreeAsync(p, s));
	CHECK_EQ(cuMemGetAddressRange_v2(&base, &size, p), CUDA_ERROR_NOT_FOUND);
	CHECK_EQ(cuMemsetD8Async(p, 0, 1, s), CUDA_ERROR_INVALID_VALUE);
	CHECK_EQ(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, p), CUDA_ERROR_INVALID_VALUE);
	OK(cuMemAllocAsync(&p, SIZE, s));
	OK(cuMemFreeAsync(p, s));
	OK(cuMemAllocAsync(&q, SIZE / 2, s));
	OK(cuMemFreeAsync(q, s));
	OK(cuMemAllocAsync(&q, SIZE / 2, other));
	OK(cuMemAllocAsync(&p, SIZE, s));
	CHECK(p != q);
	OK(cuMemFreeAsync(p, s));
	OK(cuMemFreeAsync(q, s)); /* in another stream than the one that allocated it */
	OK(cuStreamSynchronize(s));
	OK(cuStreamSynchronize(other));
}

/* Memory of one pool is not reused for an allocation from another. */
static void check_pools(CUstream s)
{
	CUmemPoolProps props = {
		.allocType = CU_MEM_ALLOCATION_TYPE_PINNED, .location = {CU_MEM_LOCATION_TYPE_DEVICE, 0}};
	CUmemoryPool mine, first;
	cuuint64_t used = 0;
	CUdeviceptr p = 0;

	OK(cuDeviceGetMemPool(&first, 0));
	OK(cuMemPoolCreate(&mine, &props));
	OK(cuMemAllocAsync(&p, SIZE, s));
	OK(cuDeviceSetMemPool(0, mine));
	OK(cuMemFreeAsync(p, s));
	OK(cuMemAllocAsync(&p, SIZE, s));
	OK(cuMemPoolGetAttribute(mine, CU_MEMPOOL_ATTR_USED_MEM_CURRENT, &used));
	CHECK(used >= SIZE);
	OK(cuMemFreeAsync(p, s));
	OK(cuMemAllocFromPoolAsync(&p, SIZE, first, s));
	OK(cuStreamSynchronize(s));
	OK(cuMemPoolGetAttribute(mine, CU_MEMPOOL_ATTR_USED_MEM_CURRENT, &used));
	CHECK(used == 0);
	OK(cuMemFreeAsync(p, s));
	OK(cuDeviceSetMemPool(0, first));
	OK(cuMemPoolDestroy(mine));
}

static void *thread(void *arg)
{
	CUstream s;

	(void)arg;
	OK(cuCtxSetCurrent(context));
	OK(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
	for (int i = 0; i < 20; i++)
		allocate_and_free(s, false);
	OK(cuStreamDestroy_v2(s));
	return NULL;
}

static void repeated_records(CUstream s)
{
	unsigned char back = 0;
	CUdeviceptr p = 0;
	CUevent e;

	OK(cuMemAlloc_v2(&p, 4096));
	OK(cuEventCreate(&e, CU_EVENT_DISABLE_TIMING));
	for (int i = 0; i < TIMES; i++)
		OK(cuEventRecord(e, s));
	OK(cuEventSynchronize(e));
	for (unsigned char i = 0; i < 20; i++) {
		OK(cuMemsetD8Async(p, i, 4096, s));
		OK(cuMemcpyDtoHAsync_v2(&back, p + 4095, 1, s));
		OK(cuEventRecord(e, s));
		OK(cuEventRecord(e, s));
		OK(cuEventSynchronize(e));
		CHECK(back == i);
	}
	OK(cuEventDestroy_v2(e));
	OK(cuMemFree_v2(p));
}

int main(void)
{
	pthread_t threads[4];
	CUstream s, other;

	check_start();
	OK(cuCtxGetCurrent(&context));
	OK(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
	OK(cuStreamCreate(&other, CU_STREAM_NON_BLOCKING));
	allocate_and_free(s, true);
	repeated_records(s);
	check_freed(s, other);
	check_pools(s);
	for (int i = 0; i < 4; i++)
		pthread_create(&threads[i], NULL, thread, NULL);
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	OK(cuStreamDestroy_v2(s));
	OK(cuStreamDestroy_v2(other));
	return failures != 0;
}
