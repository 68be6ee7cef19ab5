/* Quota and every kind of memory: plain allocations, mipmaps, managed memory, and pools, which keep freed memory. */
#include "quota.h"

CUstream stream;
static CUmemoryPool pool;

static CUresult take_plain(size_t size, unsigned long long *it)
{
	return cuMemAlloc_v2(it, size);
}

static CUresult take_pitch(size_t size, unsigned long long *it)
{
	size_t pitch;

	return cuMemAllocPitch_v2(it, &pitch, 4096, (size + 4095) / 4096, 4);
}

static CUresult take_async(size_t size, unsigned long long *it)
{
	return cuMemAllocAsync(it, size, stream);
}

static CUresult take_pool(size_t size, unsigned long long *it)
{
	return cuMemAllocFromPoolAsync(it, size, pool, stream);
}

static CUresult give_plain(unsigned long long it)
{
	return cuMemFree_v2(it);
}

static CUresult give_async(unsigned long long it)
{
	CUresult r = cuMemFreeAsync(it, stream);

	return r ? r : cuStreamSynchronize(stream);
}

static CUresult take_physical(size_t size, unsigned long long *it)
{
	CUmemAllocationProp p = {
		.type = CU_MEM_ALLOCATION_TYPE_PINNED, .location = {CU_MEM_LOCATION_TYPE_DEVICE, device}};

	return cuMemCreate(it, (size + 2 * MB - 1) / (2 * MB) * 2 * MB, &p, 0);
}

static CUresult give_physical(unsigned long long it)
{
	return cuMemRelease(it);
}

static CUDA_ARRAY3D_DESCRIPTOR shape(size_t size)
{
	return (CUDA_ARRAY3D_DESCRIPTOR){
		.Width = 1024, .Height = (size + 16383) / 16384, .Format = CU_AD_FORMAT_FLOAT, .NumChannels = 4};
}

static CUresult take_array(size_t size, unsigned long long *it)
{
	CUDA_ARRAY_DESCRIPTOR d = {
		.Width = 1024, .Height = shape(size).Height, .Format = CU_AD_FORMAT_FLOAT, .NumChannels = 4};

	return cuArrayCreate_v2((CUarray *)it, &d);
}

static CUresult take_array3d(size_t size, unsigned long long *it)
{
	CUDA_ARRAY3D_DESCRIPTOR d = shape(size);

	return cuArray3DCreate_v2((CUarray *)it, &d);
}

static CUresult give_array(unsigned long long it)
{
	return cuArrayDestroy((CUarray)(uintptr_t)it);
}

static CUresult take_mipmap(size_t size, unsigned long long *it)
{
	CUDA_ARRAY3D_DESCRIPTOR d = shape(size);

	return cuMipmappedArrayCreate((CUmipmappedArray *)it, &d, 1);
}

static CUresult give_mipmap(unsigned long long it)
{
	return cuMipmappedArrayDestroy((CUmipmappedArray)(uintptr_t)it);
}

static const struct kind {
	const char *name;
	CUresult (*take)(size_t size, unsigned long long *it);
	CUresult (*give)(unsigned long long it);
} kinds[] = {
	{"cuMemAlloc", take_plain, give_plain},
	{"cuMemAllocPitch", take_pitch, give_plain},
	{"cuMemAllocAsync", take_async, give_async},
	{"cuMemAllocAsync, cuMemFree", take_async, give_plain},
	{"cuMemAllocFromPoolAsync", take_pool, give_async},
	{"cuMemCreate", take_physical, give_physical},
	{"cuArrayCreate", take_array, give_array},
	{"cuArray3DCreate", take_array3d, give_array},
	{"cuMipmappedArrayCreate", take_mipmap, give_mipmap},
};

static void one_kind(const struct kind *k)
{
	unsigned long long a = 0, b = 0, c = 0;
	int before = failures;

	CHECK_EQ(k->take(quota + 1, &a), CUDA_ERROR_OUT_OF_MEMORY);
	LEFT(quota);
	OK(k->take(quota / 2, &a));
	LEFT(quota / 2);
	CHECK_EQ(k->take(quota / 2 + 1, &b), CUDA_ERROR_OUT_OF_MEMORY);
	LEFT(quota / 2);
	OK(k->take(quota / 2, &b));
	LEFT(0);
	CHECK_EQ(k->take(1, &c), CUDA_ERROR_OUT_OF_MEMORY);
	CHECK_EQ(cuMemAlloc_v2(&c, 1), CUDA_ERROR_OUT_OF_MEMORY);
	OK(k->give(a));
	OK(cuCtxSynchronize());
	LEFT(quota / 2);
	OK(k->take(quota / 4, &a));
	OK(k->give(b));
	OK(k->give(a));
	OK(cuCtxSynchronize());
	LEFT(quota);
	if (failures != before)
		printf("the failed kind of memory: %s\n", k->name);
}

static void each_kind(void)
{
	CUmemPoolProps props = {
		.allocType = CU_MEM_ALLOCATION_TYPE_PINNED, .location = {CU_MEM_LOCATION_TYPE_DEVICE, device}};

	OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	OK(cuMemPoolCreate(&pool, &props));
	for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
		one_kind(&kinds[i]);
	OK(cuMemPoolDestroy(pool));
}

/* All levels of a mipmap count. */
static void shapes(void)
{
	CUDA_ARRAY3D_DESCRIPTOR d = shape(quota / 2);
	CUmipmappedArray m;

	OK(cuMipmappedArrayCreate(&m, &d, 2));
	LEFT(quota / 2 - quota / 8);
	OK(cuMipmappedArrayDestroy(m));
	LEFT(quota);
}

/* An allocation counts what it occupies: a byte takes 512 or a page, and large blocks are multiples of 64 KiB. */
static void rounding(void)
{
	CUdeviceptr p, q;
	size_t one;

	OK(cuMemAlloc_v2(&p, 1));
	one = quota - left();
	CHECK(one == 512 || one == 4096);
	OK(cuMemAlloc_v2(&q, MB + 1));
	LEFT(quota - one - MB - 65536);
	OK(cuMemFree_v2(q));
	OK(cuMemFree_v2(p));
	LEFT(quota);
}

/* Managed memory is in host memory and does not count. */
static void managed(void)
{
	CUdeviceptr p;

	OK(cuMemAllocManaged(&p, quota / 2, CU_MEM_ATTACH_GLOBAL));
	LEFT(quota);
	OK(cuMemFree_v2(p));
	LEFT(quota);
}

/* ---- pools ---- */

/* Freed memory that a pool keeps counts; the pool releases it before another allocation fails. */
static void pools_keep(void)
{
	unsigned long long keep = ~0ull;
	CUmemoryPool p;
	CUdeviceptr a = 0, b = 0;

	OK(cuDeviceGetDefaultMemPool(&p, device));
	OK(cuMemPoolSetAttribute(p, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &keep));
	OK(cuMemAllocAsync(&a, quota / 2, stream));
	OK(cuMemFreeAsync(a, stream));
	OK(cuStreamSynchronize(stream));
	LEFT(quota / 2);
	OK(cuMemAllocAsync(&a, quota / 2, stream)); /* reuses the pool's memory */
	OK(cuMemAllocAsync(&b, quota / 2, stream));
	LEFT(0);
	OK(cuMemFreeAsync(a, stream));
	OK(cuMemFreeAsync(b, stream));
	OK(cuStreamSynchronize(stream));
	LEFT(0);
	OK(cuMemAlloc_v2(&a, quota));
	LEFT(0);
	OK(cuMemFree_v2(a));
	keep = 0;
	OK(cuMemPoolSetAttribute(p, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &keep));
	LEFT(quota);
}

/* One byte allocated from a destroyed pool keeps the pool's whole block counted. */
static void pools_gone(void)
{
	CUmemPoolProps props = {
		.allocType = CU_MEM_ALLOCATION_TYPE_PINNED, .location = {CU_MEM_LOCATION_TYPE_DEVICE, device}};
	CUdeviceptr a[64], big;
	CUmemoryPool p;
	int n = 0;

	do {
		OK(cuMemPoolCreate(&p, &props));
		CUresult r = cuMemAllocFromPoolAsync(&a[n], 1, p, stream);
		OK(cuMemPoolDestroy(p));
		CHECK(!r || r == CUDA_ERROR_OUT_OF_MEMORY);
		if (r)
			break;
	} while (++n < 64);
	CHECK(n > 0 && (size_t)n <= quota / (32 * MB));
	CHECK_EQ(cuMemAlloc_v2(&big, quota), CUDA_ERROR_OUT_OF_MEMORY);
	while (n--)
		OK(cuMemFreeAsync(a[n], stream));
	OK(cuStreamSynchronize(stream));
	LEFT(quota);
}

int quota_kinds(void)
{
	each_kind();
	shapes();
	rounding();
	managed();
	pools_keep();
	pools_gone();
	return failures;
}
