/*
 * A client of a server with a quota: with every kind of allocation the client gets exactly its quota, and CUDA and NVML
 * report the same free memory.
 *
 *	quota		runs all checks; served.sh starts it with --memory; QUOTA is in bytes, a multiple of 128 MiB
 *	quota all	allocates all it can in steps of 1 MiB and prints the sum in bytes
 *	quota hold	as all, and keeps the memory until a line on stdin
 */
#include <dlfcn.h>
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>
#include "abi/nvml.h"
#include "quota.h"
#include "test/fork.h"

size_t quota;
CUdevice device;
static CUcontext context;

/* ---- reported memory ---- */

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

size_t left(void)
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

static void told(void)
{
	size_t total = 0;

	OK(cuDeviceTotalMem_v2(&total, device));
	CHECK(total == quota);
	LEFT(quota);
}

/* ---- code ---- */

static void globals(void)
{
	char text[256];
	CUmodule a, b;
	CUlibrary l;

	snprintf(text, sizeof text,
		".version 8.0\n.target sm_80\n.address_size 64\n.visible .global .align 16 .b8 big[%zu];\n",
		quota / 2 + MB);
	OK(cuModuleLoadData(&a, text));
	LEFT(quota / 2 - MB);
	CHECK_EQ(cuModuleLoadData(&b, text), CUDA_ERROR_OUT_OF_MEMORY);
	CHECK_EQ(cuLibraryLoadData(&l, text, NULL, NULL, 0, NULL, NULL, 0), CUDA_ERROR_OUT_OF_MEMORY);
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
	CHECK_EQ(cuCtxSetLimit(CU_LIMIT_MALLOC_HEAP_SIZE, usual + quota + 1), CUDA_ERROR_OUT_OF_MEMORY);
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
	CHECK_EQ(cuMemAlloc_v2(&p, 1), CUDA_ERROR_OUT_OF_MEMORY);
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

/* ---- physical memory ---- */

/* Physical memory counts once, however many handles and mappings it has, until the last one is released. */
static void physical(void)
{
	CUmemAllocationProp prop = {.type = CU_MEM_ALLOCATION_TYPE_PINNED,
		.location = {CU_MEM_LOCATION_TYPE_DEVICE, device},
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
		OK(cuMemImportFromShareableHandle(
			&again, (void *)(intptr_t)fd, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR));
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

/* Each device has its own quota, independent of the current context. */
static void devices(void)
{
	CUmemPoolProps props = {
		.allocType = CU_MEM_ALLOCATION_TYPE_PINNED, .location = {CU_MEM_LOCATION_TYPE_DEVICE, 1}};
	CUmemAllocationProp prop = {
		.type = CU_MEM_ALLOCATION_TYPE_PINNED, .location = {CU_MEM_LOCATION_TYPE_DEVICE, 1}};
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
	CHECK_EQ(cuMemCreate(&h, quota, &prop, 0), CUDA_ERROR_OUT_OF_MEMORY);
	OK(cuDevicePrimaryCtxRetain(&second, 1));
	OK(cuCtxSetCurrent(second));
	OK(cuStreamCreate(&there, CU_STREAM_NON_BLOCKING));
	OK(cuMemGetInfo_v2(&free, NULL));
	CHECK(free == quota / 2);
	CHECK_EQ(cuMemAllocFromPoolAsync(&b, quota / 2 + 1, other, there), CUDA_ERROR_OUT_OF_MEMORY);
	OK(cuMemAllocFromPoolAsync(&b, quota / 2, other, there));
	CHECK_EQ(cuMemAlloc_v2(&c, 1), CUDA_ERROR_OUT_OF_MEMORY);
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

/* ---- two clients ---- */

/* Forks a second client with its own quota; called before this process uses CUDA. */
static int neighbour(int *ask, int *answer)
{
	int down[2], up[2];
	pid_t pid;

	if (pipe(down) || pipe(up))
		exit(1);
	pid = calm_fork();
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
	LEFT(quota); /* imported memory counts for its owner */
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

static int allocate_all(int holds)
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
		return allocate_all(!strcmp(argv[1], "hold"));
	quota = getenv("QUOTA") ? strtoull(getenv("QUOTA"), NULL, 0) : 0;
	if (!quota || quota % (128 * MB)) {
		printf("set QUOTA to a multiple of 128 MiB\n");
		return 1;
	}
	pid = neighbour(&ask, &answer);
	context = check_start();
	OK(cuCtxGetDevice(&device));
	nvml_open();
	told();
	two(ask, answer, pid);
	failures += quota_kinds() + quota_graphs();
	globals();
	limits();
	physical();
	devices();
	contexts();
	threads();
	return failures != 0;
}
