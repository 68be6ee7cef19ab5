/*
 * Memory, arrays and copies of size 0, and of sizes whose products or sums exceed 64 bits: each is refused, and nothing
 * is written out of bounds.
 */
#include "test/cpu/device.h"

#define HUGE_SIZE     (1ull << 63)
#define REFUSED(call) CHECK_EQ(call, CUDA_ERROR_INVALID_VALUE)

static CUdeviceptr cell; /* the last word of the allocation */

static void allocations(void)
{
	CUDA_ARRAY_DESCRIPTOR flat = {0, 4, CU_AD_FORMAT_FLOAT, 1}, wide = {HUGE_SIZE, 1, CU_AD_FORMAT_FLOAT, 1};
	CUDA_ARRAY3D_DESCRIPTOR deep = {HUGE_SIZE, HUGE_SIZE, HUGE_SIZE, CU_AD_FORMAT_FLOAT, 4, 0};
	CUmemAllocationProp prop = {
		.type = CU_MEM_ALLOCATION_TYPE_PINNED, .location = {CU_MEM_LOCATION_TYPE_DEVICE, 0}};
	CUmemGenericAllocationHandle h;
	CUmipmappedArray levels;
	CUdeviceptr p = 0;
	CUarray a;
	size_t pitch;

	REFUSED(cuArrayCreate_v2(&a, &flat));
	REFUSED(cuArrayCreate_v2(&a, &wide));
	REFUSED(cuArray3DCreate_v2(&a, &deep));
	REFUSED(cuMipmappedArrayCreate(&levels, &deep, 4));
	REFUSED(cuMipmappedArrayCreate(&levels, &deep, ~0u));
	REFUSED(cuMemAllocPitch_v2(&p, &pitch, 0, 4, 4));
	REFUSED(cuMemAllocPitch_v2(&p, &pitch, 4, 0, 4));
	REFUSED(cuMemAllocManaged(&p, 0, CU_MEM_ATTACH_GLOBAL));
	CHECK(cuMemCreate(&h, 0, &prop, 0) == CUDA_ERROR_INVALID_VALUE);
	CHECK(cuMemCreate(&h, HUGE_SIZE, &prop, 0) != CUDA_SUCCESS);
	CHECK(cuMemAddressReserve(&p, 0, 0, 0, 0) == CUDA_ERROR_INVALID_VALUE);
	CHECK(cuMemAddressReserve(&p, HUGE_SIZE, 0, 0, 0) != CUDA_SUCCESS);
	REFUSED(cuMemHostRegister_v2(&p, 0, 0));
	CHECK(cuMemHostRegister_v2(&p, HUGE_SIZE, 0) != CUDA_SUCCESS);
}

static void copies(void)
{
	CUDA_MEMCPY2D c = {.srcMemoryType = CU_MEMORYTYPE_DEVICE,
		.srcDevice = cell,
		.dstMemoryType = CU_MEMORYTYPE_DEVICE,
		.dstDevice = cell,
		.WidthInBytes = 4,
		.Height = 1};
	CUDA_MEMCPY3D d = {.srcMemoryType = CU_MEMORYTYPE_DEVICE,
		.srcDevice = cell,
		.dstMemoryType = CU_MEMORYTYPE_DEVICE,
		.dstDevice = cell,
		.WidthInBytes = 4,
		.Height = 1,
		.Depth = HUGE_SIZE};

	OK(cuMemcpy2D_v2(&c));
	c.Height = HUGE_SIZE;
	REFUSED(cuMemcpy2D_v2(&c));
	c.Height = 1, c.WidthInBytes = HUGE_SIZE;
	REFUSED(cuMemcpy2D_v2(&c));
	c.WidthInBytes = 4, c.Height = 2, c.srcPitch = c.dstPitch = HUGE_SIZE;
	REFUSED(cuMemcpy2D_v2(&c));
	c.srcPitch = c.dstPitch = 4, c.srcY = HUGE_SIZE;
	REFUSED(cuMemcpy2D_v2(&c));
	REFUSED(cuMemcpy3D_v2(&d));
	d.Depth = 1, d.srcHeight = d.dstHeight = HUGE_SIZE, d.srcZ = 3;
	REFUSED(cuMemcpy3D_v2(&d));
	REFUSED(cuMemsetD2D8_v2(cell, HUGE_SIZE, 0, 4, 2));
	REFUSED(cuMemsetD2D8_v2(cell, 4, 0, HUGE_SIZE, 1));
	REFUSED(cuMemsetD2D32_v2(cell, 4, 0, 1, HUGE_SIZE));
}

int main(void)
{
	CUcontext ctx = device_start();
	unsigned char got[3 * 512];
	CUdeviceptr all;
	unsigned wrong = 0;

	OK(cuMemAlloc_v2(&all, sizeof got));
	OK(cuMemsetD8_v2(all, 0x55, sizeof got));
	cell = all + sizeof got - 4;
	allocations();
	copies();
	OK(cuMemcpyDtoH_v2(got, all, sizeof got));
	for (size_t i = 0; i < sizeof got; i++)
		wrong += got[i] != 0x55;
	CHECK_EQ(wrong, 0);
	OK(cuCtxDestroy_v2(ctx));
	return RESULT();
}
