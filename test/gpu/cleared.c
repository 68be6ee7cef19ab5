/*
 * Does memory of the device contain what another process, or this one, has left there?  Uses only the driver API.
 *
 *	cleared fill	fills most of the free memory with a pattern and ends
 *	cleared look	allocates most of the free memory and prints how many bytes hold the pattern
 *	cleared own	for each kind of allocation: fills, frees and allocates again, and prints the same
 *
 * CLEARED=1: finding the pattern is a failure.  CLEARED_MB: the most memory that fill and look use, in MiB.
 */
#include <stdint.h>
#include "abi/cuda.h"
#include "gen/cuda_protos.h"
#include "test/check.h"

#define MB    ((size_t)1 << 20)
#define BLOCK (64 * MB)
#define MOST  4096 /* blocks */
#define WORD  0x5ec4e7a5u

static uint32_t *buffer;
static CUdeviceptr blocks[MOST];

static void report(const char *what, size_t found, size_t of)
{
	printf("%s: %zu of %zu bytes hold the pattern\n", what, found, of);
	if (getenv("CLEARED"))
		CHECK_EQ(found, 0);
}

static size_t words_found(size_t size)
{
	size_t n = 0;

	for (size_t i = 0; i < size / 4; i++)
		n += 4 * (buffer[i] == WORD);
	return n;
}

static int blocks_take(void)
{
	size_t free = 0, most = getenv("CLEARED_MB") ? strtoull(getenv("CLEARED_MB"), NULL, 10) * MB : ~(size_t)0;
	int n = 0;

	OK(cuMemGetInfo_v2(&free, NULL));
	free = free / 10 * 9;
	while (n < MOST && (n + 1) * BLOCK <= free && (n + 1) * BLOCK <= most && !cuMemAlloc_v2(&blocks[n], BLOCK))
		n++;
	return n;
}

static void fill(void)
{
	int n = blocks_take();

	for (int i = 0; i < n; i++)
		OK(cuMemsetD32_v2(blocks[i], WORD, BLOCK / 4));
	OK(cuCtxSynchronize());
	printf("filled %zu MiB\n", n * BLOCK / MB);
}

static void look(void)
{
	int n = blocks_take();
	size_t found = 0;

	for (int i = 0; i < n; i++) {
		OK(cuMemcpyDtoH_v2(buffer, blocks[i], BLOCK));
		found += words_found(BLOCK);
	}
	report("memory of another process", found, n * BLOCK);
}

/* ---- kinds ---- */

static CUstream stream;

static void linear(
	const char *what, CUresult (*take)(CUdeviceptr *p, size_t size), CUresult (*give)(CUdeviceptr p), size_t size)
{
	CUdeviceptr p[16];
	size_t found = 0;

	for (int i = 0; i < 16; i++) {
		OK(take(&p[i], size));
		OK(cuMemsetD32Async(p[i], WORD, size / 4, stream));
		OK(cuStreamSynchronize(stream));
	}
	for (int i = 0; i < 16; i++)
		OK(give(p[i]));
	for (int i = 0; i < 16; i++) {
		OK(take(&p[i], size));
		OK(cuStreamSynchronize(stream));
		OK(cuMemcpyDtoH_v2(buffer, p[i], size));
		found += words_found(size);
	}
	for (int i = 0; i < 16; i++)
		OK(give(p[i]));
	report(what, found, 16 * size);
}

static CUresult plain_take(CUdeviceptr *p, size_t size)
{
	return cuMemAlloc_v2(p, size);
}

static CUresult plain_give(CUdeviceptr p)
{
	return cuMemFree_v2(p);
}

static CUresult pitch_take(CUdeviceptr *p, size_t size)
{
	size_t pitch;

	return cuMemAllocPitch_v2(p, &pitch, size / 16, 16, 4);
}

static CUresult async_take(CUdeviceptr *p, size_t size)
{
	return cuMemAllocAsync(p, size, stream);
}

static CUresult async_give(CUdeviceptr p)
{
	CUresult r = cuMemFreeAsync(p, stream);

	return r ? r : cuStreamSynchronize(stream);
}

#define PHYSICAL (2 * MB)

static CUresult physical_take(CUdeviceptr *p, size_t size)
{
	CUmemAllocationProp prop = {
		.type = CU_MEM_ALLOCATION_TYPE_PINNED, .location = {CU_MEM_LOCATION_TYPE_DEVICE, 0}};
	CUmemAccessDesc access = {{CU_MEM_LOCATION_TYPE_DEVICE, 0}, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
	CUmemGenericAllocationHandle h;
	CUresult r = cuMemCreate(&h, size, &prop, 0);

	if (r)
		return r;
	OK(cuMemAddressReserve(p, size, 0, 0, 0));
	OK(cuMemMap(*p, size, 0, h, 0));
	OK(cuMemSetAccess(*p, size, &access, 1));
	return cuMemRelease(h);
}

static CUresult physical_give(CUdeviceptr p)
{
	CUresult r = cuMemUnmap(p, PHYSICAL);

	return r ? r : cuMemAddressFree(p, PHYSICAL);
}

static void array_copy(CUarray array, int up)
{
	CUDA_MEMCPY2D c = {.WidthInBytes = 1024, .Height = 256};

	c.srcMemoryType = up ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_ARRAY;
	c.dstMemoryType = up ? CU_MEMORYTYPE_ARRAY : CU_MEMORYTYPE_HOST;
	c.srcHost = c.dstHost = buffer;
	c.srcPitch = c.dstPitch = 1024;
	c.srcArray = c.dstArray = array;
	OK(cuMemcpy2D_v2(&c));
}

static void arrays(void)
{
	CUDA_ARRAY_DESCRIPTOR d = {
		.Width = 256, .Height = 256, .Format = CU_AD_FORMAT_UNSIGNED_INT32, .NumChannels = 1};
	CUarray a[16];
	size_t found = 0;

	for (int i = 0; i < 16; i++) {
		OK(cuArrayCreate_v2(&a[i], &d));
		for (size_t k = 0; k < 65536; k++)
			buffer[k] = WORD;
		array_copy(a[i], 1);
	}
	for (int i = 0; i < 16; i++)
		OK(cuArrayDestroy(a[i]));
	for (int i = 0; i < 16; i++) {
		OK(cuArrayCreate_v2(&a[i], &d));
		memset(buffer, 0, 262144);
		array_copy(a[i], 0);
		found += words_found(262144);
	}
	for (int i = 0; i < 16; i++)
		OK(cuArrayDestroy(a[i]));
	report("arrays", found, 16 * 262144);
}

static void own(void)
{
	unsigned long long keep = ~0ull;
	CUmemoryPool pool;

	OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	OK(cuDeviceGetDefaultMemPool(&pool, 0));
	OK(cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &keep));
	linear("cuMemAlloc, 16 KiB", plain_take, plain_give, 16384);
	linear("cuMemAlloc, 16 MiB", plain_take, plain_give, 16 * MB);
	linear("cuMemAllocPitch", pitch_take, plain_give, 65536);
	linear("cuMemAllocAsync", async_take, async_give, MB);
	linear("cuMemCreate", physical_take, physical_give, PHYSICAL);
	arrays();
}

int main(int argc, char **argv)
{
	const char *verb = argc > 1 ? argv[1] : "";
	CUcontext context;

	buffer = malloc(BLOCK);
	OK(cuInit(0));
	OK(cuDevicePrimaryCtxRetain(&context, 0));
	OK(cuCtxSetCurrent(context));
	if (failures || !buffer)
		return 1;
	if (!strcmp(verb, "fill"))
		fill();
	else if (!strcmp(verb, "look"))
		look();
	else if (!strcmp(verb, "own"))
		own();
	else
		return 2;
	return RESULT();
}
