/*
 * Stress test: many threads make random calls on shared objects: handles that other threads destroy, contexts that
 * are reset while work runs, launches that fail.  Results are not checked; nothing may crash, hang or leak, and the
 * sanitizers must stay silent.
 */
#include <pthread.h>
#include <unistd.h>
#include "engine.h"

enum { THREADS = 6, SLOTS = 16, STEPS = 2500 };

static const char ptx[] =
	".version 8.0\n.target sm_80\n.address_size 64\n.visible .global .b8 g[300];\n"
	".visible .entry a(.param .u64 p)\n"
	"{ .reg .u32 %n; .reg .u64 %a; .reg .pred %q; mov.u32 %n, %ntid.x; setp.ne.u32 %q, %n, 7; @%q ret;\n"
	"mov.u64 %a, 16; st.global.u32 [%a], %n; ret; }\n"
	".visible .entry b()\n{ ret; }\n";

/* Handles that all threads share and no thread owns. */
static _Atomic uint64_t streams[SLOTS], events[SLOTS], modules[SLOTS], functions[SLOTS], libraries[SLOTS],
	kernels[SLOTS], contexts[4];

#ifndef APPLICATION
static CUresult sometimes_fails(const struct image_kernel *k, const struct launch *l)
{
	(void)k;
	if (l->block[0] == 7)
		return CUDA_ERROR_LAUNCH_FAILED;
	return CUDA_SUCCESS;
}
#endif

static void host_function(void *arg)
{
	(void)arg;
}

static void callback(CUstream s, CUresult r, void *arg)
{
	(void)s, (void)r, (void)arg;
}

#define PICK(pool)        atomic_load(&(pool)[r[1] % SLOTS])
#define KEEP(pool, value) atomic_store(&(pool)[r[2] % SLOTS], (uint64_t)(uintptr_t)(value))
#define AS(type, value)   ((type)(uintptr_t)(value))

static CUstream any_stream(const unsigned *r)
{
	return r[3] % 4 ? AS(CUstream, PICK(streams)) : AS(CUstream, r[2] % 3);
}

static void streams_and_events(const unsigned *r)
{
	CUstream s = NULL;
	CUevent e = NULL;
	float ms;

	switch (r[0] % 12) {
	case 0:
		if (!soft_cuStreamCreateWithPriority(&s, r[1] % 2, -(int)(r[2] % 6)))
			KEEP(streams, s);
		break;
	case 1:
		soft_cuStreamDestroy_v2(AS(CUstream, PICK(streams)));
		break;
	case 2:
		soft_cuStreamSynchronize(any_stream(r));
		break;
	case 3:
		soft_cuStreamQuery(any_stream(r));
		break;
	case 4:
		if (!soft_cuEventCreate(&e, 0))
			KEEP(events, e);
		break;
	case 5:
		soft_cuEventDestroy_v2(AS(CUevent, PICK(events)));
		break;
	case 6:
		soft_cuEventRecord(AS(CUevent, PICK(events)), any_stream(r));
		break;
	case 7:
		soft_cuStreamWaitEvent(any_stream(r), AS(CUevent, PICK(events)), 0);
		break;
	case 8:
		soft_cuEventSynchronize(AS(CUevent, PICK(events)));
		break;
	case 9:
		soft_cuEventElapsedTime_v2(&ms, AS(CUevent, PICK(events)), AS(CUevent, events[r[2] % SLOTS]));
		break;
	case 10:
		soft_cuLaunchHostFunc(any_stream(r), host_function, NULL);
		break;
	case 11:
		soft_cuStreamAddCallback(any_stream(r), callback, NULL, 0);
		break;
	}
}

/*
 * A thread copies in its own context: no driver detects that an application frees memory while another thread uses
 * it, or resets the context of that memory.
 */
static __thread CUcontext own;

static void memory_and_copies(const unsigned *r)
{
	unsigned char buffer[2000] = {0};
	size_t size = 1 + r[3] % sizeof buffer;
	CUdeviceptr p;

	if (own ? soft_cuCtxPushCurrent_v2(own) : soft_cuCtxCreate_v2(&own, 0, 1))
		return;
	OK(soft_cuMemAlloc_v2(&p, sizeof buffer));
	OK(soft_cuMemcpyHtoD_v2(p, buffer, size));
	OK(soft_cuMemsetD8Async(p, 1, size, CU_STREAM_PER_THREAD));
	OK(soft_cuMemcpyDtoHAsync_v2(buffer, p, size, CU_STREAM_PER_THREAD));
	CHECK_EQ(buffer[size - 1], 1);
	if (r[2] % 2)
		OK(soft_cuMemFree_v2(p));
	OK(soft_cuCtxPopCurrent_v2(NULL));
	if (r[1] % 16 == 0) { /* frees the memory that is still allocated */
		OK(soft_cuCtxDestroy_v2(own));
		own = NULL;
	}
}

static void code(const unsigned *r)
{
	CUlibraryOption option = CU_LIBRARY_BINARY_IS_PRESERVED;
	void *yes = (void *)1, *params[] = {&yes};
	CUmodule m;
	CUfunction f;
	CUlibrary l;
	CUkernel k;
	CUdeviceptr g;

	switch (r[0] % 9) {
	case 0:
		if (!soft_cuModuleLoadData(&m, ptx))
			KEEP(modules, m);
		break;
	case 1:
		soft_cuModuleUnload(AS(CUmodule, PICK(modules)));
		break;
	case 2:
		if (!soft_cuModuleGetFunction(&f, AS(CUmodule, PICK(modules)), "a"))
			KEEP(functions, f);
		break;
	case 3:
		if (!soft_cuLibraryLoadData(&l, ptx, NULL, NULL, 0, &option, &yes, r[2] % 2))
			KEEP(libraries, l);
		break;
	case 4:
		soft_cuLibraryUnload(AS(CUlibrary, PICK(libraries)));
		break;
	case 5:
		if (!soft_cuLibraryGetKernel(&k, AS(CUlibrary, PICK(libraries)), "a"))
			KEEP(kernels, k);
		break;
	case 6:
		if (!soft_cuKernelGetFunction(&f, AS(CUkernel, PICK(kernels))))
			KEEP(functions, f);
		break;
	case 7:
		soft_cuLibraryGetGlobal(&g, NULL, AS(CUlibrary, PICK(libraries)), "g");
		break;
	case 8:
		f = AS(CUfunction, r[3] % 2 ? PICK(functions) : PICK(kernels));
		soft_cuLaunchKernel(f, 1, 1, 1, r[2] % 200 ? 1 : 7, 1, 1, 0, any_stream(r), params, NULL);
		break;
	}
}

static void context(const unsigned *r)
{
	CUcontext c;

	switch (r[1] % 8) {
	case 0:
		if (!soft_cuCtxCreate_v2(&c, 0, r[2] % 2)) {
			c = AS(CUcontext, atomic_exchange(&contexts[r[2] % 4], (uintptr_t)c));
			soft_cuCtxDestroy_v2(c);
		}
		break;
	case 1:
		soft_cuDevicePrimaryCtxReset_v2(0);
		break;
	case 2:
		soft_cuCtxDestroy_v2(AS(CUcontext, contexts[r[2] % 4]));
		break;
	case 3:
		soft_cuCtxPopCurrent_v2(NULL);
		break;
	default:
		soft_cuCtxSetCurrent(AS(CUcontext, contexts[r[2] % 4]));
		break;
	}
	if (soft_cuCtxSynchronize()) { /* none, destroyed or failed: continue with the primary one */
		soft_cuDevicePrimaryCtxReset_v2(0);
		OK(soft_cuDevicePrimaryCtxRetain(&c, 0));
		OK(soft_cuCtxSetCurrent(c));
	}
}

static void *thread(void *arg)
{
	unsigned seed = 12345 + (unsigned)(uintptr_t)arg;
	unsigned r[4];

	for (int i = 0; i < STEPS; i++) {
		for (int k = 0; k < 4; k++)
			r[k] = rand_r(&seed) >> 3;
		unsigned what = rand_r(&seed) >> 3;
		if (i == 0 || what % 97 == 0)
			context(r);
		else if (what % 7 < 3)
			streams_and_events(r);
		else if (what % 7 < 6)
			code(r);
		else
			memory_and_copies(r);
	}
	soft_cuCtxDestroy_v2(own);
	return NULL;
}

int main(void)
{
	pthread_t t[THREADS];

	OK(soft_open(&test_engine, &(struct soft_config){.devices = 2, .memory = 64 << 20}));
	kernels_do(sometimes_fails);
	for (uintptr_t i = 0; i < THREADS; i++)
		pthread_create(&t[i], NULL, thread, (void *)i);
	for (int i = 0; i < THREADS; i++)
		pthread_join(t[i], NULL);
	/* Everything can still be freed. */
	for (int i = 0; i < SLOTS; i++)
		soft_cuLibraryUnload(AS(CUlibrary, libraries[i]));
	for (int i = 0; i < 4; i++)
		soft_cuCtxDestroy_v2(AS(CUcontext, contexts[i]));
	for (int d = 0; d < 2; d++) {
		size_t free_now, total;
		CUcontext c;

		OK(soft_cuDevicePrimaryCtxReset_v2(d));
		OK(soft_cuDevicePrimaryCtxRetain(&c, d));
		OK(soft_cuCtxSetCurrent(c));
		OK(soft_cuMemGetInfo_v2(&free_now, &total));
		CHECK_EQ(free_now, total);
		OK(soft_cuDevicePrimaryCtxRelease_v2(d));
	}
	return RESULT();
}
