/*
 * Host memory, managed memory and pointer attributes: every call returns the result that the vendor driver (580, CUDA
 * 13.0) returns.  Where the link cannot provide that result, the call returns an error.
 */
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include "application.h"

static char own[1 << 20] __attribute__((aligned(4096)));

static void pinned(void)
{
	unsigned char back[5000];
	CUdeviceptr d = 0, mapped = 0;
	void *h = own, *h2 = NULL;
	unsigned f = 0;

	OK(cuMemFreeHost(NULL));
	CHECK_EQ(cuMemFreeHost(own), CUDA_ERROR_INVALID_VALUE);
	OK(cuMemHostAlloc(&h, 0, 0));
	CHECK(!h);
	CHECK_EQ(cuMemHostAlloc(&h, 16, 8), CUDA_ERROR_INVALID_VALUE);
	CHECK_EQ(cuMemHostAlloc(NULL, 16, 0), CUDA_ERROR_INVALID_VALUE);
	CHECK_EQ(cuMemHostAlloc(&h, 1ull << 63, 0), CUDA_ERROR_OUT_OF_MEMORY);
	CHECK_EQ(cuMemHostAlloc(&h, 1ull << 45, 0), CUDA_ERROR_OUT_OF_MEMORY);
	OK(cuMemAllocHost_v2(&h, 5000));
	for (unsigned flags = 0; flags < 8; flags++) {
		OK(cuMemHostAlloc(&h2, 100, flags));
		OK(cuMemHostGetFlags(&f, (char *)h2 + 5));
		CHECK(f == ((flags & 4 ? flags & 5 : 0) | 2)); /* PORTABLE shows only with WRITECOMBINED */
		CHECK_EQ(cuMemFreeHost((char *)h2 + 64), CUDA_ERROR_INVALID_VALUE);
		OK(cuMemFreeHost(h2));
		CHECK_EQ(cuMemFreeHost(h2), CUDA_ERROR_INVALID_VALUE);
	}
	CHECK_EQ(
		cuMemHostGetDevicePointer_v2(&mapped, (char *)h + 8, 0), check_shares() ? 0 : CUDA_ERROR_NOT_SUPPORTED);
	if (check_shares())
		CHECK(mapped == (CUdeviceptr)(uintptr_t)h + 8);
	CHECK_EQ(cuMemHostGetDevicePointer_v2(&d, own, 0), CUDA_ERROR_INVALID_VALUE);
	OK(cuMemAlloc_v2(&d, 5000));
	fill_bytes(h, 5000, 1);
	OK(cuMemcpyHtoDAsync_v2(d, h, 5000, NULL));
	OK(cuStreamSynchronize(NULL));
	memset(h, 0, 5000);
	OK(cuMemcpyDtoHAsync_v2(h, d, 5000, NULL));
	OK(cuStreamSynchronize(NULL));
	fill_bytes(back, 5000, 1);
	CHECK(!memcmp(h, back, 5000));
	if (check_shares()) {
		OK(cuMemsetD8_v2((uintptr_t)h, 0x5a, 100)); /* synchronous: the host sees the bytes on return */
		CHECK(((char *)h)[99] == 0x5a && ((unsigned char *)h)[100] == back[100]);
		OK(cuMemcpyDtoD_v2(d, (uintptr_t)h, 100));
		OK(cuMemcpyDtoH_v2(back, d, 100));
		CHECK(back[50] == 0x5a);
	}
	OK(cuMemFree_v2(d));
	OK(cuMemFreeHost(h));
}

/* Host and device write adjacent words at the same time; no write is lost. */
static void neighbours(void)
{
	unsigned back[16], *h = NULL;
	CUdeviceptr d = 0;

	OK(cuMemHostAlloc((void **)&h, sizeof back, CU_MEMHOSTALLOC_DEVICEMAP));
	OK(cuMemHostGetDevicePointer_v2(&d, h, 0));
	memset(h, 0, sizeof back);
	for (unsigned i = 1; i <= 20; i++) {
		OK(cuMemsetD32Async(d + 4, i, 1, NULL));
		OK(cuMemsetD32Async(d + 12, i, 1, NULL));
		h[2] = 100 + i; /* between the two sets, which may have completed unseen */
		usleep(500);
		h[0] = 200 + i; /* host words now enclose the first set */
		OK(cuMemsetD32Async(d + 20, i, 1, NULL));
		OK(cuStreamSynchronize(NULL));
		CHECK(h[0] == 200 + i && h[1] == i && h[2] == 100 + i && h[3] == i && h[5] == i);
		OK(cuMemcpyDtoH_v2(back, d, sizeof back));
		CHECK(!memcmp(back, h, sizeof back));
	}
	OK(cuMemFreeHost(h));
}

/* The device accesses mapped memory directly: small allocations with any flags, large ones with DEVICEMAP. */
static void mapped_memory(void)
{
	static const struct {
		size_t size;
		unsigned flags;
	} cases[] = {{8, CU_MEMHOSTALLOC_PORTABLE}, {3 << 20, CU_MEMHOSTALLOC_DEVICEMAP}};

	for (int i = 0; i < 2; i++) {
		unsigned char *h = NULL, last = 0;
		size_t n = cases[i].size;
		CUdeviceptr d = 0, other = 0;
		OK(cuMemHostAlloc((void **)&h, n, cases[i].flags));
		OK(cuMemHostGetDevicePointer_v2(&d, h, 0));
		OK(cuMemAlloc_v2(&other, n));
		memset(h, 1, n);
		for (unsigned char round = 2; round < 6; round++) {
			OK(cuMemsetD8Async(d, round, n / 2, NULL)); /* the host writes the other half */
			OK(cuStreamSynchronize(NULL));
			CHECK(h[0] == round && h[n / 2 - 1] == round && h[n - 1] == (round == 2 ? 1 : round - 1 + 100));
			h[n - 1] = round + 100;
			OK(cuMemcpyDtoDAsync_v2(other, d, n, NULL));
			OK(cuMemcpyDtoH_v2(&last, other + n - 1, 1));
			CHECK(last == round + 100);
		}
		OK(cuMemFree_v2(other));
		OK(cuMemFreeHost(h));
	}
}

static void many(void)
{
	enum { N = 200 };
	void *p[N] = {0};

	for (int i = 0; i < N; i++) {
		OK(cuMemHostAlloc(&p[i], 4096u * (i % 7 + 1) + i, 0));
		if (p[i])
			memset(p[i], i, 4096u * (i % 7 + 1) + i);
	}
	for (int i = 0; i < N; i += 2)
		OK(cuMemFreeHost(p[i]));
	for (int i = 0; i < N; i += 2)
		OK(cuMemHostAlloc(&p[i], 1 << 20, 0));
	for (int i = 1; i < N; i += 2)
		CHECK(p[i] && *(unsigned char *)p[i] == i);
	for (int i = 0; i < N; i++)
		OK(cuMemFreeHost(p[i]));
}

/* Memory that a device behind a server reaches only after the application has asked for the device address. */
static void registered_plain(char *p, size_t size)
{
	unsigned char *back = malloc(size);
	CUdeviceptr d = 0;
	unsigned f = 77;

	fill_bytes(p, size, 5);
	OK(cuMemHostRegister_v2(p, size, CU_MEMHOSTREGISTER_PORTABLE));
	CHECK_EQ(cuMemHostRegister_v2(p, size, 0), CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED);
	OK(cuMemHostGetFlags(&f, p));
	CHECK(f == (CU_MEMHOSTREGISTER_PORTABLE | (check_remote() ? 0 : CU_MEMHOSTREGISTER_DEVICEMAP)));
	OK(cuMemAlloc_v2(&d, size));
	fill_bytes(back, size, 5);
	for (int mapped = 0; mapped < 2; mapped++) {
		CUdeviceptr at = 0;
		fill_bytes(p, size, 5);
		OK(cuMemcpyHtoDAsync_v2(d, p, size, NULL));
		OK(cuMemsetD8Async(d, 9, 10, NULL));
		OK(cuMemcpyDtoHAsync_v2(p, d, size, NULL));
		OK(cuStreamSynchronize(NULL));
		CHECK(p[0] == 9 && p[9] == 9 && !memcmp(p + 10, back + 10, size - 10));
		OK(cuMemHostGetDevicePointer_v2(&at, p, 0));
		CHECK(at == (uintptr_t)p);
		OK(cuMemHostGetFlags(&f, p));
		CHECK_EQ(f, CU_MEMHOSTREGISTER_PORTABLE | CU_MEMHOSTREGISTER_DEVICEMAP);
	}
	OK(cuMemHostUnregister(p));
	CHECK_EQ(cuMemHostUnregister(p), CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED);
	CHECK(!memcmp(p + 10, back + 10, size - 10));
	OK(cuMemFree_v2(d));
	free(back);
}

static void registered(void)
{
	unsigned char back[5000];
	CUdeviceptr d = 0;
	unsigned f = 0;
	char *hole = mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	munmap(hole + 8192, 4096);
	CHECK_EQ(cuMemHostRegister_v2(own, 0, 0), CUDA_ERROR_INVALID_VALUE);
	CHECK_EQ(cuMemHostRegister_v2(NULL, 4096, 0), CUDA_ERROR_INVALID_VALUE);
	CHECK_EQ(cuMemHostRegister_v2(own, 4096, 16), CUDA_ERROR_INVALID_VALUE);
	CHECK_EQ(cuMemHostRegister_v2(hole, 1 << 20, 0), CUDA_ERROR_INVALID_VALUE);
	CHECK_EQ(cuMemHostRegister_v2((void *)0x10000, 1 << 20, 0), CUDA_ERROR_INVALID_VALUE);
	registered_plain(own + 8, 1000);
	if (!check_shares()) {
		registered_plain(own, sizeof own);
		return;
	}
	fill_bytes(own, sizeof own, 4);
	OK(cuMemHostRegister_v2(own + 100, sizeof own - 200, 0));
	CHECK_EQ(cuMemHostRegister_v2(own + 100, 8192, 0), CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED);
	CHECK_EQ(cuMemHostRegister_v2(own + 4096, 8192, 0), CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED);
	OK(cuMemHostGetFlags(&f, own + 8192));
	CHECK(f == 2);
	OK(cuMemHostGetDevicePointer_v2(&d, own + 300, 0));
	CHECK(d == (uintptr_t)own + 300);
	CHECK_EQ(cuMemFreeHost(own + 100), CUDA_ERROR_INVALID_VALUE);
	CHECK_EQ(cuMemHostUnregister(own + 108), CUDA_ERROR_INVALID_VALUE);
	OK(cuMemAlloc_v2(&d, 5000));
	OK(cuMemcpyHtoD_v2(d, own + 300, 5000));
	OK(cuMemcpyDtoH_v2(back, d, 5000));
	CHECK(!memcmp(back, own + 300, 5000));
	OK(cuMemsetD8_v2((uintptr_t)own + 300, 7, 16));
	CHECK(own[300] == 7 && own[315] == 7);
	OK(cuMemHostUnregister(own + 100));
	CHECK_EQ(cuMemHostUnregister(own + 100), CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED);
	CHECK_EQ(cuMemHostUnregister(NULL), CUDA_ERROR_INVALID_VALUE);
	CHECK(own[300] == 7 && !memcmp(back + 16, own + 316, 4000)); /* unregistering keeps the contents */
	OK(cuMemFree_v2(d));
	munmap(hole, 1 << 20);
}

static int ask(CUmem_range_attribute a, CUdeviceptr p, size_t n)
{
	int v = -77;

	OK(cuMemRangeGetAttribute(&v, 4, a, p, n));
	return v;
}

static void advised(CUdeviceptr m, CUstream s)
{
	CUmemLocation device = {CU_MEM_LOCATION_TYPE_DEVICE, 0};
	CUdeviceptr list[2] = {m, m + 65536};
	size_t sizes[2] = {4096, 8192}, first = 0, second = 1;
	int by[3];

	CHECK(ask(CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION, m, 4096) == CU_DEVICE_INVALID);
	OK(cuMemAdvise_v2(m, 4096, CU_MEM_ADVISE_SET_READ_MOSTLY, device));
	CHECK(ask(CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY, m, 4096) == 1);
	CHECK(ask(CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY, m, 65536) == 0);
	CHECK_EQ(cuMemAdvise_v2(m, 2 << 20, CU_MEM_ADVISE_SET_READ_MOSTLY, device), CUDA_ERROR_INVALID_VALUE);
	OK(cuMemAdvise_v2(m, 1 << 20, CU_MEM_ADVISE_SET_ACCESSED_BY, device));
	OK(cuMemRangeGetAttribute(by, sizeof by, CU_MEM_RANGE_ATTRIBUTE_ACCESSED_BY, m, 1 << 20));
	CHECK(by[0] == 0 && by[1] == CU_DEVICE_INVALID);
	OK(cuMemPrefetchAsync_v2(m + 100, 3900, device, 0, s));
	CHECK(ask(CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION, m, 8192) == CU_DEVICE_INVALID);
	CHECK(ask(CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION, m, 4096) == 0);
	OK(cuMemPrefetchBatchAsync(list, sizes, 2, &device, &first, 1, 0, s));
	CHECK_EQ(cuMemPrefetchBatchAsync(list, sizes, 2, &device, &second, 1, 0, s), CUDA_ERROR_INVALID_VALUE);
	OK(cuMemDiscardBatchAsync(list, sizes, 2, 0, s));
	OK(cuStreamAttachMemAsync(s, m, 0, CU_MEM_ATTACH_SINGLE));
	CHECK_EQ(cuStreamAttachMemAsync(s, m, 4096, CU_MEM_ATTACH_SINGLE), CUDA_ERROR_INVALID_VALUE);
}

static void managed(void)
{
	CUdeviceptr m = 0, d = 0;
	CUstream s = NULL;

	CHECK_EQ(cuMemAllocManaged(&m, 0, 1), CUDA_ERROR_INVALID_VALUE);
	CHECK_EQ(cuMemAllocManaged(&m, 16, 4), CUDA_ERROR_INVALID_VALUE);
	CHECK_EQ(cuMemAllocManaged(&m, 1ull << 60, 1), CUDA_ERROR_OUT_OF_MEMORY);
	OK(cuMemAllocManaged(&m, 1 << 20, 1));
	OK(cuMemAlloc_v2(&d, 4096));
	OK(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
	fill_bytes((void *)m, 4096, 3);
	OK(cuMemcpy(d, m, 4096));
	OK(cuMemsetD32_v2(m, 0x01020304, 16));
	CHECK(*(unsigned *)m == 0x01020304);
	OK(cuMemcpy(m, d, 64));
	CHECK(*(unsigned *)m != 0x01020304);
	advised(m, s);
	CHECK_EQ(
		cuMemAdvise_v2(d, 4096, CU_MEM_ADVISE_SET_READ_MOSTLY, (CUmemLocation){CU_MEM_LOCATION_TYPE_DEVICE, 0}),
		CUDA_ERROR_INVALID_VALUE);
	OK(cuStreamDestroy_v2(s));
	OK(cuMemFree_v2(d));
	OK(cuMemFree_v2(m));
	CHECK_EQ(cuMemFree_v2(m), CUDA_ERROR_INVALID_VALUE);
}

/* The value of one pointer attribute; -1 - error if the call fails. */
static long long one(CUpointer_attribute a, CUdeviceptr p)
{
	unsigned long long v = 0;
	CUresult r = cuPointerGetAttribute(&v, a, p);

	return r ? -1 - (long long)r : (long long)v;
}

static void host_pointers(CUcontext ctx)
{
	CUdeviceptr m = 0, base = 0;
	size_t size = 0;
	void *h = NULL;

	OK(cuMemHostAlloc(&h, 5000, 0));
	CHECK(one(CU_POINTER_ATTRIBUTE_MEMORY_TYPE, (uintptr_t)h + 4999) == CU_MEMORYTYPE_HOST);
	CHECK(one(CU_POINTER_ATTRIBUTE_HOST_POINTER, (uintptr_t)h + 7) == (long long)(uintptr_t)h + 7);
	CHECK(one(CU_POINTER_ATTRIBUTE_CONTEXT, (uintptr_t)h) == (long long)(uintptr_t)ctx);
	CHECK(one(CU_POINTER_ATTRIBUTE_RANGE_SIZE, (uintptr_t)h) == 5000);
	OK(cuMemGetAddressRange_v2(&base, &size, (uintptr_t)h + 100));
	CHECK(base == (uintptr_t)h && size == 5000);
	OK(cuMemFreeHost(h));
	CHECK(one(CU_POINTER_ATTRIBUTE_MEMORY_TYPE, (uintptr_t)h) == -2);
	if (!check_shares())
		return;
	OK(cuMemAllocManaged(&m, 5000, 1));
	CHECK(one(CU_POINTER_ATTRIBUTE_MEMORY_TYPE, m) == CU_MEMORYTYPE_DEVICE);
	CHECK(one(CU_POINTER_ATTRIBUTE_IS_MANAGED, m) == 1);
	CHECK(one(CU_POINTER_ATTRIBUTE_HOST_POINTER, m + 7) == (long long)m + 7);
	CHECK(one(CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE, m) == 0);
	OK(cuMemFree_v2(m));
}

static void device_pointers(CUcontext ctx)
{
	unsigned type = 9, device = 9;
	void *where = NULL;
	CUpointer_attribute which[] = {CU_POINTER_ATTRIBUTE_MEMORY_TYPE, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL,
		CU_POINTER_ATTRIBUTE_HOST_POINTER};
	void *data[] = {&type, &device, &where};
	CUdeviceptr d = 0, base = 0;
	int stack = 0, on = 1;
	size_t size = 0;

	OK(cuMemAlloc_v2(&d, 1000));
	CHECK(one(CU_POINTER_ATTRIBUTE_CONTEXT, d) == (long long)(uintptr_t)ctx);
	CHECK(one(CU_POINTER_ATTRIBUTE_MEMORY_TYPE, d) == CU_MEMORYTYPE_DEVICE);
	CHECK(one(CU_POINTER_ATTRIBUTE_HOST_POINTER, d) == -2);
	CHECK(one(CU_POINTER_ATTRIBUTE_DEVICE_POINTER, d + 8) == (long long)d + 8);
	CHECK(one(CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, d + 8) == (long long)d);
	CHECK(one(CU_POINTER_ATTRIBUTE_RANGE_SIZE, d + 8) == 1000);
	CHECK(one(CU_POINTER_ATTRIBUTE_ACCESS_FLAGS, d) == 3);
	CHECK(one(CU_POINTER_ATTRIBUTE_MEMORY_TYPE, (uintptr_t)&stack) == -2);
	CHECK(one(0, d) == -2);
	CHECK(one(22, d) == -2);
	CHECK(one(CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, d) == 0);
	OK(cuPointerSetAttribute(&on, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, d));
	CHECK(one(CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, d) == 1);
	CHECK_EQ(cuPointerSetAttribute(&on, CU_POINTER_ATTRIBUTE_IS_MANAGED, d), CUDA_ERROR_INVALID_VALUE);
	CHECK_EQ(cuPointerSetAttribute(&on, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, (uintptr_t)&stack),
		CUDA_ERROR_INVALID_VALUE);
	OK(cuMemGetAddressRange_v2(&base, &size, d + 999));
	CHECK(base == d && size == 1000);
	OK(cuPointerGetAttributes(3, which, data, (uintptr_t)&stack));
	CHECK(type == 0 && (int)device == CU_DEVICE_INVALID && where == &stack);
	OK(cuPointerGetAttributes(3, which, data, d));
	CHECK(type == CU_MEMORYTYPE_DEVICE && device == 0 && where == NULL);
	CHECK_EQ(cuPointerGetAttributes(0, which, data, d), CUDA_ERROR_INVALID_VALUE);
	CHECK_EQ(cuMemGetHandleForAddressRange(&stack, d, 4096, 1, 0), CUDA_ERROR_NOT_SUPPORTED);
	OK(cuMemFree_v2(d));
	CHECK(one(CU_POINTER_ATTRIBUTE_MEMORY_TYPE, d) == -2);
	OK(cuMemAlloc_v2(&d, 700)); /* at the same address, perhaps: nothing of the old allocation is remembered */
	CHECK(one(CU_POINTER_ATTRIBUTE_RANGE_SIZE, d + 699) == 700);
	CHECK(one(CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, d) == 0);
	OK(cuMemFree_v2(d));
	OK(cuMemAllocAsync(&d, 4096, NULL));
	CHECK(one(CU_POINTER_ATTRIBUTE_MEMORY_TYPE, d) == CU_MEMORYTYPE_DEVICE);
	CHECK(one(CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, d + 5) == (long long)d);
	OK(cuMemFreeAsync(d, NULL));
	OK(cuStreamSynchronize(NULL));
}

int main(void)
{
	CUcontext ctx = check_start();

	pinned();
	mapped_memory();
	neighbours();
	many();
	registered();
	managed();
	host_pointers(ctx);
	device_pointers(ctx);
	printf("hostmem: %s\n", failures ? "FAILED" : "passed");
	return failures != 0;
}
