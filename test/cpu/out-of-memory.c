/*
 * Running out of device memory and of process memory, through every call that allocates: the error is
 * CUDA_ERROR_OUT_OF_MEMORY, nothing leaks, and later calls succeed.
 *
 * ctest gives the device 512 MiB (GANGWAY_DEVICE_MEMORY).
 */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/resource.h>
#include <unistd.h>
#include "test/cpu/device.h"

#define MB                  (1ull << 20)
#define OUT_OF_MEMORY(call) CHECK_EQ(call, CUDA_ERROR_OUT_OF_MEMORY)

static const char text[] = PTX ".visible .entry put(.param .u64 to)\n"
			       "{ .reg .u64 %a; ld.param.u64 %a, [to]; st.global.u32 [%a], 7; ret; }\n";
static const char large[] = PTX ".visible .global .align 8 .b8 big[1073741824];\n"
				".visible .entry put(.param .u64 to) { ret; }\n";

static CUfunction put;
static CUdeviceptr cell;
static CUstream stream;
static size_t before; /* free memory before the test allocates any */

static size_t available(void)
{
	size_t n = 0, total;

	OK(cuMemGetInfo_v2(&n, &total));
	return n;
}

/* A kernel runs, and the refused allocations are not counted as used. */
static void still_works(void)
{
	void *args[] = {&cell};
	unsigned value = 0;

	OK(cuMemsetD32Async(cell, 0, 1, stream));
	OK(device_launch(put, 1, 1, stream, args));
	OK(cuStreamSynchronize(stream));
	OK(cuMemcpyDtoH_v2(&value, cell, 4));
	CHECK_EQ(value, 7);
	CHECK_EQ(available(), before);
}

/* Allocate all device memory, then call once_more, whose allocations must fail. */
static void exhaust_memory(void (*once_more)(void))
{
	enum { PIECES = 64 };
	CUdeviceptr piece[PIECES];
	CUresult r = CUDA_SUCCESS;
	int n = 0;

	for (size_t size = 64 * MB; size >= MB; size /= 2)
		while (n < PIECES && !(r = cuMemAlloc_v2(&piece[n], size)))
			n++;
	CHECK_EQ(r, CUDA_ERROR_OUT_OF_MEMORY);
	CHECK(n > 4 && n < PIECES);
	CHECK(available() < MB);
	once_more();
	while (n)
		OK(cuMemFree_v2(piece[--n]));
	still_works();
}

static void plain(void)
{
	CUdeviceptr p = 0;
	size_t pitch = 0;

	OUT_OF_MEMORY(cuMemAlloc_v2(&p, 2 * MB));
	OUT_OF_MEMORY(cuMemAllocPitch_v2(&p, &pitch, 4096, 1024, 4));
}

static void ordered(void)
{
	CUdeviceptr p = 0;

	OUT_OF_MEMORY(cuMemAllocAsync(&p, 2 * MB, stream));
	OK(cuStreamSynchronize(stream));
}

static void arrays(void)
{
	CUDA_ARRAY_DESCRIPTOR flat = {4096, 1024, CU_AD_FORMAT_FLOAT, 1};
	CUDA_ARRAY3D_DESCRIPTOR deep = {256, 256, 64, CU_AD_FORMAT_FLOAT, 1, 0};
	CUmipmappedArray levels = NULL;
	CUarray a = NULL;

	OUT_OF_MEMORY(cuArrayCreate_v2(&a, &flat));
	OUT_OF_MEMORY(cuArray3DCreate_v2(&a, &deep));
	OUT_OF_MEMORY(cuMipmappedArrayCreate(&levels, &deep, 4));
}

static void physical(void)
{
	CUmemAllocationProp prop = {
		.type = CU_MEM_ALLOCATION_TYPE_PINNED, .location = {CU_MEM_LOCATION_TYPE_DEVICE, 0}};
	CUmemGenericAllocationHandle h = 0;

	OUT_OF_MEMORY(cuMemCreate(&h, 16 * MB, &prop, 0));
}

static void variables(void)
{
	CUmodule m = NULL;

	OUT_OF_MEMORY(cuModuleLoadData(&m, large));
}

static void graphs(void)
{
	CUDA_MEM_ALLOC_NODE_PARAMS p = {
		.poolProps = {.allocType = CU_MEM_ALLOCATION_TYPE_PINNED, .location = {CU_MEM_LOCATION_TYPE_DEVICE, 0}},
		.bytesize = 64 * MB};
	CUgraphExec exec = NULL;
	CUgraphNode node;
	CUgraph g;

	/* Any of the three calls may fail. */
	OK(cuGraphCreate(&g, 0));
	CUresult r = cuGraphAddMemAllocNode(&node, g, NULL, 0, &p);
	if (!r)
		r = cuGraphInstantiateWithFlags(&exec, g, 0);
	if (!r)
		r = cuGraphLaunch(exec, stream);
	CHECK_EQ(r, CUDA_ERROR_OUT_OF_MEMORY);
	if (exec)
		OK(cuGraphExecDestroy(exec));
	OK(cuGraphDestroy(g));
}

/* More host memory than the machine has. */
static void host_memory(void)
{
	CUdeviceptr p = 0;
	void *host = NULL;

	OUT_OF_MEMORY(cuMemAllocHost_v2(&host, 1ull << 50));
	OUT_OF_MEMORY(cuMemHostAlloc(&host, 1ull << 50, CU_MEMHOSTALLOC_DEVICEMAP));
	OUT_OF_MEMORY(cuMemAllocManaged(&p, 1ull << 50, CU_MEM_ATTACH_GLOBAL));
	OUT_OF_MEMORY(cuMemAllocHost_v2(&host, 1ull << 63));
	OUT_OF_MEMORY(cuMemAllocManaged(&p, 1ull << 63, CU_MEM_ATTACH_GLOBAL));
	still_works();
}

/* Memory that a pool has freed is available to cuMemAlloc. */
static void pool_and_plain(void)
{
	CUdeviceptr p = 0, q = 0;

	OK(cuMemAllocAsync(&p, 400 * MB, stream));
	OUT_OF_MEMORY(cuMemAlloc_v2(&q, 400 * MB));
	OUT_OF_MEMORY(cuMemAllocAsync(&q, 400 * MB, stream));
	OK(cuMemFreeAsync(p, stream));
	OK(cuStreamSynchronize(stream));
	OK(cuMemAlloc_v2(&q, 400 * MB));
	OUT_OF_MEMORY(cuMemAllocAsync(&p, 400 * MB, stream));
	OK(cuMemFree_v2(q));
	still_works();
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
/* Limit the address space of the process, so that the system refuses memory that the device has. */
static bool limit_address_space(struct rlimit *old)
{
	struct rlimit tight;

	getrlimit(RLIMIT_AS, old);
	tight = *old;
	tight.rlim_cur = 16 * MB; /* less than is mapped already: nothing more can be mapped */
	if (old->rlim_max != RLIM_INFINITY && old->rlim_max < tight.rlim_cur)
		return false;
	CHECK_EQ(setrlimit(RLIMIT_AS, &tight), 0);
	return true;
}

static atomic_int go, ran;

static void wait_at_gate(void *unused)
{
	(void)unused;
	while (!atomic_load(&go))
		sched_yield();
	atomic_fetch_add(&ran, 1);
}

static void *open_gate(void *unused)
{
	usleep(50000); /* gives the main thread time to wait; without it the test passes but checks less */
	atomic_store(&go, 1);
	return unused;
}

/* Waiting for many streams needs no memory. */
static void many_streams(void)
{
	enum { STREAMS = 100, LEAST = 512 };
	static CUstream streams[STREAMS];
	static void *hoard[1 << 16];
	struct rlimit old;
	pthread_t other;
	size_t held = 0;

	for (int i = 0; i < STREAMS; i++) {
		OK(cuStreamCreate(&streams[i], CU_STREAM_NON_BLOCKING));
		OK(cuLaunchHostFunc(streams[i], wait_at_gate, NULL));
	}
	CHECK_EQ(pthread_create(&other, NULL, open_gate, NULL), 0);
	if (!limit_address_space(&old))
		return;
	for (size_t size = 64 << 10; size >= LEAST; size /= 2)
		while (held < sizeof hoard / sizeof *hoard && (hoard[held] = malloc(size)))
			held++;
	OK(cuCtxSynchronize());
	CHECK_EQ(atomic_load(&ran), STREAMS);
	setrlimit(RLIMIT_AS, &old);
	while (held)
		free(hoard[--held]);
	pthread_join(other, NULL);
	for (int i = 0; i < STREAMS; i++)
		OK(cuStreamDestroy_v2(streams[i]));
}

static void address_space(void)
{
	enum { MOST = 100000 };
	static CUevent events[MOST];
	struct rlimit old;
	CUdeviceptr p = 0;
	CUmodule m = NULL;
	CUresult r = CUDA_SUCCESS;
	void *host = NULL, *hoard[4096];
	int n = 0, held = 0;

	still_works();
	if (!limit_address_space(&old))
		return;
	while (held < 4096 && (hoard[held] = malloc(64 << 10))) /* use up the free memory of malloc */
		held++;
	OUT_OF_MEMORY(cuMemAllocHost_v2(&host, 64 * MB));
	r = cuMemAllocManaged(&p, 64 * MB, CU_MEM_ATTACH_GLOBAL);
	CHECK(r == CUDA_ERROR_OUT_OF_MEMORY ||
		r == CUDA_ERROR_NOT_SUPPORTED); /* behind a server, the client reserves addresses first */
	r = cuModuleLoadData(&m, text);
	CHECK(r == CUDA_SUCCESS || r == CUDA_ERROR_OUT_OF_MEMORY);
	while (n < MOST && !(r = cuEventCreate(&events[n], 0)))
		n++;
	CHECK(r == CUDA_SUCCESS || r == CUDA_ERROR_OUT_OF_MEMORY);
	setrlimit(RLIMIT_AS, &old);
	while (held)
		free(hoard[--held]);
	while (n)
		OK(cuEventDestroy_v2(events[--n]));
	if (m)
		OK(cuModuleUnload(m));
	still_works();
}
#else
static void address_space(void) /* sanitizers need more address space than any limit */
{
}

static void many_streams(void)
{
}
#endif

int main(void)
{
	CUcontext ctx = device_start();
	size_t total = 0;

	OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	put = device_kernel(text, "put");
	OK(cuMemAlloc_v2(&cell, 4));
	OK(cuMemGetInfo_v2(&before, &total));
	CHECK_EQ(total, 512 * MB);
	exhaust_memory(plain);
	exhaust_memory(ordered);
	exhaust_memory(arrays);
	exhaust_memory(physical);
	exhaust_memory(variables);
	exhaust_memory(graphs);
	host_memory();
	pool_and_plain();
	address_space();
	many_streams();
	OK(cuCtxDestroy_v2(ctx));
	return RESULT();
}
