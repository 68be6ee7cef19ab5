/*
 * Virtual memory management: the sequence of calls that llama.cpp makes, with the errors of the vendor driver; copying
 * to memory that is mapped without access fails, and does not crash.  Graphs whose memory is unmapped fail likewise, and
 * memory stays mapped while submitted work uses it.
 */
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include "engine.h"

static const CUmemLocation here = {CU_MEM_LOCATION_TYPE_DEVICE, 0};
static size_t g;

static void errors(void)
{
	CUmemAllocationProp prop = {.type = CU_MEM_ALLOCATION_TYPE_PINNED, .location = here};
	CUmemGenericAllocationHandle h;
	CUdeviceptr v;
	int fd;

	CHECK_EQ(soft_cuMemAddressReserve(&v, 0, 0, 0, 0), CUDA_ERROR_INVALID_VALUE);
	CHECK_EQ(soft_cuMemAddressReserve(&v, g + 1, 0, 0, 0), CUDA_ERROR_INVALID_VALUE);
	CHECK_EQ(soft_cuMemAddressReserve(&v, g, 3, 0, 0), CUDA_ERROR_INVALID_VALUE);
	CHECK_EQ(soft_cuMemAddressReserve(&v, g, 0, 0x123456, 0), CUDA_ERROR_INVALID_VALUE);
	CHECK_EQ(soft_cuMemAddressReserve(&v, g, 0, 0, 1), CUDA_ERROR_INVALID_VALUE);
	CHECK_EQ(soft_cuMemAddressReserve(&v, 1ull << 62, 0, 0, 0), CUDA_ERROR_OUT_OF_MEMORY);
	OK(soft_cuMemAddressReserve(&v, g, 1ull << 30, 0, 0));
	CHECK_EQ(v & ((1ull << 30) - 1), 0);
	OK(soft_cuMemAddressFree(v, g));
	CHECK_EQ(soft_cuMemAddressFree(v, g), CUDA_ERROR_INVALID_VALUE);
	CHECK_EQ(soft_cuMemCreate(&h, g + 1, &prop, 0), CUDA_ERROR_INVALID_VALUE);
	CHECK_EQ(soft_cuMemCreate(&h, 0, &prop, 0), CUDA_ERROR_INVALID_VALUE);
	CHECK_EQ(soft_cuMemCreate(&h, g, &prop, 1), CUDA_ERROR_INVALID_VALUE);
	CHECK_EQ(soft_cuMemCreate(&h, g, NULL, 0), CUDA_ERROR_INVALID_VALUE);
	CHECK_EQ(soft_cuMemCreate(&h, 1ull << 60, &prop, 0), CUDA_ERROR_OUT_OF_MEMORY);
	CHECK_EQ(soft_cuMemMap(v, g, 0, 12345, 0), CUDA_ERROR_INVALID_VALUE);
	CHECK_EQ(soft_cuMemRelease(0), CUDA_ERROR_INVALID_VALUE);
	OK(soft_cuMemCreate(&h, g, &prop, 0));
	if (HAS(HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED)) {
		CHECK_EQ(soft_cuMemExportToShareableHandle(&fd, h, 1, 0), CUDA_ERROR_INVALID_VALUE);
		CHECK_EQ(soft_cuMemImportFromShareableHandle(&h, (void *)0, 1), CUDA_ERROR_INVALID_VALUE);
		CHECK_EQ(soft_cuMemImportFromShareableHandle(&h, (void *)777, 1), CUDA_ERROR_UNKNOWN);
	} else {
		CHECK_EQ(soft_cuMemExportToShareableHandle(&fd, h, 1, 0), CUDA_ERROR_NOT_SUPPORTED);
		CHECK_EQ(soft_cuMemImportFromShareableHandle(&h, (void *)0, 1), CUDA_ERROR_NOT_SUPPORTED);
	}
	OK(soft_cuMemRelease(h));
	CHECK_EQ(soft_cuMemMapArrayAsync(NULL, 0, NULL), CUDA_ERROR_INVALID_VALUE);
}

static void round_trip(void)
{
	CUmemAllocationProp prop = {.type = CU_MEM_ALLOCATION_TYPE_PINNED, .location = here}, back;
	CUmemAccessDesc rw = {here, CU_MEM_ACCESS_FLAGS_PROT_READWRITE}, ro = {here, CU_MEM_ACCESS_FLAGS_PROT_READ};
	CUmemAccessDesc none = {here, CU_MEM_ACCESS_FLAGS_PROT_NONE}, bad = {here, 2};
	CUmemGenericAllocationHandle h, h2, again;
	unsigned long long flags = 9;
	size_t before, after, total;
	CUdeviceptr v;
	char data[64] = "gangway", out[64] = "";

	OK(soft_cuMemGetInfo_v2(&before, &total));
	OK(soft_cuMemAddressReserve(&v, 4 * g, 0, 0, 0));
	OK(soft_cuMemCreate(&h, 2 * g, &prop, 0));
	OK(soft_cuMemCreate(&h2, g, &prop, 0));
	OK(soft_cuMemGetInfo_v2(&after, &total));
	CHECK_EQ(before - after, 3 * g);
	CHECK_EQ(soft_cuMemMap(v, g, 0, h, 0), CUDA_ERROR_NOT_SUPPORTED);
	CHECK_EQ(soft_cuMemMap(v + 3 * g, 2 * g, 0, h, 0), CUDA_ERROR_INVALID_VALUE);
	OK(soft_cuMemUnmap(v, g)); /* nothing is mapped there */
	OK(soft_cuMemMap(v, 2 * g, 0, h, 0));
	CHECK_EQ(soft_cuMemMap(v, 2 * g, 0, h, 0), CUDA_ERROR_INVALID_VALUE);
	CHECK_EQ(soft_cuMemMap(v + 2 * g, 2 * g, 0, h, 1), CUDA_ERROR_INVALID_VALUE);
	OK(soft_cuMemMap(v + 2 * g, g, 0, h2, 0));
	OK(soft_cuMemRelease(h));
	OK(soft_cuMemRelease(h2));
	OK(soft_cuMemGetAccess(&flags, &here, v));
	CHECK_EQ(flags, 0);
	CHECK_EQ(soft_cuMemcpyHtoD_v2(v, data, sizeof data), CUDA_ERROR_INVALID_VALUE);
	CHECK_EQ(soft_cuMemcpy(v, (uintptr_t)data, sizeof data), CUDA_ERROR_INVALID_VALUE);
	CHECK_EQ(soft_cuMemcpyAsync((uintptr_t)out, v, sizeof out, NULL), CUDA_ERROR_INVALID_VALUE);
	CHECK_EQ(soft_cuMemsetD8_v2(v, 1, 64), CUDA_ERROR_INVALID_VALUE);
	CHECK_EQ(soft_cuMemSetAccess(v, g, &rw, 1), CUDA_ERROR_INVALID_VALUE);
	CHECK_EQ(soft_cuMemSetAccess(v, 4 * g, &rw, 1), CUDA_ERROR_INVALID_VALUE);
	CHECK_EQ(soft_cuMemSetAccess(v, 2 * g, &rw, 0), CUDA_ERROR_INVALID_VALUE);
	CHECK_EQ(soft_cuMemSetAccess(v, 2 * g, &bad, 1), CUDA_ERROR_INVALID_VALUE);
	OK(soft_cuMemSetAccess(v, 3 * g, &rw, 1));
	OK(soft_cuMemGetAccess(&flags, &here, v + 2 * g + 5));
	CHECK_EQ(flags, 3);
	OK(soft_cuMemcpyHtoD_v2(v + 2 * g - 32, data, sizeof data)); /* across two mappings */
	OK(soft_cuMemcpyDtoH_v2(out, v + 2 * g - 32, sizeof out));
	CHECK(!memcmp(data, out, sizeof out));
	OK(soft_cuMemSetAccess(v, 2 * g, &ro, 1));
	OK(soft_cuMemcpyDtoH_v2(out, v, 64));
	CHECK_EQ(soft_cuMemcpyHtoD_v2(v, data, 64), CUDA_ERROR_INVALID_VALUE);
	CHECK_EQ(soft_cuMemcpy(v, v + 2 * g, 64), CUDA_ERROR_INVALID_VALUE);
	if (!served())
		*(volatile char *)(uintptr_t)v = 'g'; /* as a kernel would: no signal */
	CHECK_EQ(soft_cuMemsetD32_v2(v, 1, 4), CUDA_ERROR_INVALID_VALUE);
	OK(soft_cuMemSetAccess(v, 2 * g, &none, 1));
	CHECK_EQ(soft_cuMemcpyDtoH_v2(out, v, 64), CUDA_ERROR_INVALID_VALUE);
	OK(soft_cuMemRetainAllocationHandle(&again, (void *)(v + 100)));
	CHECK_EQ(again, h);
	OK(soft_cuMemGetAllocationPropertiesFromHandle(&back, again));
	CHECK_EQ(back.location.type, CU_MEM_LOCATION_TYPE_DEVICE);
	OK(soft_cuMemRelease(again));
	CHECK_EQ(soft_cuMemRelease(again), CUDA_ERROR_INVALID_VALUE);
	CHECK_EQ(soft_cuMemFree_v2(v), CUDA_ERROR_INVALID_VALUE);
	CHECK_EQ(soft_cuMemAddressFree(v, 4 * g), CUDA_ERROR_INVALID_VALUE);
	CHECK_EQ(soft_cuMemUnmap(v, g), CUDA_ERROR_INVALID_VALUE);
	OK(soft_cuMemUnmap(v, 4 * g));
	CHECK_EQ(soft_cuMemcpyHtoD_v2(v, data, 64), CUDA_ERROR_INVALID_VALUE);
	OK(soft_cuMemAddressFree(v, 4 * g));
	CHECK_EQ(soft_cuMemGetAllocationPropertiesFromHandle(&back, h), CUDA_ERROR_INVALID_VALUE);
	OK(soft_cuMemGetInfo_v2(&after, &total));
	CHECK_EQ(before, after);
}

/* One physical memory at two addresses, through a file descriptor. */
static void shared(void)
{
	CUmemAllocationProp prop = {.type = CU_MEM_ALLOCATION_TYPE_PINNED,
		.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
		.location = here};
	CUmemAccessDesc rw = {here, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
	CUmemGenericAllocationHandle a, b;
	CUdeviceptr v;
	int fd, word = 0;

	OK(soft_cuMemCreate(&a, g, &prop, 0));
	CHECK_EQ(soft_cuMemExportToShareableHandle(&fd, a, 1, 1), CUDA_ERROR_INVALID_VALUE);
	OK(soft_cuMemExportToShareableHandle(&fd, a, 1, 0));
	CHECK(ftruncate(fd, 0)); /* the file cannot shrink */
	OK(soft_cuMemImportFromShareableHandle(&b, (void *)(intptr_t)fd, 1));
	CHECK(a != b);
	close(fd);
	OK(soft_cuMemAddressReserve(&v, 2 * g, 0, 0, 0));
	OK(soft_cuMemMap(v, g, 0, a, 0));
	OK(soft_cuMemMap(v + g, g, 0, b, 0));
	OK(soft_cuMemSetAccess(v, 2 * g, &rw, 1));
	OK(soft_cuMemsetD32_v2(v + 400, 4711, 1));
	OK(soft_cuMemcpyDtoH_v2(&word, v + g + 400, 4));
	CHECK_EQ(word, 4711);
	OK(soft_cuMemUnmap(v, 2 * g));
	OK(soft_cuMemAddressFree(v, 2 * g));
	OK(soft_cuMemRelease(a));
	OK(soft_cuMemRelease(b));
}

/* ---- graphs over memory that is given back ---- */

static CUdeviceptr map_memory(size_t size)
{
	CUmemAllocationProp prop = {.type = CU_MEM_ALLOCATION_TYPE_PINNED, .location = here};
	CUmemAccessDesc rw = {here, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
	CUmemGenericAllocationHandle h;
	CUdeviceptr v;

	OK(soft_cuMemAddressReserve(&v, size, 0, 0, 0));
	OK(soft_cuMemCreate(&h, size, &prop, 0));
	OK(soft_cuMemMap(v, size, 0, h, 0));
	OK(soft_cuMemRelease(h));
	OK(soft_cuMemSetAccess(v, size, &rw, 1));
	return v;
}

enum graph_access { COPY_FROM, COPY_TO, COPY_ROWS, FILL, WRITE_VALUE, ACCESSES };

/* Capture one access to v; the other side of a copy is `other`. */
static CUgraphExec capture_access(enum graph_access access, CUdeviceptr v, CUdeviceptr other, CUstream s)
{
	CUDA_MEMCPY2D rows = {.srcMemoryType = CU_MEMORYTYPE_DEVICE,
		.srcDevice = other,
		.srcPitch = 64,
		.dstMemoryType = CU_MEMORYTYPE_DEVICE,
		.dstDevice = v,
		.dstPitch = 128,
		.WidthInBytes = 64,
		.Height = 4};
	CUgraphExec x;
	CUgraph graph;

	OK(soft_cuStreamBeginCapture_v2(s, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
	if (access == COPY_FROM)
		OK(soft_cuMemcpyDtoDAsync_v2(other, v, 4096, s));
	else if (access == COPY_TO)
		OK(soft_cuMemcpyDtoDAsync_v2(v, other, 4096, s));
	else if (access == COPY_ROWS)
		OK(soft_cuMemcpy2DAsync_v2(&rows, s));
	else if (access == FILL)
		OK(soft_cuMemsetD32Async(v, 7, 1024, s));
	else
		OK(soft_cuStreamWriteValue32_v2(s, v, 7, 0));
	OK(soft_cuStreamEndCapture(s, &graph));
	OK(soft_cuGraphInstantiateWithFlags(&x, graph, 0));
	OK(soft_cuGraphDestroy(graph));
	return x;
}

/* The graph runs while its memory is mapped; afterwards its launch is an error that stays, as an illegal access is. */
static void graph_after_unmap(enum graph_access access, bool free_addresses)
{
	CUcontext ctx;
	CUdeviceptr v, other;
	CUstream s;
	int word = 0;

	OK(soft_cuCtxCreate_v2(&ctx, 0, 0));
	OK(soft_cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
	v = map_memory(g);
	OK(soft_cuMemAlloc_v2(&other, 4096));
	OK(soft_cuMemsetD32_v2(other, 5, 1024));
	OK(soft_cuMemsetD32_v2(v, 6, 1024));
	OK(soft_cuCtxSynchronize());
	CUgraphExec x = capture_access(access, v, other, s);
	OK(soft_cuGraphLaunch(x, s));
	OK(soft_cuStreamSynchronize(s));
	OK(soft_cuMemcpyDtoH_v2(&word, access == COPY_FROM ? other : v, 4));
	CHECK_EQ(word, access == COPY_FROM ? 6 : access == COPY_TO || access == COPY_ROWS ? 5 : 7);
	OK(soft_cuMemUnmap(v, g));
	if (free_addresses)
		OK(soft_cuMemAddressFree(v, g));
	CUresult r = soft_cuGraphLaunch(x, s);
	CHECK(r == CUDA_SUCCESS || r == CUDA_ERROR_ILLEGAL_ADDRESS);
	CHECK_EQ(soft_cuStreamSynchronize(s), CUDA_ERROR_ILLEGAL_ADDRESS);
	CHECK_EQ(soft_cuCtxSynchronize(), CUDA_ERROR_ILLEGAL_ADDRESS);
	soft_cuCtxDestroy_v2(ctx);
	if (!free_addresses)
		OK(soft_cuMemAddressFree(v, g));
}

/* The same with memory of cuMemAlloc. */
static void graph_after_free(void)
{
	const size_t size = 4 << 20; /* a mapping of its own, which cuMemFree gives back to the system */
	CUcontext ctx;
	CUdeviceptr v, other;
	CUstream s;

	OK(soft_cuCtxCreate_v2(&ctx, 0, 0));
	OK(soft_cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
	OK(soft_cuMemAlloc_v2(&v, size));
	OK(soft_cuMemAlloc_v2(&other, 4096));
	CUgraphExec x = capture_access(COPY_TO, v, other, s);
	OK(soft_cuGraphLaunch(x, s));
	OK(soft_cuMemFree_v2(v));
	CUresult r = soft_cuGraphLaunch(x, s);
	CHECK(r == CUDA_SUCCESS || r == CUDA_ERROR_ILLEGAL_ADDRESS);
	CHECK_EQ(soft_cuStreamSynchronize(s), CUDA_ERROR_ILLEGAL_ADDRESS);
	soft_cuCtxDestroy_v2(ctx);
}

static void host_delay(void *arg)
{
	(void)arg;
	usleep(200000);
}

/* Unmapping, from another context, waits for submitted work. */
static void unmap_waits(void)
{
	CUcontext ctx, second;
	CUdeviceptr v, other;
	CUstream s;

	OK(soft_cuCtxCreate_v2(&ctx, 0, 0));
	OK(soft_cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
	v = map_memory(g);
	OK(soft_cuMemAlloc_v2(&other, 4096));
	CUgraphExec x = capture_access(COPY_TO, v, other, s);
	OK(soft_cuLaunchHostFunc(s, host_delay, NULL));
	OK(soft_cuGraphLaunch(x, s));
	OK(soft_cuMemsetD32Async(v, 1, 1024, s));
	OK(soft_cuCtxCreate_v2(&second, 0, 0));
	OK(soft_cuMemUnmap(v, g));
	OK(soft_cuMemAddressFree(v, g));
	OK(soft_cuCtxDestroy_v2(second));
	OK(soft_cuCtxSetCurrent(ctx));
	OK(soft_cuStreamSynchronize(s));
	OK(soft_cuGraphExecDestroy(x));
	OK(soft_cuCtxDestroy_v2(ctx));
}

/*
 * A copy is pending in one context; its memory is freed in another, which does not wait for the copy. The copy must not
 * touch the addresses any more.
 */
static void free_in_other_context(void)
{
	const size_t size = 4 << 20; /* a mapping of its own, which cuMemFree gives back to the system */
	CUcontext owner, user;
	CUdeviceptr v, other;
	CUstream s;

	OK(soft_cuCtxCreate_v2(&owner, 0, 0));
	OK(soft_cuMemAlloc_v2(&v, size));
	OK(soft_cuCtxCreate_v2(&user, 0, 0));
	OK(soft_cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
	OK(soft_cuMemAlloc_v2(&other, size));
	OK(soft_cuLaunchHostFunc(s, host_delay, NULL));
	OK(soft_cuMemcpyDtoDAsync_v2(v, other, size, s));
	OK(soft_cuLaunchHostFunc(s, host_delay, NULL));
	OK(soft_cuMemsetD8Async(v, 1, size, s));
	OK(soft_cuCtxSetCurrent(owner));
	OK(soft_cuMemFree_v2(v));
	OK(soft_cuCtxSetCurrent(user));
	CHECK_EQ(soft_cuStreamSynchronize(s), CUDA_ERROR_ILLEGAL_ADDRESS);
	soft_cuCtxDestroy_v2(user);
	OK(soft_cuCtxDestroy_v2(owner));
}

/* Unregistering host memory waits for the work of all contexts: the application unmaps the memory then. */
static void unregister_waits(void)
{
	const size_t size = 1 << 20;
	void *host = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CUcontext owner, user;
	CUdeviceptr v;
	CUstream s;

	CHECK(host != MAP_FAILED);
	OK(soft_cuCtxCreate_v2(&owner, 0, 0));
	OK(soft_cuMemHostRegister_v2(host, size, CU_MEMHOSTREGISTER_PORTABLE));
	OK(soft_cuCtxCreate_v2(&user, 0, 0));
	OK(soft_cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
	OK(soft_cuMemAlloc_v2(&v, size));
	OK(soft_cuLaunchHostFunc(s, host_delay, NULL));
	OK(soft_cuMemcpyHtoDAsync_v2(v, host, size, s));
	OK(soft_cuCtxSetCurrent(owner));
	OK(soft_cuMemHostUnregister(host));
	munmap(host, size);
	OK(soft_cuCtxSetCurrent(user));
	OK(soft_cuStreamSynchronize(s));
	OK(soft_cuCtxDestroy_v2(user));
	OK(soft_cuCtxDestroy_v2(owner));
}

int main(void)
{
	struct soft_config config = {.memory = 1ull << 30};
	CUmemAllocationProp prop = {.type = CU_MEM_ALLOCATION_TYPE_PINNED, .location = here};
	CUcontext ctx;

	OK(soft_open(&test_engine, &config));
	OK(soft_cuCtxCreate_v2(&ctx, 0, 0));
	OK(soft_cuMemGetAllocationGranularity(&g, &prop, CU_MEM_ALLOC_GRANULARITY_MINIMUM));
	CHECK_EQ(g, 2 << 20);
	CHECK_EQ(soft_cuMemGetAllocationGranularity(&g, &prop, 2), CUDA_ERROR_INVALID_VALUE);
	errors();
	round_trip();
	if (HAS(HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED))
		shared();
	unmap_waits();
	for (int access = 0; access < ACCESSES; access++) {
		graph_after_unmap(access, false);
		graph_after_unmap(access, true);
	}
	graph_after_free();
	free_in_other_context();
	unregister_waits();
	OK(soft_cuCtxDestroy_v2(ctx));
	return RESULT();
}
