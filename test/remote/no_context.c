/*
 * Calls before cuInit return CUDA_ERROR_NOT_INITIALIZED.  Calls of a thread without a current context return
 * CUDA_ERROR_INVALID_CONTEXT, whatever contexts other threads use, and however many of them there are.
 */
#include <pthread.h>
#include "driver.h"

static void check_before_init(void)
{
	CUdevice device;
	CUcontext none;
	CUdeviceptr p;
	CUstream stream;
	const char *name = NULL;
	size_t size;
	int n;

	CHECK_EQ(cuDeviceGetCount(&n), CUDA_ERROR_NOT_INITIALIZED);
	CHECK_EQ(cuDeviceGet(&device, 0), CUDA_ERROR_NOT_INITIALIZED);
	CHECK_EQ(cuDeviceTotalMem_v2(&size, 0), CUDA_ERROR_NOT_INITIALIZED);
	CHECK_EQ(cuCtxGetCurrent(&none), CUDA_ERROR_NOT_INITIALIZED);
	CHECK_EQ(cuDevicePrimaryCtxRetain(&none, 0), CUDA_ERROR_NOT_INITIALIZED);
	CHECK_EQ(cuMemAlloc_v2(&p, 16), CUDA_ERROR_NOT_INITIALIZED);
	CHECK_EQ(cuMemFree_v2(0), CUDA_ERROR_NOT_INITIALIZED);
	CHECK_EQ(cuStreamCreate(&stream, 0), CUDA_ERROR_NOT_INITIALIZED);
	CHECK_EQ(cuStreamSynchronize(NULL), CUDA_ERROR_NOT_INITIALIZED);
	CHECK_EQ(cuCtxSynchronize(), CUDA_ERROR_NOT_INITIALIZED);
	OK(cuDriverGetVersion(&n));
	OK(cuGetErrorName(CUDA_ERROR_NOT_INITIALIZED, &name));
}

/* One call of each kind that needs a current context. */
static void check_without_context(void)
{
	static const char text[] = ".version 7.0\n.target sm_70\n.address_size 64\n.visible .entry k() { ret; }\n";
	CUdeviceptr p = 0;
	CUstream stream;
	CUevent event;
	CUmodule m;
	CUarray array;
	CUgraph graph = NULL;
	CUdevice device;
	CUcontext now = (CUcontext)1;
	CUDA_ARRAY_DESCRIPTOR shape = {16, 16, CU_AD_FORMAT_FLOAT, 1};
	char host[16] = {0};
	void *pinned;
	size_t size, total;
	int low, high;
	unsigned flags;

	OK(cuCtxGetCurrent(&now));
	CHECK(!now);
	CHECK_EQ(cuCtxGetDevice(&device), CUDA_ERROR_INVALID_CONTEXT);
	CHECK_EQ(cuCtxGetFlags(&flags), CUDA_ERROR_INVALID_CONTEXT);
	CHECK_EQ(cuCtxSynchronize(), CUDA_ERROR_INVALID_CONTEXT);
	CHECK_EQ(cuCtxGetLimit(&size, CU_LIMIT_STACK_SIZE), CUDA_ERROR_INVALID_CONTEXT);
	CHECK_EQ(cuCtxGetStreamPriorityRange(&low, &high), CUDA_ERROR_INVALID_CONTEXT);
	CHECK_EQ(cuMemAlloc_v2(&p, 1024), CUDA_ERROR_INVALID_CONTEXT);
	CHECK_EQ(cuMemAllocManaged(&p, 1024, CU_MEM_ATTACH_GLOBAL), CUDA_ERROR_INVALID_CONTEXT);
	CHECK_EQ(cuMemAllocPitch_v2(&p, &size, 64, 64, 4), CUDA_ERROR_INVALID_CONTEXT);
	CHECK_EQ(cuMemAllocAsync(&p, 1024, NULL), CUDA_ERROR_INVALID_CONTEXT);
	CHECK_EQ(cuMemHostAlloc(&pinned, 1024, 0), CUDA_ERROR_INVALID_CONTEXT);
	CHECK_EQ(cuMemAllocHost_v2(&pinned, 1024), CUDA_ERROR_INVALID_CONTEXT);
	CHECK_EQ(cuMemGetInfo_v2(&size, &total), CUDA_ERROR_INVALID_CONTEXT);
	CHECK_EQ(cuMemHostRegister_v2(host, sizeof host, 0), CUDA_ERROR_INVALID_CONTEXT);
	CHECK_EQ(cuMemcpyHtoD_v2(4096, host, 4), CUDA_ERROR_INVALID_CONTEXT);
	CHECK_EQ(cuMemsetD8_v2(4096, 0, 4), CUDA_ERROR_INVALID_CONTEXT);
	CHECK_EQ(cuArrayCreate_v2(&array, &shape), CUDA_ERROR_INVALID_CONTEXT);
	CHECK_EQ(cuStreamCreate(&stream, 0), CUDA_ERROR_INVALID_CONTEXT);
	CHECK_EQ(cuStreamCreateWithPriority(&stream, 0, 0), CUDA_ERROR_INVALID_CONTEXT);
	CHECK_EQ(cuEventCreate(&event, 0), CUDA_ERROR_INVALID_CONTEXT);
	CHECK_EQ(cuModuleLoadData(&m, text), CUDA_ERROR_INVALID_CONTEXT);
	CHECK_EQ(cuStreamSynchronize(NULL), CUDA_ERROR_INVALID_CONTEXT);
	CHECK_EQ(cuStreamQuery(NULL), CUDA_ERROR_INVALID_CONTEXT);
	OK(cuGraphCreate(&graph, 0)); /* a graph belongs to no context */
	OK(cuGraphDestroy(graph));
}

static void *thread_run(void *arg)
{
	(void)arg;
	check_without_context();
	return NULL;
}

static void check_thread(void)
{
	pthread_t thread;

	CHECK(!pthread_create(&thread, NULL, thread_run, NULL));
	pthread_join(thread, NULL);
}

int main(void)
{
	CUcontext contexts[3];
	CUdevice device;

	check_before_init();
	OK(cuInit(0));
	check_thread();
	OK(cuDeviceGet(&device, 0));
	OK(cuDevicePrimaryCtxRetain(&context, device));
	OK(cuCtxSetCurrent(context));
	CUdeviceptr p = memory(64);
	check_thread();
	for (int i = 0; i < 3; i++) {
		OK(cuCtxCreate_v2(&contexts[i], 0, device));
		OK(cuCtxSynchronize());
		check_thread();
		OK(cuMemcpyHtoD_v2(p, &i, 4)); /* the thread's own calls go on */
	}
	for (int i = 3; i-- > 0;) {
		OK(cuCtxDestroy_v2(contexts[i]));
		check_thread();
	}
	CHECK_EQ(word_at(p), 2);
	return RESULT();
}
