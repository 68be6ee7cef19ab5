/*
 * Contexts: the stack of each thread, primary contexts before and after they are retained, stale and forged handles,
 * objects that end with their context, sticky errors.
 */
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>
#include "engine.h"
#include "test/fork.h"

static const char ptx[] = ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k()\n{ ret; }\n"
			  ".visible .entry wild()\n{ .reg .u64 %a; mov.u64 %a, 16; st.global.u32 [%a], 1; ret; }\n";

static void context_stack(void)
{
	CUcontext a, b, got = (CUcontext)1;
	CUdevice dev = -1;
	unsigned long long ida, idb;
	unsigned version;

	OK(soft_cuCtxGetCurrent(&got));
	CHECK(!got);
	CHECK_EQ(soft_cuCtxPopCurrent_v2(&got), CUDA_ERROR_INVALID_CONTEXT);
	CHECK_EQ(soft_cuCtxGetDevice(&dev), CUDA_ERROR_INVALID_CONTEXT);
	OK(soft_cuCtxCreate_v2(&a, CU_CTX_SCHED_SPIN, 0));
	OK(soft_cuCtxCreate_v2(&b, 0, 1));
	CHECK(soft_current() == b);
	OK(soft_cuCtxGetDevice(&dev));
	CHECK_EQ(dev, 1);
	OK(soft_cuCtxGetDevice_v2(&dev, a));
	CHECK_EQ(dev, 0);
	OK(soft_cuCtxGetId(a, &ida));
	OK(soft_cuCtxGetId(NULL, &idb));
	CHECK(ida != idb);
	OK(soft_cuCtxGetApiVersion(a, &version));
	OK(soft_cuCtxPopCurrent_v2(&got));
	CHECK(got == b && soft_current() == a);
	OK(soft_cuCtxPushCurrent_v2(b));
	OK(soft_cuCtxSetCurrent(a)); /* replaces the top */
	OK(soft_cuCtxPopCurrent_v2(NULL));
	CHECK(soft_current() == a);
	OK(soft_cuCtxSetCurrent(NULL)); /* pops */
	CHECK(!soft_current());
	OK(soft_cuCtxDestroy_v2(a));
	OK(soft_cuCtxDestroy_v2(b));
	CHECK_EQ(soft_cuCtxSetCurrent(a), CUDA_ERROR_INVALID_CONTEXT);
	CHECK_EQ(soft_cuCtxPushCurrent_v2((CUcontext)0x12345670), CUDA_ERROR_INVALID_CONTEXT);
	CHECK_EQ(soft_cuCtxCreate_v2(&a, 0, 99), CUDA_ERROR_INVALID_DEVICE);
	CHECK_EQ(soft_cuCtxCreate_v2(&a, 0x1000, 0), CUDA_ERROR_INVALID_VALUE);
	CHECK_EQ(soft_cuCtxCreate_v2(NULL, 0, 0), CUDA_ERROR_INVALID_VALUE);
}

static void primary_context(void)
{
	CUcontext early, ctx, again;
	CUdeviceptr p;
	unsigned flags;
	int active = -1;

#ifdef APPLICATION
	OK(soft_cuDevicePrimaryCtxRetain(&early, 0)); /* the handle never changes */
	OK(soft_cuDevicePrimaryCtxRelease_v2(0));
#else
	OK(soft_primary_handle(&early, 0));
#endif
	OK(soft_cuDevicePrimaryCtxGetState(0, &flags, &active));
	CHECK_EQ(active, 0);
	OK(soft_cuCtxSetCurrent(early)); /* the CUDA runtime does this before it retains the context */
	CHECK_EQ(soft_cuMemAlloc_v2(&p, 16), CUDA_ERROR_CONTEXT_IS_DESTROYED);
	OK(soft_cuDevicePrimaryCtxRetain(&ctx, 0));
	CHECK(ctx == early);
	OK(soft_cuMemAlloc_v2(&p, 16));
	OK(soft_cuDevicePrimaryCtxRetain(&again, 0));
	CHECK(again == ctx);
	OK(soft_cuDevicePrimaryCtxRelease_v2(0));
	OK(soft_cuMemsetD8_v2(p, 0, 16));
	CHECK_EQ(soft_cuCtxDestroy_v2(ctx), CUDA_ERROR_INVALID_CONTEXT);
	OK(soft_cuDevicePrimaryCtxRelease_v2(0));
	CHECK_EQ(soft_cuDevicePrimaryCtxRelease_v2(0), CUDA_ERROR_INVALID_CONTEXT);
	CHECK_EQ(soft_cuMemsetD8_v2(p, 0, 16), CUDA_ERROR_CONTEXT_IS_DESTROYED);
	OK(soft_cuDevicePrimaryCtxRetain(&again, 0));
	CHECK(again == ctx);
	CHECK_EQ(soft_cuMemsetD8_v2(p, 0, 16), CUDA_ERROR_INVALID_VALUE); /* freed with the context */
	OK(soft_cuDevicePrimaryCtxSetFlags_v2(0, CU_CTX_SCHED_YIELD));
	OK(soft_cuDevicePrimaryCtxGetState(0, &flags, &active));
	CHECK(active == 1 && flags == CU_CTX_SCHED_YIELD);
	OK(soft_cuDevicePrimaryCtxReset_v2(0));
	OK(soft_cuDevicePrimaryCtxGetState(0, &flags, &active));
	CHECK_EQ(active, 0);
	OK(soft_cuCtxSetCurrent(NULL));
	CHECK_EQ(soft_cuDevicePrimaryCtxRetain(&ctx, 7), CUDA_ERROR_INVALID_DEVICE);
}

static void handles(void)
{
	CUcontext ctx;
	CUstream s, reused;
	CUevent e;
	CUmodule m;
	CUfunction f;

	OK(soft_cuCtxCreate_v2(&ctx, 0, 0));
	OK(soft_cuStreamCreate(&s, 0));
	OK(soft_cuEventCreate(&e, 0));
	OK(soft_cuModuleLoadData(&m, ptx));
	OK(soft_cuModuleGetFunction(&f, m, "k"));
	CHECK_EQ(soft_cuStreamQuery((CUstream)e), CUDA_ERROR_INVALID_HANDLE); /* a handle of another kind */
	CHECK_EQ(soft_cuEventQuery((CUevent)s), CUDA_ERROR_INVALID_HANDLE);
	CHECK_EQ(soft_cuStreamQuery((CUstream)&s), CUDA_ERROR_INVALID_HANDLE); /* a pointer */
	CHECK_EQ(soft_cuStreamQuery((CUstream)~0ull), CUDA_ERROR_INVALID_HANDLE);
	CHECK_EQ(soft_cuStreamQuery((CUstream)3), CUDA_ERROR_INVALID_HANDLE);
	for (int bit = 0; bit < 64; bit++) /* handles that differ in one bit */
		CHECK_EQ(soft_cuEventQuery((CUevent)((uintptr_t)e ^ 1ull << bit)), CUDA_ERROR_INVALID_HANDLE);
	OK(soft_cuStreamDestroy_v2(s));
	OK(soft_cuStreamCreate(&reused, 0));
	CHECK(reused != s);
	CHECK_EQ(soft_cuStreamQuery(s), CUDA_ERROR_INVALID_HANDLE); /* stale, although its slot is in use again */
	OK(soft_cuCtxDestroy_v2(ctx));                              /* closes all of them */
	OK(soft_cuCtxCreate_v2(&ctx, 0, 0));
	CHECK_EQ(soft_cuStreamQuery(reused), CUDA_ERROR_INVALID_HANDLE);
	CHECK_EQ(soft_cuEventQuery(e), CUDA_ERROR_INVALID_HANDLE);
	CHECK_EQ(soft_cuModuleGetFunction(&f, m, "k"), CUDA_ERROR_INVALID_HANDLE);
	CHECK_EQ(soft_cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, 0, NULL, NULL), CUDA_ERROR_INVALID_HANDLE);
	OK(soft_cuCtxDestroy_v2(ctx));
}

static pthread_barrier_t turn;

static void *other_thread(void *arg)
{
	CUdeviceptr p;
	CUcontext got;

	CHECK(!soft_current()); /* a new thread has no context */
	OK(soft_cuCtxSetCurrent(arg));
	pthread_barrier_wait(&turn);
	pthread_barrier_wait(&turn); /* the context is destroyed meanwhile */
	CHECK_EQ(soft_cuMemAlloc_v2(&p, 16), CUDA_ERROR_CONTEXT_IS_DESTROYED);
	CHECK_EQ(soft_cuCtxSynchronize(), CUDA_ERROR_CONTEXT_IS_DESTROYED);
	OK(soft_cuCtxGetCurrent(&got));
	CHECK(got == arg);
	return NULL;
}

static void destroyed_elsewhere(void)
{
	pthread_t t;
	CUcontext ctx;

	OK(soft_cuCtxCreate_v2(&ctx, 0, 0));
	pthread_barrier_init(&turn, NULL, 2);
	pthread_create(&t, NULL, other_thread, ctx);
	pthread_barrier_wait(&turn);
	OK(soft_cuCtxDestroy_v2(ctx));
	pthread_barrier_wait(&turn);
	pthread_join(t, NULL);
}

#ifndef APPLICATION
static CUresult fails(const struct image_kernel *k, const struct launch *l)
{
	(void)k, (void)l;
	return CUDA_ERROR_ILLEGAL_ADDRESS;
}
#endif

static _Atomic int callback_status;

static void record_status(CUstream s, CUresult status, void *arg)
{
	(void)s, (void)arg;
	callback_status = status;
}

static void must_not_run(void *arg)
{
	*(int *)arg = 1;
}

static void sticky_errors(void)
{
	CUcontext ctx, fresh;
	CUmodule m;
	CUfunction f;
	CUdeviceptr p;
	CUstream s;
	int called = 0;

	OK(soft_cuCtxCreate_v2(&ctx, 0, 0));
	OK(soft_cuModuleLoadData(&m, ptx));
	OK(soft_cuModuleGetFunction(&f, m, "wild"));
	OK(soft_cuStreamCreate(&s, 0));
	OK(soft_cuMemAlloc_v2(&p, 16));
	kernels_do(fails);
	OK(soft_cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, s, NULL, NULL)); /* an asynchronous failure */
	CHECK_EQ(soft_cuStreamSynchronize(s), CUDA_ERROR_ILLEGAL_ADDRESS);
	CHECK_EQ(soft_cuMemAlloc_v2(&p, 16), CUDA_ERROR_ILLEGAL_ADDRESS); /* the error is sticky */
	CHECK_EQ(soft_cuMemFree_v2(p), CUDA_ERROR_ILLEGAL_ADDRESS);
	CHECK_EQ(soft_cuCtxSynchronize(), CUDA_ERROR_ILLEGAL_ADDRESS);
	CHECK_EQ(soft_cuStreamQuery(s), CUDA_ERROR_ILLEGAL_ADDRESS);
	CHECK_EQ(soft_cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, s, NULL, NULL), CUDA_ERROR_ILLEGAL_ADDRESS);
	OK(soft_cuCtxGetCurrent(&fresh)); /* but calls that need no context succeed */
	OK(soft_cuCtxCreate_v2(&fresh, 0, 0));
	OK(soft_cuMemAlloc_v2(&p, 16)); /* another context still works */
	OK(soft_cuCtxDestroy_v2(fresh));
	OK(soft_cuCtxDestroy_v2(ctx));

	/* Work queued behind the failure does not run, except callbacks, which get the error. */
	OK(soft_cuCtxCreate_v2(&ctx, 0, 0));
	OK(soft_cuModuleLoadData(&m, ptx));
	OK(soft_cuModuleGetFunction(&f, m, "wild"));
	OK(soft_cuStreamCreate(&s, 0));
	CUstream opens;
	OK(soft_cuStreamCreate(&opens, CU_STREAM_NON_BLOCKING));
	OK(soft_cuMemAlloc_v2(&p, 16));
	OK(soft_cuMemsetD32_v2(p, 0, 1));
	OK(soft_cuStreamWaitValue32_v2(s, p, 1, CU_STREAM_WAIT_VALUE_EQ));
	OK(soft_cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, s, NULL, NULL));
	OK(soft_cuLaunchHostFunc(s, must_not_run, &called));
	OK(soft_cuStreamAddCallback(s, record_status, NULL, 0));
	OK(soft_cuStreamWriteValue32_v2(opens, p, 1, 0)); /* from now on, any call may return the error */
	CHECK_EQ(soft_cuStreamSynchronize(s), CUDA_ERROR_ILLEGAL_ADDRESS);
	CHECK(!called);
	/* The synchronising call may return before the callback has run. */
	for (int i = 0; i < 1000000 && !callback_status; i++)
		usleep(100);
	CHECK_EQ(callback_status, CUDA_ERROR_ILLEGAL_ADDRESS);
	kernels_do(NULL);
	OK(soft_cuCtxDestroy_v2(ctx));
}

static CUresult from_callback[2];

static void calls_cuda(void *arg)
{
	CUdeviceptr p;

	(void)arg;
	from_callback[0] = soft_cuMemAlloc_v2(&p, 16);
	from_callback[1] = soft_cuCtxSynchronize();
}

static void callbacks(void)
{
	CUcontext ctx;

	OK(soft_cuCtxCreate_v2(&ctx, 0, 0));
	OK(soft_cuLaunchHostFunc(NULL, calls_cuda, NULL));
	OK(soft_cuCtxSynchronize());
	CHECK_EQ(from_callback[0], CUDA_ERROR_NOT_PERMITTED);
	CHECK_EQ(from_callback[1], CUDA_ERROR_NOT_PERMITTED);
	CHECK_EQ(soft_cuLaunchHostFunc(NULL, NULL, NULL), CUDA_ERROR_INVALID_VALUE);
	OK(soft_cuCtxDestroy_v2(ctx));
}

static void settings(void)
{
	CUcontext ctx;
	size_t v = 0;
	int least = 1, greatest = 1;
	CUfunc_cache cache;

	OK(soft_cuCtxCreate_v2(&ctx, 0, 0));
	OK(soft_cuCtxGetLimit(&v, CU_LIMIT_STACK_SIZE));
	CHECK_EQ(v, 1024);
	OK(soft_cuCtxSetLimit(CU_LIMIT_MALLOC_HEAP_SIZE, 32 << 20));
	OK(soft_cuCtxGetLimit(&v, CU_LIMIT_MALLOC_HEAP_SIZE));
	CHECK_EQ(v, 32 << 20);
	CHECK_EQ(soft_cuCtxGetLimit(&v, 99), CUDA_ERROR_INVALID_VALUE);
	OK(soft_cuCtxGetStreamPriorityRange(&least, &greatest));
	CHECK(least == 0 && greatest == -5);
	OK(soft_cuCtxSetCacheConfig(CU_FUNC_CACHE_PREFER_L1));
	OK(soft_cuCtxGetCacheConfig(&cache));
	CHECK_EQ(cache, CU_FUNC_CACHE_PREFER_L1);
	OK(soft_cuProfilerStart());
	OK(soft_cuProfilerStop());
	OK(soft_cuCtxDestroy_v2(ctx));
}

static void devices(void)
{
	int n = 0, v = -1;
	CUdevice dev;
	CUuuid a, b;
	char text[64];

	OK(soft_cuDeviceGetCount(&n));
	CHECK_EQ(n, 2);
	CHECK_EQ(soft_cuDeviceGet(&dev, 99), CUDA_ERROR_INVALID_DEVICE);
	CHECK_EQ(soft_cuDeviceGet(&dev, -1), CUDA_ERROR_INVALID_DEVICE);
	CHECK_EQ(soft_cuDeviceGet(NULL, 0), CUDA_ERROR_INVALID_VALUE);
	for (int a = 1; a <= 147; a++)
		OK(soft_cuDeviceGetAttribute(&v, a, 0));
	CHECK_EQ(soft_cuDeviceGetAttribute(&v, 0, 0), CUDA_ERROR_INVALID_VALUE);
	CHECK_EQ(soft_cuDeviceGetAttribute(&v, 9999, 0), CUDA_ERROR_INVALID_VALUE);
	OK(soft_cuDeviceGetUuid(&a, 0));
	OK(soft_cuDeviceGetUuid_v2(&b, 1));
	CHECK(memcmp(&a, &b, sizeof a));
	for (int i = 0; i < n; i++) {
		OK(soft_cuDeviceGetPCIBusId(text, sizeof text, i));
		OK(soft_cuDeviceGetByPCIBusId(&dev, text));
		CHECK_EQ(dev, i);
	}
	CHECK_EQ(soft_cuDeviceGetByPCIBusId(&dev, "nonsense"), CUDA_ERROR_INVALID_VALUE);
	CHECK_EQ(soft_cuDeviceGetByPCIBusId(&dev, "0000:7f:00.0"), CUDA_ERROR_INVALID_DEVICE);
	OK(soft_cuDeviceGetName(text, 4, 0));
	CHECK_EQ(strlen(text), 3);
}

#ifndef APPLICATION
/* config.context_ending is called while the context is still usable. */
static int endings;
static CUcontext ended;

static void ending(CUcontext ctx)
{
	unsigned long long id = 0;
	unsigned flags;
	int active = 0;
	CUdeviceptr p;

	endings++;
	ended = ctx;
	OK(soft_cuCtxGetId(ctx, &id));
	if (soft_current() == ctx && soft_cuCtxSynchronize() == CUDA_SUCCESS)
		OK(soft_cuMemAlloc_v2(&p, 16));
	OK(soft_cuDevicePrimaryCtxGetState(0, &flags, &active));
}

static void ending_hook(void)
{
	CUcontext a, b;

	endings = 0;
	OK(soft_cuCtxCreate_v2(&a, 0, 0));
	OK(soft_cuCtxDestroy_v2(a));
	CHECK(endings == 1 && ended == a);
	OK(soft_cuDevicePrimaryCtxRetain(&b, 0));
	OK(soft_cuDevicePrimaryCtxRelease_v2(0));
	CHECK(endings == 2 && ended == b);
	OK(soft_cuDevicePrimaryCtxReset_v2(0)); /* not active: no call */
	CHECK_EQ(endings, 2);
}

/* In a child process: CUDA_VISIBLE_DEVICES hides all devices.  CUDA runtimes crash if cuInit succeeds then. */
static void nothing_visible(void)
{
	int status = 0;
	pid_t pid = calm_fork();

	if (!pid) {
		int n = -1;

		OK(soft_open(&test_engine, &(struct soft_config){.devices = 2, .visible = ""}));
		CHECK_EQ(soft_cuInit(0), CUDA_ERROR_NO_DEVICE);
		OK(soft_cuDeviceGetCount(&n));
		CHECK_EQ(n, 0);
		_exit(RESULT());
	}
	waitpid(pid, &status, 0);
	CHECK_EQ(status, 0);
}

#endif

static atomic_bool begun;

static void *allocate_until_reset(void *primary)
{
	CUdeviceptr p;
	CUresult r;

	OK(soft_cuCtxPushCurrent_v2(primary));
	while (!(r = soft_cuMemAlloc_v2(&p, 1)))
		begun = true;
	begun = true;
	CHECK_EQ(r, CUDA_ERROR_CONTEXT_IS_DESTROYED);
	OK(soft_cuCtxPopCurrent_v2(NULL));
	return NULL;
}

/* Allocations in a primary context that another thread resets are freed or refused; none leaks. */
static void reset_while_used(void)
{
	size_t before, after, total;
	CUcontext primary, other;
	pthread_t t;

	OK(soft_cuCtxCreate_v2(&other, 0, 0));
	OK(soft_cuMemGetInfo_v2(&before, &total));
	for (int i = 0; i < 20; i++) {
		OK(soft_cuDevicePrimaryCtxRetain(&primary, 0));
		begun = false;
		pthread_create(&t, NULL, allocate_until_reset, primary);
		while (!begun)
			usleep(100);
		OK(soft_cuDevicePrimaryCtxReset_v2(0));
		pthread_join(t, NULL);
		OK(soft_cuMemGetInfo_v2(&after, &total));
		CHECK_EQ(after, before);
	}
	OK(soft_cuCtxDestroy_v2(other));
}

int main(void)
{
#ifdef APPLICATION
	OK(soft_cuInit(0));
#else
	nothing_visible();
	OK(soft_open(&test_engine, &(struct soft_config){.devices = 2, .context_ending = ending}));
#endif
	devices();
	context_stack();
	primary_context();
	handles();
	destroyed_elsewhere();
	reset_while_used();
	sticky_errors();
	callbacks();
	settings();
#ifndef APPLICATION
	ending_hook();
#endif
	return RESULT();
}
