/* Allocation, attributes of pointers, pools, sharing, advice; copies and fills. */
#include "test/cudart/parity.h"

static void show_pointer(const void *p)
{
	cudaPointerAttributes a;

	memset(&a, 0, sizeof a);
	TRY(cudaPointerGetAttributes, &a, p);
	SHOW(a.type);
	SHOW(a.device);
	SHOW(!!a.devicePointer);
	SHOW(!!a.hostPointer);
}

static void try_pools(void)
{
	CUmemPoolProps props = {
		.allocType = CU_MEM_ALLOCATION_TYPE_PINNED, .location = {CU_MEM_LOCATION_TYPE_DEVICE, 0}};
	CUmemAccessDesc access = {{CU_MEM_LOCATION_TYPE_DEVICE, 0}, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
	CUmemAccess_flags flags = 0;
	cudaMemPool_t pool = NULL, standard = NULL;
	unsigned long long value = 0;
	void *p = NULL;

	TRY(cudaDeviceGetDefaultMemPool, &standard, 0);
	TRY(cudaDeviceGetDefaultMemPool, NULL, 0);
	TRY(cudaDeviceGetDefaultMemPool, &pool, 6);
	TRY(cudaDeviceGetMemPool, &pool, 0);
	SHOW(pool == standard);
	TRY(cudaMemPoolCreate, &pool, &props);
	TRY(cudaMemPoolCreate, NULL, &props);
	TRY(cudaMemPoolCreate, &pool, NULL);
	TRY(cudaMemPoolSetAttribute, pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &value);
	TRY(cudaMemPoolSetAttribute, pool, 99, &value);
	for (int i = 1; i < 10; i++) {
		value = 77;
		TRY(cudaMemPoolGetAttribute, pool, i, &value);
		SHOW(i < 5 ? value : 0);
	}
	TRY(cudaMemPoolGetAttribute, NULL, 4, &value);
	TRY(cudaMemPoolSetAccess, pool, &access, 1);
	TRY(cudaMemPoolGetAccess, &flags, pool, &access.location);
	SHOW(flags);
	TRY(cudaMallocFromPoolAsync, &p, 1000, pool, NULL);
	TRY(cudaMallocFromPoolAsync, NULL, 1000, pool, NULL);
	TRY(cudaFreeAsync, p, NULL);
	TRY(cudaFreeAsync, NULL, NULL);
	TRY(cudaFreeAsync, BAD(void *), NULL);
	TRY(cudaMallocAsync, &p, 0, NULL);
	TRY(cudaMallocAsync, &p, (size_t)1 << 60, NULL);
	TRY(cudaMallocAsync, &p, 100, NULL);
	TRY(cudaFree, p);
	TRY(cudaMemPoolTrimTo, pool, 0);
	TRY(cudaMemPoolTrimTo, NULL, 0);
	TRY(cudaDeviceSetMemPool, 0, pool);
	TRY(cudaDeviceSetMemPool, 0, standard);
	TRY(cudaMemPoolDestroy, pool);
	TRY(cudaMemPoolDestroy, NULL);
	TRY(cudaDeviceGraphMemTrim, 0);
	TRY(cudaDeviceGraphMemTrim, 8);
	TRY(cudaDeviceGetGraphMemAttribute, 0, 0, &value);
	SHOW(value);
	TRY(cudaDeviceSetGraphMemAttribute, 0, 1, &value);
}

static void try_managed(void)
{
	void *m = NULL;
	int value = 9;

	TRY(cudaMallocManaged, &m, 4096, 1);
	TRY(cudaMallocManaged, &m, 4096, 2);
	TRY(cudaMallocManaged, &m, 4096, 0);
	TRY(cudaMallocManaged, &m, 4096, 7);
	TRY(cudaMallocManaged, &m, 0, 1);
	TRY(cudaMallocManaged, NULL, 4096, 1);
	TRY(cudaMallocManaged, &m, 1 << 16, 1);
	show_pointer(m);
#if CUDART_MAJOR == 12
	TRY(cudaMemAdvise, m, 1 << 16, 1, 0);
	TRY(cudaMemAdvise, m, 1 << 16, 3, -1);
	TRY(cudaMemAdvise, m, 1 << 16, 99, 0);
	TRY(cudaMemAdvise, m, 1 << 16, 3, 17);
	TRY(cudaMemPrefetchAsync, m, 1 << 16, 0, NULL);
	TRY(cudaMemPrefetchAsync, m, 1 << 16, -1, NULL);
	TRY(cudaMemPrefetchAsync, m, 1 << 16, 17, NULL);
	TRY(cudaMemPrefetchAsync, NULL, 1 << 16, 0, NULL);
#else
	CUmemLocation here = {CU_MEM_LOCATION_TYPE_DEVICE, 0}, host = {CU_MEM_LOCATION_TYPE_HOST, 0};
	TRY(cudaMemAdvise, m, 1 << 16, 1, here);
	TRY(cudaMemAdvise, m, 1 << 16, 3, host);
	TRY(cudaMemAdvise, m, 1 << 16, 99, here);
	TRY(cudaMemPrefetchAsync, m, 1 << 16, here, 0, NULL);
	TRY(cudaMemPrefetchAsync, m, 1 << 16, host, 0, NULL);
	TRY(cudaMemPrefetchAsync, NULL, 1 << 16, here, 0, NULL);
#endif
	TRY(cudaMemRangeGetAttribute, &value, 4, 1, m, 1 << 16);
	SHOW(value);
	TRY(cudaMemRangeGetAttribute, &value, 4, 77, m, 1 << 16);
	TRY(cudaMemRangeGetAttribute, NULL, 4, 1, m, 1 << 16);
	TRY(cudaStreamAttachMemAsync, NULL, m, 0, 1);
	TRY(cudaStreamAttachMemAsync, NULL, m, 0, 9);
	TRY(cudaFree, m);
	SHOW(parity_managed ? *parity_managed : -1);
}

static void try_host(void)
{
	static char pages[16384] __attribute__((aligned(4096)));
	void *h = NULL, *d = NULL;
	unsigned flags = 77;

	TRY(cudaMallocHost, &h, 1000);
	show_pointer(h);
	TRY(cudaHostGetDevicePointer, &d, h, 0);
	TRY(cudaHostGetDevicePointer, &d, h, 1);
	TRY(cudaHostGetDevicePointer, NULL, h, 0);
	TRY(cudaHostGetDevicePointer, &d, pages, 0);
	TRY(cudaHostGetFlags, &flags, h);
	SHOW(flags);
	TRY(cudaHostGetFlags, &flags, pages);
	TRY(cudaHostGetFlags, NULL, h);
	TRY(cudaFreeHost, h);
	TRY(cudaFreeHost, NULL);
	TRY(cudaFreeHost, pages);
	TRY(cudaMallocHost, &h, 0);
	SHOW(!!h);
	TRY(cudaMallocHost, NULL, 10);
	TRY(cudaHostAlloc, &h, 1000, 2);
	TRY(cudaHostGetFlags, &flags, h);
	SHOW(flags);
	TRY(cudaFreeHost, h);
	TRY(cudaHostAlloc, &h, 0, 0);
	SHOW(!!h);
	TRY(cudaHostAlloc, &h, 1000, 0x100);
	TRY(cudaHostAlloc, NULL, 1000, 0);
	TRY(cudaHostRegister, pages, sizeof pages, 0);
	TRY(cudaHostRegister, pages, sizeof pages, 0);
	show_pointer(pages);
	TRY(cudaHostUnregister, pages);
	TRY(cudaHostUnregister, pages);
	TRY(cudaHostRegister, NULL, 100, 0);
	TRY(cudaHostRegister, pages, 0, 0);
	TRY(cudaHostRegister, pages, 4096, 0x7000);
	TRY(cudaHostUnregister, NULL);
}

static void try_sharing(void)
{
	cudaIpcMemHandle_t handle = {{0}};
	void *p = NULL, *q = NULL;

	TRY(cudaMalloc, &p, 4096);
	TRY(cudaIpcGetMemHandle, &handle, p);
	TRY(cudaIpcGetMemHandle, &handle, BAD(void *));
	TRY(cudaIpcOpenMemHandle, &q, handle, 1);
	TRY(cudaIpcOpenMemHandle, &q, (cudaIpcMemHandle_t){{1}}, 0);
	TRY(cudaIpcOpenMemHandle, NULL, handle, 1);
	TRY(cudaIpcCloseMemHandle, NULL);
	TRY(cudaIpcCloseMemHandle, p);
	TRY(cudaFree, p);
}

void parity_memory(void)
{
	void *p = NULL, *q = BAD(void *);
	size_t pitch = 5, available = 0, total = 0;
	cudaPitchedPtr box = {0};

	TRY(cudaMalloc, &p, 4096);
	show_pointer(p);
	show_pointer((char *)p + 100);
	show_pointer(&p);
	show_pointer(NULL);
	TRY(cudaPointerGetAttributes, NULL, p);
	TRY(cudaFree, p);
	TRY(cudaFree, p);
	TRY(cudaFree, NULL);
	TRY(cudaFree, BAD(void *));
	TRY(cudaMalloc, &q, 0);
	SHOW(!!q);
	TRY(cudaMalloc, NULL, 4);
	q = BAD(void *);
	TRY(cudaMalloc, &q, (size_t)1 << 60);
	SHOW(q == BAD(void *));
	TRY(cudaMallocPitch, &p, &pitch, 100, 10);
	SHOW(pitch);
	TRY(cudaFree, p);
	TRY(cudaMallocPitch, &p, &pitch, 0, 10);
	SHOW(pitch);
	TRY(cudaMallocPitch, &p, &pitch, 10, 0);
	SHOW(pitch);
	TRY(cudaMallocPitch, NULL, &pitch, 10, 10);
	TRY(cudaMallocPitch, &p, NULL, 10, 10);
	TRY(cudaMalloc3D, &box, (cudaExtent){100, 5, 3});
	SHOW(box.pitch);
	SHOW(box.xsize);
	SHOW(box.ysize);
	TRY(cudaFree, box.ptr);
	TRY(cudaMalloc3D, &box, (cudaExtent){0, 5, 3});
	SHOW(box.xsize);
	TRY(cudaMalloc3D, NULL, (cudaExtent){1, 5, 3});
	TRY(cudaMemGetInfo, &available, &total);
	SHOW(available <= total && total > 0);
	TRY(cudaMemGetInfo, NULL, &total);
	TRY(cudaMemGetInfo, NULL, NULL);
	try_host();
	try_managed();
	try_pools();
	try_sharing();
}
