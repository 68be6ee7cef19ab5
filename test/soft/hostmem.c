/*
 * Host memory, managed memory and pointers.  Every expected result is that of the vendor driver (580, CUDA 13.0).
 */
#include <sys/mman.h>
#include "engine.h"

static char own[1 << 20] __attribute__((aligned(4096)));

static void host(void)
{
	void *h = own, *h2;
	unsigned f;

	OK(soft_cuMemFreeHost(NULL));
	CHECK_EQ(soft_cuMemFreeHost(own), CUDA_ERROR_INVALID_VALUE);
	OK(soft_cuMemHostAlloc(&h, 0, 0));
	CHECK(!h);
	CHECK_EQ(soft_cuMemHostAlloc(&h, 16, 8), CUDA_ERROR_INVALID_VALUE);
	CHECK_EQ(soft_cuMemHostAlloc(NULL, 16, 0), CUDA_ERROR_INVALID_VALUE);
	CHECK_EQ(soft_cuMemHostAlloc(&h, 1ull << 63, 0), CUDA_ERROR_OUT_OF_MEMORY);
	CHECK_EQ(soft_cuMemHostAlloc(&h, 1ull << 45, 0), CUDA_ERROR_OUT_OF_MEMORY);
	OK(soft_cuMemAllocHost_v2(&h, 4096));
	memset(h, 1, 4096);
	for (unsigned flags = 0; flags < 8; flags++) {
		if (flags & CU_MEMHOSTALLOC_DEVICEMAP && !HAS(CAN_MAP_HOST_MEMORY)) {
			CHECK_EQ(soft_cuMemHostAlloc(&h2, 100, flags), CUDA_ERROR_NOT_SUPPORTED);
			continue;
		}
		OK(soft_cuMemHostAlloc(&h2, 100, flags));
		OK(soft_cuMemHostGetFlags(&f, (char *)h2 + 5));
		CHECK_EQ(f, (flags & 4 ? flags & 5 : 0) | (HAS(CAN_MAP_HOST_MEMORY) ? 2 : 0));
		CHECK_EQ(soft_cuMemFreeHost((char *)h2 + 64), CUDA_ERROR_INVALID_VALUE);
		OK(soft_cuMemFreeHost(h2));
		CHECK_EQ(soft_cuMemFreeHost(h2), CUDA_ERROR_INVALID_VALUE);
	}
	CUdeviceptr d = 0;
	if (HAS(CAN_MAP_HOST_MEMORY)) {
		OK(soft_cuMemHostGetDevicePointer_v2(&d, (char *)h + 8, 0));
		CHECK_EQ(d, (CUdeviceptr)(uintptr_t)h + 8);
	} else {
		CHECK_EQ(soft_cuMemHostGetDevicePointer_v2(&d, (char *)h + 8, 0), CUDA_ERROR_NOT_SUPPORTED);
	}
	CHECK_EQ(soft_cuMemHostGetDevicePointer_v2(&d, h, 1), CUDA_ERROR_INVALID_VALUE);
	CHECK_EQ(soft_cuMemHostGetDevicePointer_v2(&d, own, 0), CUDA_ERROR_INVALID_VALUE);
	OK(soft_cuMemFreeHost(h));
}

/* A server maps whole pages, and only regions so large that hardly anything else shares their pages. */
static size_t register_unit(void)
{
	const char *device = getenv("GANGWAY_DEVICE");

	return device && !strncmp(device, "unix:", 5) ? 256 << 10 : 4096;
}

static void read_only(void)
{
	char *ro = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CUdeviceptr d;

	OK(soft_cuMemHostRegister_v2(ro, 4096, CU_MEMHOSTREGISTER_READ_ONLY));
	OK(soft_cuMemAlloc_v2(&d, 4096));
	CHECK_EQ(soft_cuMemcpyDtoD_v2((CUdeviceptr)(uintptr_t)ro, d, 64), CUDA_ERROR_INVALID_VALUE);
	OK(soft_cuMemcpyDtoD_v2(d, (CUdeviceptr)(uintptr_t)ro, 64));
	OK(soft_cuMemHostUnregister(ro));
	OK(soft_cuMemFree_v2(d));
	munmap(ro, 4096);
}

static void registered(void)
{
	size_t page = register_unit();
	unsigned f;
	void *h;
	char *hole = mmap(NULL, 65536, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	OK(soft_cuMemAllocHost_v2(&h, 4096));
	CHECK_EQ(soft_cuMemHostRegister_v2(own, 0, 0), CUDA_ERROR_INVALID_VALUE);
	CHECK_EQ(soft_cuMemHostRegister_v2(NULL, page, 0), CUDA_ERROR_INVALID_VALUE);
	CHECK_EQ(soft_cuMemHostRegister_v2(own, page, 16), CUDA_ERROR_INVALID_VALUE);
	CHECK_EQ(soft_cuMemHostRegister_v2(h, 4096, 0), CUDA_ERROR_INVALID_VALUE);
	munmap(hole + 8192, 4096); /* last, so that nothing else is mapped there */
	CHECK_EQ(soft_cuMemHostRegister_v2(hole, 65536, 0), CUDA_ERROR_INVALID_VALUE);
	CHECK_EQ(soft_cuMemHostRegister_v2((void *)0x10000, 4096, 0), CUDA_ERROR_INVALID_VALUE);
	OK(soft_cuMemHostRegister_v2(own, 2 * page, 0));
	CHECK_EQ(soft_cuMemHostRegister_v2(own, 2 * page, 0), CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED);
	CHECK_EQ(soft_cuMemHostRegister_v2(own + page, 2 * page, 0), CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED);
	OK(soft_cuMemHostRegister_v2(own + 2 * page, page - 100, 1));
	OK(soft_cuMemHostGetFlags(&f, own + 2 * page));
	CHECK_EQ(f, HAS(CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM)
			    ? 3
			    : 1); /* over TCP, registered memory is for copies only */
	CHECK_EQ(soft_cuMemFreeHost(own), CUDA_ERROR_INVALID_VALUE);
	CHECK_EQ(soft_cuMemHostUnregister(own + 8), CUDA_ERROR_INVALID_VALUE);
	OK(soft_cuMemHostUnregister(own));
	CHECK_EQ(soft_cuMemHostUnregister(own), CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED);
	CHECK_EQ(soft_cuMemHostUnregister(NULL), CUDA_ERROR_INVALID_VALUE);
	CHECK_EQ(soft_cuMemHostUnregister(h), CUDA_ERROR_INVALID_VALUE);
	if (HAS(READ_ONLY_HOST_REGISTER_SUPPORTED))
		read_only();
	OK(soft_cuMemFreeHost(h));
	OK(soft_cuMemHostUnregister(own + 2 * page));
}

static int range_attribute(CUmem_range_attribute a, CUdeviceptr p, size_t n)
{
	int v = -77;

	OK(soft_cuMemRangeGetAttribute(&v, 4, a, p, n));
	return v;
}

static void managed(void)
{
	CUmemLocation device = {CU_MEM_LOCATION_TYPE_DEVICE, 0}, bad = {0};
	CUdeviceptr m, d;
	CUstream s;
	int by[3];

	CHECK_EQ(soft_cuMemAllocManaged(&m, 0, 1), CUDA_ERROR_INVALID_VALUE);
	CHECK_EQ(soft_cuMemAllocManaged(&m, 16, 0), CUDA_ERROR_INVALID_VALUE);
	CHECK_EQ(soft_cuMemAllocManaged(&m, 16, 4), CUDA_ERROR_INVALID_VALUE);
	CHECK_EQ(soft_cuMemAllocManaged(&m, 1ull << 60, 1), CUDA_ERROR_OUT_OF_MEMORY);
	OK(soft_cuMemAllocManaged(&m, 1 << 20, 1));
	OK(soft_cuMemAlloc_v2(&d, 4096));
	OK(soft_cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
	memset((void *)m, 7, 1 << 20);
	CHECK_EQ(range_attribute(CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION, m, 4096), CU_DEVICE_INVALID);
	OK(soft_cuMemAdvise_v2(m, 4096, CU_MEM_ADVISE_SET_READ_MOSTLY, device));
	CHECK_EQ(range_attribute(CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY, m, 4096), 1);
	CHECK_EQ(range_attribute(CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY, m, 65536), 0);
	OK(soft_cuMemAdvise(m, 4096, CU_MEM_ADVISE_SET_PREFERRED_LOCATION, CU_DEVICE_CPU));
	CHECK_EQ(range_attribute(CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION, m, 4096), CU_DEVICE_CPU);
	CHECK_EQ(range_attribute(CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION, m, 8192), CU_DEVICE_INVALID);
	CHECK_EQ(soft_cuMemAdvise(m, 4096, CU_MEM_ADVISE_SET_PREFERRED_LOCATION, 99), CUDA_ERROR_INVALID_DEVICE);
	CHECK_EQ(soft_cuMemAdvise_v2(m, 4096, CU_MEM_ADVISE_SET_READ_MOSTLY, bad), CUDA_ERROR_INVALID_VALUE);
	CHECK_EQ(soft_cuMemAdvise_v2(d, 4096, CU_MEM_ADVISE_SET_READ_MOSTLY, device), CUDA_ERROR_INVALID_VALUE);
	CHECK_EQ(soft_cuMemAdvise_v2(m, 2 << 20, CU_MEM_ADVISE_SET_READ_MOSTLY, device), CUDA_ERROR_INVALID_VALUE);
	OK(soft_cuMemAdvise(m, 1 << 20, CU_MEM_ADVISE_SET_ACCESSED_BY, 0));
	OK(soft_cuMemAdvise(m, 1 << 20, CU_MEM_ADVISE_SET_ACCESSED_BY, CU_DEVICE_CPU));
	OK(soft_cuMemRangeGetAttribute(by, sizeof by, CU_MEM_RANGE_ATTRIBUTE_ACCESSED_BY, m, 1 << 20));
	CHECK(by[0] == 0 && by[1] == CU_DEVICE_CPU && by[2] == CU_DEVICE_INVALID);
	CHECK_EQ(
		soft_cuMemRangeGetAttribute(by, 6, CU_MEM_RANGE_ATTRIBUTE_ACCESSED_BY, m, 4), CUDA_ERROR_INVALID_VALUE);
	OK(soft_cuMemPrefetchAsync(m + 100, 3900, 0, s));
	CHECK_EQ(range_attribute(CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION, m, 8192), CU_DEVICE_INVALID);
	CHECK_EQ(range_attribute(CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION, m, 4096), 0);
	CHECK_EQ(soft_cuMemPrefetchAsync(m, 4096, 99, s), CUDA_ERROR_INVALID_DEVICE);
	CHECK_EQ(soft_cuMemPrefetchAsync(d, 4096, 0, s), CUDA_ERROR_INVALID_VALUE);
	CUdeviceptr list[2] = {m, m + 65536};
	size_t sizes[2] = {4096, 8192}, first = 0, second = 1;
	OK(soft_cuMemPrefetchBatchAsync(list, sizes, 2, &device, &first, 1, 0, s));
	CHECK_EQ(soft_cuMemPrefetchBatchAsync(list, sizes, 2, &device, &second, 1, 0, s), CUDA_ERROR_INVALID_VALUE);
	CHECK_EQ(soft_cuMemPrefetchBatchAsync(list, sizes, 2, &device, &first, 1, 0, NULL), CUDA_ERROR_INVALID_VALUE);
	OK(soft_cuMemDiscardBatchAsync(list, sizes, 2, 0, s));
	OK(soft_cuStreamSynchronize(s));
	CHECK_EQ(*(char *)(m + 65536 + 8192), 7);
	OK(soft_cuStreamAttachMemAsync(s, m, 0, CU_MEM_ATTACH_SINGLE));
	CHECK_EQ(soft_cuStreamAttachMemAsync(s, m, 4096, CU_MEM_ATTACH_SINGLE), CUDA_ERROR_INVALID_VALUE);
	CHECK_EQ(soft_cuStreamAttachMemAsync(NULL, m, 0, CU_MEM_ATTACH_SINGLE), CUDA_ERROR_INVALID_VALUE);
	CHECK_EQ(soft_cuStreamAttachMemAsync(s, d, 0, CU_MEM_ATTACH_GLOBAL), CUDA_ERROR_INVALID_VALUE);
	OK(soft_cuStreamDestroy_v2(s));
	OK(soft_cuMemFree_v2(d));
	OK(soft_cuMemFree_v2(m));
}

/* One attribute of a pointer; -1 - error for an error. */
static long long attribute_of(CUpointer_attribute a, CUdeviceptr p)
{
	unsigned long long v = 0;
	CUresult r = soft_cuPointerGetAttribute(&v, a, p);

	return r ? -1 - (long long)r : (long long)v;
}

static void pointers(void)
{
	CUcontext ctx;
	CUdeviceptr d, m;
	void *h;
	int stack = 0, on = 1;

	OK(soft_cuCtxGetCurrent(&ctx));
	OK(soft_cuMemAlloc_v2(&d, 1000));
	OK(soft_cuMemHostAlloc(&h, 5000, 0));
	OK(soft_cuMemAllocManaged(&m, 5000, 1));
	CHECK_EQ(attribute_of(CU_POINTER_ATTRIBUTE_CONTEXT, d), (uintptr_t)ctx);
	CHECK_EQ(attribute_of(CU_POINTER_ATTRIBUTE_MEMORY_TYPE, d), CU_MEMORYTYPE_DEVICE);
	CHECK_EQ(attribute_of(CU_POINTER_ATTRIBUTE_MEMORY_TYPE, (CUdeviceptr)(uintptr_t)h), CU_MEMORYTYPE_HOST);
	CHECK_EQ(attribute_of(CU_POINTER_ATTRIBUTE_MEMORY_TYPE, m), CU_MEMORYTYPE_DEVICE);
	CHECK_EQ(attribute_of(CU_POINTER_ATTRIBUTE_IS_MANAGED, m), 1);
	CHECK_EQ(attribute_of(CU_POINTER_ATTRIBUTE_HOST_POINTER, m + 7), m + 7);
	CHECK_EQ(attribute_of(CU_POINTER_ATTRIBUTE_HOST_POINTER, d), -2);
	CHECK_EQ(attribute_of(CU_POINTER_ATTRIBUTE_DEVICE_POINTER, d + 8), d + 8);
	CHECK_EQ(attribute_of(CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, d + 8), d);
	CHECK_EQ(attribute_of(CU_POINTER_ATTRIBUTE_RANGE_SIZE, d + 8), 1000);
	CHECK_EQ(attribute_of(CU_POINTER_ATTRIBUTE_MAPPING_SIZE, d), 0x200000);
	CHECK_EQ(attribute_of(CU_POINTER_ATTRIBUTE_ACCESS_FLAGS, d), 3);
	CHECK_EQ(attribute_of(CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE, d), 1);
	CHECK_EQ(attribute_of(CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE, m), 0);
	CHECK_EQ(attribute_of(CU_POINTER_ATTRIBUTE_MEMORY_TYPE, (CUdeviceptr)(uintptr_t)&stack), -2);
	CHECK_EQ(attribute_of(0, d), -2);
	CHECK_EQ(attribute_of(22, d), -2);
	CHECK_EQ(attribute_of(CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, d), 0);
	OK(soft_cuPointerSetAttribute(&on, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, d));
	CHECK_EQ(attribute_of(CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, d), 1);
	CHECK_EQ(soft_cuPointerSetAttribute(&on, CU_POINTER_ATTRIBUTE_IS_MANAGED, d), CUDA_ERROR_INVALID_VALUE);

	unsigned type = 9, device = 9;
	void *where = NULL;
	CUpointer_attribute which[] = {CU_POINTER_ATTRIBUTE_MEMORY_TYPE, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL,
		CU_POINTER_ATTRIBUTE_HOST_POINTER};
	void *data[] = {&type, &device, &where};
	OK(soft_cuPointerGetAttributes(3, which, data, (CUdeviceptr)(uintptr_t)&stack));
	CHECK(type == 0 && (int)device == CU_DEVICE_INVALID && where == &stack);
	OK(soft_cuPointerGetAttributes(3, which, data, d));
	CHECK(type == CU_MEMORYTYPE_DEVICE && device == 0 && where == NULL);
	CHECK_EQ(soft_cuPointerGetAttributes(0, which, data, d), CUDA_ERROR_INVALID_VALUE);
	CHECK_EQ(soft_cuMemGetHandleForAddressRange(&stack, d, 4096, 1, 0), CUDA_ERROR_NOT_SUPPORTED);
	OK(soft_cuMemFree_v2(m));
	OK(soft_cuMemFreeHost(h));
	OK(soft_cuMemFree_v2(d));
	CHECK_EQ(attribute_of(CU_POINTER_ATTRIBUTE_MEMORY_TYPE, d), -2);
}

int main(void)
{
	CUcontext ctx;

	OK(soft_open(&test_engine, NULL));
	OK(soft_cuCtxCreate_v2(&ctx, 0, 0));
	host();
	registered();
	managed();
	pointers();
	OK(soft_cuCtxDestroy_v2(ctx));
	return RESULT();
}
