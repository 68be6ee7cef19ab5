/*
 * A client of a server with a quota: whatever way it takes to the device's memory, it gets exactly its quota, and what
 * CUDA and NVML tell of it agrees.
 *
 *	quota		QUOTA: what it is, in bytes, a multiple of 128 MiB; run by served.sh with --memory
 *	quota stranger	takes all it can, a MiB at a time, and prints how much that was
 *	quota hold	the same, and keeps it until there is a line on stdin
 */
#include <dlfcn.h>
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>
#include "abi/nvml.h"
#include "check.h"

#define MB ((size_t)1 << 20)

static size_t quota;
static CUcontext context;
static CUdevice device;

/* ---- what it is told ---- */

static nvmlReturn_t (*nvml_memory)(nvmlDevice_t device, nvmlMemory_t *m);
static nvmlReturn_t (*nvml_memory_v2)(nvmlDevice_t device, nvmlMemory_v2_t *m);
static nvmlDevice_t nvml_device;

static void nvml_open(void)
{
	void *library = dlopen("libnvidia-ml.so.1", RTLD_NOW);
	nvmlReturn_t (*init)(void), (*handle)(unsigned, nvmlDevice_t *);

	if (!library) {
		printf("no NVML: %s\n", dlerror());
		exit(1);
	}
	*(void **)&init = dlsym(library, "nvmlInit_v2");
	*(void **)&handle = dlsym(library, "nvmlDeviceGetHandleByIndex_v2");
	*(void **)&nvml_memory = dlsym(library, "nvmlDeviceGetMemoryInfo");
	*(void **)&nvml_memory_v2 = dlsym(library, "nvmlDeviceGetMemoryInfo_v2");
	CHECK(!init() && !handle(0, &nvml_device));
}

static size_t left(void)
{
	nvmlMemory_t m = {0};
	nvmlMemory_v2_t v = {.version = sizeof v | 2 << 24};
	size_t free = 0, total = 0;

	OK(cuMemGetInfo_v2(&free, &total));
	CHECK(total == quota && free <= total);
	CHECK(!nvml_memory(nvml_device, &m) && m.total == quota && m.free == free && m.used == quota - free);
	CHECK(!nvml_memory_v2(nvml_device, &v) && v.total == quota && v.free == free && v.used == quota - free);
	CHECK(v.reserved == 0);
	return free;
}

#define LEFT(bytes)                                                                                          \
	do {                                                                                                 \
		size_t left_ = left(), want_ = (bytes);                                                      \
		if (left_ != want_) {                                                                        \
			printf("%s:%d: %zu bytes are left, not %zu\n", __FILE__, __LINE__, left_, want_); \
			failures++;                                                                          \
		}                                                                                            \
	} while (0)

static void told(void)
{
	size_t total = 0;

	OK(cuDeviceTotalMem_v2(&total, device));
	CHECK(total == quota);
	LEFT(quota);
}

/* ---- each kind of memory ---- */

static CUstream stream;
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
	CUmemAllocationProp p = {.type = CU_MEM_ALLOCATION_TYPE_PINNED, .location = {CU_MEM_LOCATION_TYPE_DEVICE, device}};

	return cuMemCreate(it, (size + 2 * MB - 1) / (2 * MB) * 2 * MB, &p, 0);
}

static CUresult give_physical(unsigned long long it)
{
	return cuMemRelease(it);
}

static CUDA_ARRAY3D_DESCRIPTOR shape(size_t size)
{
	return (CUDA_ARRAY3D_DESCRIPTOR){.Width = 1024, .Height = (size + 16383) / 16384, .Format = CU_AD_FORMAT_FLOAT,
		.NumChannels = 4};
}

static CUresult take_array(size_t size, unsigned long long *it)
{
	CUDA_ARRAY_DESCRIPTOR d = {.Width = 1024, .Height = shape(size).Height, .Format = CU_AD_FORMAT_FLOAT, .NumChannels = 4};

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

	EXPECT(k->take(quota + 1, &a), CUDA_ERROR_OUT_OF_MEMORY);
	LEFT(quota);
	OK(k->take(quota / 2, &a));
	LEFT(quota / 2);
	EXPECT(k->take(quota / 2 + 1, &b), CUDA_ERROR_OUT_OF_MEMORY);
	LEFT(quota / 2);
	OK(k->take(quota / 2, &b));
	LEFT(0);
	EXPECT(k->take(1, &c), CUDA_ERROR_OUT_OF_MEMORY);
	EXPECT(cuMemAlloc_v2(&c, 1), CUDA_ERROR_OUT_OF_MEMORY);
	OK(k->give(a));
	OK(cuCtxSynchronize());
	LEFT(quota / 2);
	OK(k->take(quota / 4, &a));
	OK(k->give(b));
	OK(k->give(a));
	OK(cuCtxSynchronize());
	LEFT(quota);
	if (failures != before)
		printf("that was %s\n", k->name);
}

static void each_kind(void)
{
	CUmemPoolProps props = {.allocType = CU_MEM_ALLOCATION_TYPE_PINNED, .location = {CU_MEM_LOCATION_TYPE_DEVICE, device}};

	OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	OK(cuMemPoolCreate(&pool, &props));
	for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
		one_kind(&kinds[i]);
	OK(cuMemPoolDestroy(pool));
}

/* Smaller levels of a mipmap count, too, and an array whose memory comes from elsewhere does not. */
static void shapes(void)
{
	CUDA_ARRAY3D_DESCRIPTOR d = shape(quota / 2);
	CUmipmappedArray m;

	OK(cuMipmappedArrayCreate(&m, &d, 2));
	LEFT(quota / 2 - quota / 8);
	OK(cuMipmappedArrayDestroy(m));
	LEFT(quota);
}

/* Managed memory is the host's: none of the device is taken for it. */
static void managed(void)
{
	CUdeviceptr p;

	OK(cuMemAllocManaged(&p, quota / 2, CU_MEM_ATTACH_GLOBAL));
	LEFT(quota);
	OK(cuMemFree_v2(p));
	LEFT(quota);
}

/* ---- pools ---- */

/* A pool keeps what was freed, and that counts; but before anybody goes without it must give it back. */
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
	OK(cuMemAllocAsync(&a, quota / 2, stream)); /* the same again: nothing more of the device */
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

/* A byte of a pool that is gone holds on to what the pool had taken for it. */
static void pools_gone(void)
{
	CUmemPoolProps props = {.allocType = CU_MEM_ALLOCATION_TYPE_PINNED, .location = {CU_MEM_LOCATION_TYPE_DEVICE, device}};
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
	EXPECT(cuMemAlloc_v2(&big, quota), CUDA_ERROR_OUT_OF_MEMORY);
	while (n--)
		OK(cuMemFreeAsync(a[n], stream));
	OK(cuStreamSynchronize(stream));
	LEFT(quota);
}

/* ---- graphs ---- */

static CUgraphExec graph_exec(size_t size, int frees, CUdeviceptr *p)
{
	CUDA_MEM_ALLOC_NODE_PARAMS a = {.bytesize = size,
		.poolProps = {.allocType = CU_MEM_ALLOCATION_TYPE_PINNED, .location = {CU_MEM_LOCATION_TYPE_DEVICE, device}}};
	CUgraphNode alloc, give;
	CUgraphExec exec = NULL;
	CUgraph g;

	OK(cuGraphCreate(&g, 0));
	OK(cuGraphAddMemAllocNode(&alloc, g, NULL, 0, &a));
	if (frees)
		OK(cuGraphAddMemFreeNode(&give, g, &alloc, 1, a.dptr));
	OK(cuGraphInstantiateWithFlags(&exec, g, 0));
	OK(cuGraphDestroy(g));
	*p = a.dptr;
	return exec;
}

static void graph_nodes(void)
{
	CUdeviceptr p, q, d;
	CUgraphExec a = graph_exec(quota / 2, 0, &p), b = graph_exec(quota / 4 * 3, 1, &q), c = graph_exec(quota + 1, 1, &q);

	LEFT(quota); /* only launching takes memory */
	EXPECT(cuGraphLaunch(c, stream), CUDA_ERROR_OUT_OF_MEMORY);
	EXPECT(cuGraphUpload(c, stream), CUDA_ERROR_OUT_OF_MEMORY);
	OK(cuGraphLaunch(b, stream));
	OK(cuStreamSynchronize(stream));
	OK(cuGraphLaunch(a, stream)); /* b keeps nothing that a needs */
	OK(cuStreamSynchronize(stream));
	LEFT(quota / 2);
	EXPECT(cuGraphLaunch(b, stream), CUDA_ERROR_OUT_OF_MEMORY);
	EXPECT(cuMemAlloc_v2(&d, quota / 2 + 1), CUDA_ERROR_OUT_OF_MEMORY);
	OK(cuMemAlloc_v2(&d, quota / 2));
	LEFT(0);
	OK(cuMemFree_v2(d));
	OK(cuMemFreeAsync(p, stream));
	OK(cuStreamSynchronize(stream));
	OK(cuMemAlloc_v2(&d, quota));
	OK(cuMemFree_v2(d));
	for (int i = 0; i < 4; i++)
		OK(cuGraphLaunch(b, stream));
	OK(cuStreamSynchronize(stream));
	OK(cuGraphExecDestroy(a));
	OK(cuGraphExecDestroy(b));
	OK(cuGraphExecDestroy(c));
	OK(cuDeviceGraphMemTrim(device));
	LEFT(quota);
}

/* What a capture allocates is its graph's. */
static void graph_captured(void)
{
	CUgraphExec exec = NULL;
	CUdeviceptr p, d;
	CUgraph g;

	OK(cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
	OK(cuMemAllocAsync(&p, quota / 2, stream));
	OK(cuMemsetD8Async(p, 1, 4096, stream));
	OK(cuMemFreeAsync(p, stream));
	OK(cuStreamEndCapture(stream, &g));
	LEFT(quota);
	OK(cuGraphInstantiateWithFlags(&exec, g, 0));
	OK(cuMemAlloc_v2(&d, quota / 2 + MB));
	EXPECT(cuGraphLaunch(exec, stream), CUDA_ERROR_OUT_OF_MEMORY);
	OK(cuMemFree_v2(d));
	OK(cuMemAlloc_v2(&d, quota / 2));
	OK(cuGraphLaunch(exec, stream));
	OK(cuGraphLaunch(exec, stream));
	OK(cuStreamSynchronize(stream));
	OK(cuGraphExecDestroy(exec));
	OK(cuGraphDestroy(g));
	OK(cuMemFree_v2(d));
	OK(cuDeviceGraphMemTrim(device));
	LEFT(quota);
}

/* Also when it leaves the freeing to somebody else, or is more than anybody may have. */
static void graph_left(void)
{
	CUgraphExec exec = NULL;
	CUdeviceptr p, d;
	CUgraph g;

	OK(cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
	OK(cuMemAllocAsync(&p, quota / 2, stream));
	OK(cuStreamEndCapture(stream, &g));
	LEFT(quota);
	OK(cuGraphInstantiateWithFlags(&exec, g, 0));
	OK(cuGraphDestroy(g));
	OK(cuGraphLaunch(exec, stream));
	OK(cuStreamSynchronize(stream));
	OK(cuGraphExecDestroy(exec)); /* what it has allocated stays */
	LEFT(quota / 2);
	EXPECT(cuMemAlloc_v2(&d, quota / 2 + 1), CUDA_ERROR_OUT_OF_MEMORY);
	OK(cuMemFree_v2(p));
	OK(cuDeviceGraphMemTrim(device));
	LEFT(quota);
	OK(cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
	OK(cuMemAllocAsync(&p, quota + 1, stream));
	OK(cuMemFreeAsync(p, stream));
	OK(cuStreamEndCapture(stream, &g));
	OK(cuGraphInstantiateWithFlags(&exec, g, 0));
	EXPECT(cuGraphLaunch(exec, stream), CUDA_ERROR_OUT_OF_MEMORY);
	OK(cuGraphExecDestroy(exec));
	EXPECT(cuGraphInstantiateWithFlags(&exec, g, CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD), CUDA_ERROR_OUT_OF_MEMORY);
	OK(cuGraphDestroy(g));
	LEFT(quota);
}

/* ---- code ---- */

static void globals(void)
{
	char text[256];
	CUmodule a, b;
	CUlibrary l;

	snprintf(text, sizeof text, ".version 8.0\n.target sm_80\n.address_size 64\n.visible .global .align 16 .b8 big[%zu];\n",
		quota / 2 + MB);
	OK(cuModuleLoadData(&a, text));
	LEFT(quota / 2 - MB);
	EXPECT(cuModuleLoadData(&b, text), CUDA_ERROR_OUT_OF_MEMORY);
	EXPECT(cuLibraryLoadData(&l, text, NULL, NULL, 0, NULL, NULL, 0), CUDA_ERROR_OUT_OF_MEMORY);
	OK(cuModuleUnload(a));
	LEFT(quota);
	OK(cuLibraryLoadData(&l, text, NULL, NULL, 0, NULL, NULL, 0));
	LEFT(quota / 2 - MB);
	OK(cuLibraryUnload(l));
	LEFT(quota);
}

static void limits(void)
{
	size_t usual = 0;

	OK(cuCtxGetLimit(&usual, CU_LIMIT_MALLOC_HEAP_SIZE));
	EXPECT(cuCtxSetLimit(CU_LIMIT_MALLOC_HEAP_SIZE, usual + quota + 1), CUDA_ERROR_OUT_OF_MEMORY);
	OK(cuCtxSetLimit(CU_LIMIT_MALLOC_HEAP_SIZE, usual + quota / 2));
	LEFT(quota / 2);
	OK(cuCtxSetLimit(CU_LIMIT_MALLOC_HEAP_SIZE, usual));
	LEFT(quota);
}

/* ---- contexts ---- */

static void contexts(void)
{
	CUcontext other;
	CUdeviceptr p;

	OK(cuCtxCreate_v2(&other, 0, device));
	OK(cuMemAlloc_v2(&p, quota));
	EXPECT(cuMemAlloc_v2(&p, 1), CUDA_ERROR_OUT_OF_MEMORY);
	OK(cuCtxDestroy_v2(other));
	OK(cuCtxSetCurrent(context));
	LEFT(quota);
	OK(cuMemAlloc_v2(&p, quota));
	OK(cuDevicePrimaryCtxReset_v2(device));
	OK(cuDevicePrimaryCtxRetain(&context, device));
	OK(cuCtxSetCurrent(context));
	LEFT(quota);
	OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
}

/* ---- memory of others ---- */

/* Physical memory is counted once, however often it is held and mapped, and until nobody has it. */
static void physical(void)
{
	CUmemAllocationProp prop = {.type = CU_MEM_ALLOCATION_TYPE_PINNED, .location = {CU_MEM_LOCATION_TYPE_DEVICE, device},
		.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR};
	CUmemGenericAllocationHandle h, again;
	CUdeviceptr at = 0;
	int fd = -1;

	if (!check_shares())
		prop.requestedHandleTypes = 0;
	OK(cuMemCreate(&h, quota / 2, &prop, 0));
	OK(cuMemAddressReserve(&at, quota / 2, 0, 0, 0));
	OK(cuMemMap(at, quota / 2, 0, h, 0));
	if (check_shares()) {
		OK(cuMemExportToShareableHandle(&fd, h, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
		OK(cuMemImportFromShareableHandle(&again, (void *)(intptr_t)fd, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR));
		LEFT(quota / 2);
		OK(cuMemRelease(again));
		close(fd);
	}
	OK(cuMemRelease(h));
	LEFT(quota / 2);
	OK(cuMemUnmap(at, quota / 2));
	OK(cuMemAddressFree(at, quota / 2));
	LEFT(quota);
}

/* ---- devices ---- */

/* Each has a quota of its own, whichever context is current. */
static void devices(void)
{
	CUmemPoolProps props = {.allocType = CU_MEM_ALLOCATION_TYPE_PINNED, .location = {CU_MEM_LOCATION_TYPE_DEVICE, 1}};
	CUmemAllocationProp prop = {.type = CU_MEM_ALLOCATION_TYPE_PINNED, .location = {CU_MEM_LOCATION_TYPE_DEVICE, 1}};
	CUmemGenericAllocationHandle h;
	CUdeviceptr a, b, c;
	CUmemoryPool other;
	CUcontext second;
	CUstream there;
	size_t free = 0;
	int n = 0;

	OK(cuDeviceGetCount(&n));
	if (n < 2)
		return;
	OK(cuMemPoolCreate(&other, &props));
	OK(cuMemAlloc_v2(&a, quota));
	OK(cuMemCreate(&h, quota / 2, &prop, 0));
	EXPECT(cuMemCreate(&h, quota, &prop, 0), CUDA_ERROR_OUT_OF_MEMORY);
	OK(cuDevicePrimaryCtxRetain(&second, 1));
	OK(cuCtxSetCurrent(second));
	OK(cuStreamCreate(&there, CU_STREAM_NON_BLOCKING));
	OK(cuMemGetInfo_v2(&free, NULL));
	CHECK(free == quota / 2);
	EXPECT(cuMemAllocFromPoolAsync(&b, quota / 2 + 1, other, there), CUDA_ERROR_OUT_OF_MEMORY);
	OK(cuMemAllocFromPoolAsync(&b, quota / 2, other, there));
	EXPECT(cuMemAlloc_v2(&c, 1), CUDA_ERROR_OUT_OF_MEMORY);
	OK(cuMemFreeAsync(b, there));
	OK(cuStreamSynchronize(there));
	OK(cuMemPoolDestroy(other));
	OK(cuMemRelease(h));
	OK(cuMemGetInfo_v2(&free, NULL));
	CHECK(free == quota);
	OK(cuDevicePrimaryCtxRelease_v2(1));
	OK(cuCtxSetCurrent(context));
	LEFT(0);
	OK(cuMemFree_v2(a));
	LEFT(quota);
}

/* ---- threads ---- */

#define THREADS 8

static void *take_all(void *got)
{
	CUdeviceptr p;

	OK(cuCtxSetCurrent(context));
	while (!cuMemAlloc_v2(&p, MB))
		++*(size_t *)got;
	return NULL;
}

static void threads(void)
{
	size_t got[THREADS] = {0}, all = 0;
	pthread_t t[THREADS];

	for (int i = 0; i < THREADS; i++)
		pthread_create(&t[i], NULL, take_all, &got[i]);
	for (int i = 0; i < THREADS; i++) {
		pthread_join(t[i], NULL);
		all += got[i];
	}
	CHECK(all == quota / MB);
	LEFT(0);
	OK(cuDevicePrimaryCtxReset_v2(device));
	OK(cuDevicePrimaryCtxRetain(&context, device));
	OK(cuCtxSetCurrent(context));
	LEFT(quota);
}

/* ---- two of them ---- */

/* A process of its own, which has a quota of its own; before this one has anything of CUDA's. */
static int neighbour(int *ask, int *answer)
{
	int down[2], up[2];
	pid_t pid;

	if (pipe(down) || pipe(up))
		exit(1);
	pid = fork();
	if (pid) {
		close(down[0]), close(up[1]);
		*ask = down[1], *answer = up[0];
		return pid;
	}
	close(down[1]), close(up[0]);
	CUipcMemHandle handle;
	CUdeviceptr p, theirs;
	context = check_start();
	nvml_open();
	if (read(down[0], &handle, sizeof handle) != sizeof handle)
		_exit(1);
	OK(cuIpcOpenMemHandle_v2(&theirs, handle, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS));
	LEFT(quota); /* it is somebody else's, who pays for it */
	OK(cuMemAlloc_v2(&p, quota));
	LEFT(0);
	OK(cuIpcCloseMemHandle(theirs));
	LEFT(0);
	OK(cuMemFree_v2(p));
	LEFT(quota);
	fflush(stdout);
	_exit(write(up[1], "x", 1) != 1 || failures);
}

static void two(int ask, int answer, int pid)
{
	CUipcMemHandle handle;
	CUdeviceptr p;
	int status = 1;
	char x;

	OK(cuMemAlloc_v2(&p, quota));
	OK(cuIpcGetMemHandle(&handle, p));
	CHECK(write(ask, &handle, sizeof handle) == sizeof handle);
	CHECK(read(answer, &x, 1) == 1);
	CHECK(waitpid(pid, &status, 0) == pid && !status);
	LEFT(0);
	OK(cuMemFree_v2(p));
	LEFT(quota);
}

static int stranger(int holds)
{
	size_t n = 0;
	CUdeviceptr p;

	check_start();
	while (!cuMemAlloc_v2(&p, MB))
		n++;
	printf("%zu%s\n", n * MB, holds ? " ready" : "");
	fflush(stdout);
	if (holds)
		getchar();
	return 0;
}

int main(int argc, char **argv)
{
	int ask, answer, pid;

	if (argc > 1)
		return stranger(!strcmp(argv[1], "hold"));
	quota = getenv("QUOTA") ? strtoull(getenv("QUOTA"), NULL, 0) : 0;
	if (!quota || quota % (128 * MB)) {
		printf("QUOTA?\n");
		return 1;
	}
	pid = neighbour(&ask, &answer);
	context = check_start();
	OK(cuCtxGetDevice(&device));
	nvml_open();
	told();
	two(ask, answer, pid);
	each_kind();
	shapes();
	managed();
	pools_keep();
	pools_gone();
	graph_nodes();
	graph_captured();
	graph_left();
	globals();
	limits();
	physical();
	devices();
	contexts();
	threads();
	return failures != 0;
}
