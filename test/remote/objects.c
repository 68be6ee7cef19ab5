/*
 * Arrays, mipmaps, texture and surface objects, pools and mapped memory: creation, queries, use and destruction behave
 * as in one process, and calls with an invalid handle fail.
 */
#include <unistd.h>
#include "application.h"

static const CUmemLocation here = {CU_MEM_LOCATION_TYPE_DEVICE, 0};

static void arrays(void)
{
	CUDA_ARRAY3D_DESCRIPTOR d = {.Width = 64, .Height = 32, .Format = CU_AD_FORMAT_FLOAT, .NumChannels = 2},
				back = {0};
	CUmipmappedArray mip = NULL;
	CUarray a = NULL, level = NULL, again = NULL;

	OK(cuArray3DCreate_v2(&a, &d));
	OK(cuArray3DGetDescriptor_v2(&back, a));
	CHECK(back.Width == 64 && back.Height == 32 && back.NumChannels == 2);
	OK(cuArrayDestroy(a));
	CHECK(cuArrayDestroy(a) != CUDA_SUCCESS);
	OK(cuMipmappedArrayCreate(&mip, &d, 3));
	OK(cuMipmappedArrayGetLevel(&level, mip, 1));
	OK(cuMipmappedArrayGetLevel(&again, mip, 1));
	CHECK(level && level == again);
	OK(cuArray3DGetDescriptor_v2(&back, level));
	CHECK(back.Width == 32 && back.Height == 16);
	CHECK_EQ(cuMipmappedArrayGetLevel(&level, mip, 3), CUDA_ERROR_INVALID_VALUE);
	OK(cuMipmappedArrayDestroy(mip));
}

static void textures(void)
{
	CUDA_ARRAY3D_DESCRIPTOR d = {.Width = 64,
		.Height = 32,
		.Format = CU_AD_FORMAT_FLOAT,
		.NumChannels = 1,
		.Flags = CUDA_ARRAY3D_SURFACE_LDST};
	CUDA_RESOURCE_DESC res = {.resType = CU_RESOURCE_TYPE_ARRAY}, back = {0};
	CUDA_TEXTURE_DESC tex = {.filterMode = CU_TR_FILTER_MODE_LINEAR, .maxAnisotropy = 4}, told = {0};
	CUtexObject t = 0;
	CUsurfObject s = 0;
	CUarray a = NULL;

	OK(cuArray3DCreate_v2(&a, &d));
	res.res.array.hArray = a;
	OK(cuTexObjectCreate(&t, &res, &tex, NULL));
	CHECK(t);
	OK(cuTexObjectGetResourceDesc(&back, t));
	CHECK(back.resType == CU_RESOURCE_TYPE_ARRAY && back.res.array.hArray == a);
	OK(cuTexObjectGetTextureDesc(&told, t));
	CHECK(told.filterMode == CU_TR_FILTER_MODE_LINEAR && told.maxAnisotropy == 4);
	OK(cuSurfObjectCreate(&s, &res));
	OK(cuSurfObjectGetResourceDesc(&back, s));
	CHECK(back.res.array.hArray == a);
	CHECK(cuTexObjectDestroy(0x123450) != CUDA_SUCCESS);
	CHECK(cuTexObjectGetTextureDesc(&told, 0x123450) != CUDA_SUCCESS);
	OK(cuSurfObjectDestroy(s));
	OK(cuTexObjectDestroy(t));
	CHECK(cuTexObjectDestroy(t) != CUDA_SUCCESS);
	res.res.array.hArray = (CUarray)0x40;
	CHECK(cuTexObjectCreate(&t, &res, &tex, NULL) != CUDA_SUCCESS);
	CHECK_EQ(cuTexObjectCreate(&t, NULL, &tex, NULL), CUDA_ERROR_INVALID_VALUE);
	OK(cuArrayDestroy(a));
}

static void pools(void)
{
	CUmemPoolProps props = {.allocType = CU_MEM_ALLOCATION_TYPE_PINNED, .location = here};
	cuuint64_t big = 0;
	CUmemoryPool pool = NULL, usual = NULL;
	CUdeviceptr d = 0, e = 0;
	CUstream s = NULL;
	int on = 9, word = 0;

	OK(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
	OK(cuMemPoolCreate(&pool, &props));
	OK(cuMemPoolGetAttribute(pool, CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC, &on));
	CHECK(on == 1);
	on = 0;
	OK(cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC, &on));
	on = 9;
	OK(cuMemPoolGetAttribute(pool, CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC, &on));
	CHECK(on == 0);
	big = 1ull << 33;
	OK(cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &big));
	big = 0;
	OK(cuMemPoolGetAttribute(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &big));
	CHECK(big == 1ull << 33);
	CHECK_EQ(cuMemPoolGetAttribute(pool, 99, &big), CUDA_ERROR_INVALID_VALUE);
	CHECK_EQ(cuMemPoolGetAttribute(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, NULL), CUDA_ERROR_INVALID_VALUE);
	OK(cuMemAllocFromPoolAsync(&d, 4096, pool, s));
	OK(cuMemAllocAsync(&e, 4096, s));
	OK(cuMemsetD32Async(d, 77, 16, s));
	OK(cuMemcpyAsync(e, d, 64, s));
	OK(cuMemcpyAsync((uintptr_t)&word, e + 60, 4, s));
	OK(cuStreamSynchronize(s));
	CHECK(word == 77);
	OK(cuMemPoolGetAttribute(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT, &big));
	CHECK(big >= 4096);
	OK(cuMemFreeAsync(d, s));
	OK(cuMemFreeAsync(e, s));
	CHECK_EQ(cuMemFreeAsync(e, s), CUDA_ERROR_INVALID_VALUE);
	OK(cuStreamSynchronize(s));
	OK(cuDeviceGetDefaultMemPool(&usual, 0));
	CHECK(usual);
	OK(cuMemPoolDestroy(pool));
	CHECK(cuMemPoolGetAttribute(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &big) != CUDA_SUCCESS);
	OK(cuStreamDestroy_v2(s));
}

static size_t granularity(void)
{
	CUmemAllocationProp prop = {.type = CU_MEM_ALLOCATION_TYPE_PINNED, .location = here};
	size_t g = 0;

	OK(cuMemGetAllocationGranularity(&g, &prop, CU_MEM_ALLOC_GRANULARITY_MINIMUM));
	return g;
}

static void mapped(void)
{
	CUmemAllocationProp prop = {.type = CU_MEM_ALLOCATION_TYPE_PINNED, .location = here};
	CUmemAccessDesc rw = {here, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
	CUmemGenericAllocationHandle h = 0, again = 0;
	unsigned char a[4096], b[4096] = {0};
	unsigned long long flags = 9;
	size_t g = granularity();
	CUdeviceptr v = 0;

	fill_bytes(a, sizeof a, 8);
	OK(cuMemAddressReserve(&v, 2 * g, 0, 0, 0));
	OK(cuMemCreate(&h, 2 * g, &prop, 0));
	OK(cuMemMap(v, 2 * g, 0, h, 0));
	OK(cuMemSetAccess(v, 2 * g, &rw, 1));
	OK(cuMemGetAccess(&flags, &here, v));
	CHECK(flags == CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
	OK(cuMemcpy(v + g - 100, (uintptr_t)a, sizeof a)); /* cuMemcpy recognises mapped device memory */
	OK(cuMemcpy((uintptr_t)b, v + g - 100, sizeof b));
	CHECK(!memcmp(a, b, sizeof a));
	OK(cuMemRetainAllocationHandle(&again, (void *)(uintptr_t)(v + 100)));
	CHECK(again == h);
	OK(cuMemRelease(again));
	OK(cuMemGetAllocationPropertiesFromHandle(&prop, h));
	OK(cuMemRelease(h));
	CHECK(cuMemRelease(h) != CUDA_SUCCESS);
	OK(cuMemUnmap(v, 2 * g));
	OK(cuMemAddressFree(v, 2 * g));
	prop.location.type = CU_MEM_LOCATION_TYPE_HOST_NUMA;
	if (check_remote())
		CHECK_EQ(cuMemCreate(&h, g, &prop, 0), CUDA_ERROR_NOT_SUPPORTED);
}

/* Maps one physical allocation at two addresses through a file descriptor. */
static void shared(void)
{
	CUmemAllocationProp prop = {.type = CU_MEM_ALLOCATION_TYPE_PINNED,
		.location = here,
		.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR};
	CUmemAccessDesc rw = {here, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
	CUmemGenericAllocationHandle a = 0, b = 0;
	size_t g = granularity();
	CUdeviceptr v = 0;
	int fd = -1, word = 0;

	OK(cuMemCreate(&a, g, &prop, 0));
	CHECK_EQ(cuMemExportToShareableHandle(&fd, a, 1, 0), check_shares() ? 0 : CUDA_ERROR_NOT_SUPPORTED);
	if (check_shares()) {
		CHECK(fd >= 0);
		OK(cuMemImportFromShareableHandle(&b, (void *)(intptr_t)fd, 1));
		close(fd);
		CHECK(cuMemImportFromShareableHandle(&b, (void *)(intptr_t)fd, 1) != CUDA_SUCCESS);
		OK(cuMemAddressReserve(&v, 2 * g, 0, 0, 0));
		OK(cuMemMap(v, g, 0, a, 0));
		OK(cuMemMap(v + g, g, 0, b, 0));
		OK(cuMemSetAccess(v, 2 * g, &rw, 1));
		OK(cuMemsetD32_v2(v + 400, 4711, 1));
		OK(cuMemcpyDtoH_v2(&word, v + g + 400, 4));
		CHECK(word == 4711);
		OK(cuMemUnmap(v, 2 * g));
		OK(cuMemAddressFree(v, 2 * g));
		OK(cuMemRelease(b));
	}
	OK(cuMemRelease(a));
}

static void peers(void)
{
	int can = 9;

	OK(cuDeviceCanAccessPeer(&can, 0, 0));
	CHECK(can == 0);
}

int main(void)
{
	size_t free = 0, total = 0;

	check_start();
	OK(cuMemGetInfo_v2(&free, &total));
	CHECK(free && total >= free);
	arrays();
	textures();
	pools();
	mapped();
	shared();
	peers();
	printf("objects: %s\n", failures ? "FAILED" : "passed");
	return failures != 0;
}
