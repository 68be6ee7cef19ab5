/*
 * The attributes of the CPU device are true.  For each attribute that says "supported" the test makes the call behind
 * it; for each limit it tries the largest value and one more.
 */
#include <limits.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "test/check.h"
#include "abi/cuda.h"
#include "gen/cuda_protos.h"
#include "host/machine.h"

#define REGISTERED (256 << 10)
#define HAS(name)  (attribute(CU_DEVICE_ATTRIBUTE_##name))

static const char ptx[] = ".version 7.0\n.target sm_50\n.address_size 64\n"
			  ".visible .entry add(.param .u64 p) { .reg .b64 a; .reg .b32 x;\n"
			  "ld.param.u64 a, [p]; atom.global.add.u32 x, [a], 1; ret; }\n"
			  /* One thread per block waits for the word to become 1. */
			  ".visible .entry await(.param .u64 p) { .reg .b64 a; .reg .b32 x; .reg .pred q;\n"
			  "ld.param.u64 a, [p];\nl: ld.volatile.global.u32 x, [a]; setp.eq.u32 q, x, 1; @!q bra l;\n"
			  "st.volatile.global.u32 [a+4], 1; ret; }\n";

static CUfunction add, await;

/* Whether the device is behind TCP: host and device then share no memory. */
static bool over_tcp(void)
{
	const char *device = getenv("GANGWAY_DEVICE");

	return device && !strncmp(device, "tcp", 3);
}

static int attribute(CUdevice_attribute a)
{
	int v = -1;

	OK(cuDeviceGetAttribute(&v, a, 0));
	return v;
}

static CUresult launch(CUfunction f, CUdeviceptr p, unsigned blocks, unsigned threads, unsigned shared)
{
	void *params[] = {&p};
	CUresult r = cuLaunchKernel(f, blocks, 1, 1, threads, 1, 1, shared, NULL, params, NULL);

	return r ? r : cuCtxSynchronize();
}

static void machine(void)
{
	char name[256] = "", cpu[128], id[32] = "", want[32];
	size_t total = 0, left = 0, all = 0;
	CUuuid a, b;

	OK(cuDeviceGetName(name, sizeof name, 0));
	CHECK(strstr(name, machine_cpu_name(cpu, sizeof cpu)) != NULL);
	OK(cuDeviceTotalMem_v2(&total, 0));
	CHECK_EQ(total, machine_memory());
	OK(cuMemGetInfo_v2(&left, &all));
	CHECK(all == total && left <= all);
	CHECK(HAS(MULTIPROCESSOR_COUNT) >= 1 && HAS(MULTIPROCESSOR_COUNT) <= sysconf(_SC_NPROCESSORS_CONF));
	CHECK_EQ(HAS(CLOCK_RATE), machine_clock_khz());
	CHECK(HAS(MEMORY_CLOCK_RATE) > 0);
	CHECK(HAS(GLOBAL_MEMORY_BUS_WIDTH) > 0);
	CHECK_EQ(HAS(L2_CACHE_SIZE), machine_cache());
	CHECK_EQ(HAS(INTEGRATED), 1);
	OK(cuDeviceGetUuid_v2(&a, 0));
	machine_uuid("cpu", 0, (unsigned char *)b.bytes);
	CHECK(!memcmp(&a, &b, sizeof a));
	OK(cuDeviceGetPCIBusId(id, sizeof id, 0));
	snprintf(want, sizeof want, "%04x:%02x:%02x.0", HAS(PCI_DOMAIN_ID), HAS(PCI_BUS_ID), HAS(PCI_DEVICE_ID));
	CHECK(!strcmp(id, want));
}

static void capability(void)
{
	const char *want = getenv("GANGWAY_CPU_CC");
	int major = 0, minor = 0, n = want ? atoi(want) : 80;

	OK(cuDeviceComputeCapability(&major, &minor, 0));
	CHECK_EQ(major * 10 + minor, n);
	CHECK_EQ(HAS(COMPUTE_CAPABILITY_MAJOR), major);
	CHECK_EQ(HAS(COMPUTE_CAPABILITY_MINOR), minor);
}

static void limits(CUdeviceptr d)
{
	int threads = HAS(MAX_THREADS_PER_BLOCK), shared = HAS(MAX_SHARED_MEMORY_PER_BLOCK);
	int optin = HAS(MAX_SHARED_MEMORY_PER_BLOCK_OPTIN);

	CHECK_EQ(HAS(WARP_SIZE), 32);
	OK(launch(add, d, 1, threads, 0));
	CHECK_EQ(launch(add, d, 1, threads + 1, 0), CUDA_ERROR_INVALID_VALUE);
	CHECK_EQ(shared, 48 << 10);
	OK(launch(add, d, 1, 1, shared));
	CHECK(launch(add, d, 1, 1, shared + 1) != CUDA_SUCCESS);
	OK(cuFuncSetAttribute(add, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, optin));
	OK(launch(add, d, 1, 1, optin));
	CHECK(cuFuncSetAttribute(add, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, optin + 1) != CUDA_SUCCESS);
	CHECK_EQ(HAS(MAX_SHARED_MEMORY_PER_MULTIPROCESSOR), optin + HAS(RESERVED_SHARED_MEMORY_PER_BLOCK));
}

/* As many blocks as can be resident wait for a word; the host writes it while they run. */
static void managed(void)
{
	_Atomic unsigned *words; /* read and written by the running kernel */
	CUdeviceptr p = 0;
	int blocks = 0;
	void *params[] = {&p};

	CHECK(HAS(MANAGED_MEMORY) && HAS(UNIFIED_ADDRESSING));
	CHECK_EQ(HAS(CONCURRENT_MANAGED_ACCESS), !over_tcp());
	CHECK_EQ(HAS(DIRECT_MANAGED_MEM_ACCESS_FROM_HOST), !over_tcp());
	OK(cuMemAllocManaged(&p, 8, CU_MEM_ATTACH_GLOBAL));
	words = (_Atomic unsigned *)(uintptr_t)p;
	words[0] = over_tcp(); /* over TCP, the kernel does not see a later write */
	words[1] = 0;
	OK(cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, await, 1, 0));
	CHECK_EQ(HAS(COOPERATIVE_LAUNCH), 1);
	OK(cuLaunchCooperativeKernel(await, blocks * HAS(MULTIPROCESSOR_COUNT), 1, 1, 1, 1, 1, 0, NULL, params));
	if (!over_tcp()) {
		CHECK_EQ(words[1], 0);
		words[0] = 1;
	}
	OK(cuCtxSynchronize());
	CHECK_EQ(words[1], 1);
	OK(cuMemFree_v2(p));
	CHECK(cuLaunchCooperativeKernel(await, blocks * HAS(MULTIPROCESSOR_COUNT) + 1, 1, 1, 1, 1, 1, 0, NULL,
		      params) == CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE);
}

static void *add_some(void *arg)
{
	for (int i = 0; i < 100000; i++)
		__atomic_fetch_add((unsigned *)arg, 1, __ATOMIC_RELAXED);
	return NULL;
}

static void host(void)
{
	unsigned *word = NULL;
	CUdeviceptr p = 0;
	pthread_t t;
	void *mine;

	CHECK_EQ(HAS(CAN_MAP_HOST_MEMORY), 1);
	CHECK_EQ(HAS(HOST_NATIVE_ATOMIC_SUPPORTED), !over_tcp());
	CHECK_EQ(HAS(HOST_REGISTER_SUPPORTED), 1);
	CHECK_EQ(HAS(CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM), !over_tcp());
	OK(cuMemHostAlloc((void **)&word, 4, CU_MEMHOSTALLOC_DEVICEMAP));
	OK(cuMemHostGetDevicePointer_v2(&p, word, 0));
	*word = 0;
	if (over_tcp()) { /* host and device alternate */
		for (unsigned i = 1; i <= 20; i++) {
			OK(launch(add, p, 1, 32, 0));
			CHECK_EQ(*word, 33 * i - 1);
			++*word;
		}
		OK(cuMemFreeHost(word));
		OK(cuMemHostRegister_v2(&p, 4, 0));
		OK(cuMemHostUnregister(&p));
		OK(cuMemHostRegister_v2(&p, 4, CU_MEMHOSTREGISTER_DEVICEMAP));
		OK(cuMemHostUnregister(&p));
		return;
	}
	pthread_create(&t, NULL, add_some, word);
	OK(launch(add, p, 100, 1000, 0));
	pthread_join(t, NULL);
	CHECK_EQ(*word, 200000);
	OK(cuMemFreeHost(word));
	/* Whole pages, and enough of them for a server to map: smaller memory shares pages with other data. */
	mine = mmap(NULL, REGISTERED, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	OK(cuMemHostRegister_v2(mine, REGISTERED, CU_MEMHOSTREGISTER_DEVICEMAP));
	OK(launch(add, (CUdeviceptr)(uintptr_t)mine, 1, 32, 0));
	CHECK_EQ(*(unsigned *)mine, 32);
	OK(cuMemHostUnregister(mine));
	munmap(mine, REGISTERED);
}

static void memory(void)
{
	CUmemAllocationProp prop = {.type = CU_MEM_ALLOCATION_TYPE_PINNED,
		.location = {.type = CU_MEM_LOCATION_TYPE_DEVICE},
		.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR};
	CUmemGenericAllocationHandle h;
	CUmemoryPool pool;
	CUdeviceptr p = 0;
	size_t step = 0;
	int fd = -1;

	CHECK_EQ(HAS(VIRTUAL_ADDRESS_MANAGEMENT_SUPPORTED), 1);
	CHECK_EQ(HAS(HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED),
		!over_tcp()); /* descriptors work on one machine only */
	if (over_tcp())
		prop.requestedHandleTypes = 0;
	OK(cuMemGetAllocationGranularity(&step, &prop, CU_MEM_ALLOC_GRANULARITY_MINIMUM));
	OK(cuMemCreate(&h, step, &prop, 0));
	if (!over_tcp()) {
		OK(cuMemExportToShareableHandle(&fd, h, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
		CHECK(fd >= 0 && !close(fd));
	}
	OK(cuMemRelease(h));
	CHECK_EQ(HAS(MEMORY_POOLS_SUPPORTED), 1);
	OK(cuDeviceGetDefaultMemPool(&pool, 0));
	OK(cuMemAllocAsync(&p, 64, NULL));
	OK(cuMemFreeAsync(p, NULL));
	OK(cuCtxSynchronize());
}

static void streams(CUdeviceptr d)
{
	int low = 0, high = 0, got = 1;
	CUstream s;

	CHECK_EQ(HAS(STREAM_PRIORITIES_SUPPORTED), 1);
	OK(cuCtxGetStreamPriorityRange(&low, &high));
	CHECK(high < low);
	OK(cuStreamCreateWithPriority(&s, CU_STREAM_NON_BLOCKING, high));
	OK(cuStreamGetPriority(s, &got));
	CHECK_EQ(got, high);
	CHECK(HAS(CAN_USE_64_BIT_STREAM_MEM_OPS) && HAS(CAN_USE_STREAM_WAIT_VALUE_NOR));
	OK(cuStreamWriteValue64_v2(s, d, 5, 0));
	OK(cuStreamWaitValue64_v2(s, d, 0, CU_STREAM_WAIT_VALUE_NOR));
	OK(cuStreamSynchronize(s));
	OK(cuStreamDestroy_v2(s));
}

static void ipc(CUdeviceptr d)
{
	CUipcMemHandle memory;
	CUipcEventHandle event;
	CUevent e;

	CHECK_EQ(HAS(IPC_EVENT_SUPPORTED), 1);
	OK(cuEventCreate(&e, CU_EVENT_INTERPROCESS | CU_EVENT_DISABLE_TIMING));
	OK(cuIpcGetEventHandle(&event, e));
	OK(cuEventDestroy_v2(e));
	OK(cuIpcGetMemHandle(&memory, d));
}

/* Clusters, if supported: four blocks in pairs, each counting in the shared memory of the pair's first block. */
static void clusters(CUdeviceptr d)
{
	static const char text[] =
		".version 8.0\n.target sm_90\n.address_size 64\n"
		".shared .align 4 .b8 n[4];\n"
		".visible .entry count(.param .u64 to)\n"
		"{ .reg .pred %p; .reg .b32 %r<6>; .reg .b64 %d<4>;\n"
		"mov.u32 %r0, n; mapa.shared::cluster.u32 %r1, %r0, 0; red.shared::cluster.add.u32 [%r1], 1;\n"
		"barrier.cluster.arrive; barrier.cluster.wait; mov.u32 %r2, %cluster_ctarank; setp.ne.u32 %p, %r2, 0; "
		"@%p ret;\n"
		"ld.shared.u32 %r3, [n]; mov.u32 %r4, %clusterid.x; ld.param.u64 %d0, [to]; mad.wide.u32 %d0, %r4, 4, "
		"%d0;\n"
		"st.global.u32 [%d0], %r3; ret; }\n";
	CUlaunchAttribute cluster = {
		.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION, .value.clusterDim = {.x = 2, .y = 1, .z = 1}};
	CUlaunchConfig config = {.gridDimX = 4,
		.gridDimY = 1,
		.gridDimZ = 1,
		.blockDimX = 40,
		.blockDimY = 1,
		.blockDimZ = 1,
		.attrs = &cluster,
		.numAttrs = 1};
	void *params[] = {&d};
	unsigned got[2] = {0, 0};
	CUfunction f;
	CUmodule m;

	if (!HAS(CLUSTER_LAUNCH))
		return;
	OK(cuModuleLoadData(&m, text));
	OK(cuModuleGetFunction(&f, m, "count"));
	OK(cuLaunchKernelEx(&config, f, params, NULL));
	OK(cuMemcpyDtoH_v2(got, d, sizeof got));
	CHECK(got[0] == 80 && got[1] == 80);
	config.gridDimX = 3; /* not a multiple of the cluster size */
	CHECK(cuLaunchKernelEx(&config, f, params, NULL) != CUDA_SUCCESS);
	OK(cuModuleUnload(m));
}

/* Unsupported features are refused. */
static void refused(CUdeviceptr d)
{
	static unsigned plain;

	CHECK_EQ(HAS(PAGEABLE_MEMORY_ACCESS), 0);
	CHECK_EQ(HAS(CLUSTER_LAUNCH), HAS(COMPUTE_CAPABILITY_MAJOR) >= 9);
	CUlaunchAttribute cluster = {
		.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION, .value.clusterDim = {.x = 2, .y = 1, .z = 1}};
	CUlaunchConfig config = {.gridDimX = 2,
		.gridDimY = 1,
		.gridDimZ = 1,
		.blockDimX = 1,
		.blockDimY = 1,
		.blockDimZ = 1,
		.attrs = &cluster,
		.numAttrs = 1};
	void *params[] = {&d};
	CHECK_EQ(cuLaunchKernelEx(&config, add, params, NULL) == CUDA_SUCCESS, HAS(CLUSTER_LAUNCH));
	cluster.value.clusterDim.x = 32;
	config.gridDimX = 32;
	CHECK(cuLaunchKernelEx(&config, add, params, NULL) != CUDA_SUCCESS);
	/* Last, because the error is sticky. */
	CHECK_EQ(launch(add, (CUdeviceptr)(uintptr_t)&plain, 1, 1, 0), CUDA_ERROR_ILLEGAL_ADDRESS);
	CHECK_EQ(plain, 0);
}

int main(void)
{
	CUdeviceptr d = 0;
	CUcontext ctx;
	CUmodule m;

	if (cuInit(0))
		return 1;
	OK(cuDevicePrimaryCtxRetain(&ctx, 0));
	OK(cuCtxSetCurrent(ctx));
	OK(cuModuleLoadData(&m, ptx));
	OK(cuModuleGetFunction(&add, m, "add"));
	OK(cuModuleGetFunction(&await, m, "await"));
	OK(cuMemAlloc_v2(&d, 4096));
	machine();
	capability();
	limits(d);
	clusters(d);
	managed();
	host();
	memory();
	streams(d);
	ipc(d);
	refused(d);
	return RESULT();
}
