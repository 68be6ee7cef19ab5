/*
 * An application that makes all common calls and tolerates errors.  Each call succeeds with the right result, or returns
 * an error that CUDA uses for missing resources; no call hangs: the kernel ends the program by SIGALRM after 60 s.
 * The last line of the output says "complete" if every call succeeded.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <unistd.h>
#include "test/remote/application.h"

#define COUNT   (2u << 20) /* ints: a copy of 8 MiB is done by several threads */
#define STREAMS 3

static const char code[] =
	".version 8.0\n.target sm_80\n.address_size 64\n"
	".extern .func (.param .b32 r) vprintf(.param .b64 f, .param .b64 a);\n"
	".global .align 1 .b8 text[9] = {110, 117, 109, 98, 101, 114, 37, 100, 0};\n"
	".visible .entry say(.param .u32 n)\n"
	"{ .local .align 8 .b8 room[8]; .reg .b32 %r<4>; .reg .b64 %rd<4>;\n"
	"  ld.param.u32 %r1, [n]; mov.u64 %rd1, room; st.local.u32 [%rd1], %r1; cvta.local.u64 %rd2, %rd1;\n"
	"  mov.u64 %rd1, text; cvta.global.u64 %rd3, %rd1;\n"
	"  { .param .b64 f; .param .b64 a; .param .b32 r; st.param.b64 [f], %rd3; st.param.b64 [a], %rd2;\n"
	"    call (r), vprintf, (f, a); } ret; }\n"
	".visible .entry inc(.param .u64 p)\n"
	"{ .reg .b32 %r<6>; .reg .b64 %rd<4>;\n"
	"  ld.param.u64 %rd1, [p]; mov.u32 %r1, %ctaid.x; mov.u32 %r2, %ntid.x; mov.u32 %r3, %tid.x;\n"
	"  mad.lo.u32 %r4, %r1, %r2, %r3; mul.wide.u32 %rd2, %r4, 4; add.u64 %rd1, %rd1, %rd2;\n"
	"  ld.global.u32 %r5, [%rd1]; add.u32 %r5, %r5, 1; st.global.u32 [%rd1], %r5; ret; }\n";

static atomic_int refused; /* calls that returned an error */
static bool verbose;

/* True: the call succeeded.  After the first error, results are no longer compared. */
static bool call_check(CUresult r, const char *call)
{
	if (!r)
		return true;
	atomic_fetch_add(&refused, 1);
	if (verbose)
		fprintf(stderr, "%s: %d\n", call, r);
	switch (r) {
	case CUDA_ERROR_OUT_OF_MEMORY:
	case CUDA_ERROR_OPERATING_SYSTEM:
	case CUDA_ERROR_NO_DEVICE:
	case CUDA_ERROR_DEVICE_UNAVAILABLE:
		return false;
	default:
		fprintf(stderr, "%s returned %d\n", call, r);
		failures++;
		return false;
	}
}

#define TRY(call) call_check(call, #call)

static void host_function(void *arg)
{
	atomic_fetch_add((atomic_int *)arg, 1);
}

static void stream_callback(CUstream s, CUresult r, void *arg)
{
	(void)s, (void)r;
	atomic_fetch_add((atomic_int *)arg, 1);
}

static bool all_are(const unsigned *p, unsigned n, unsigned value)
{
	for (unsigned i = 0; i < n; i++)
		if (p[i] != value)
			return false;
	return true;
}

static void copies_and_launches(CUfunction inc, CUstream *streams, int nstreams)
{
	unsigned *host = calloc(COUNT, sizeof *host), n = 1 << 14;
	CUdeviceptr d = 0;
	CUevent e[2] = {0};
	float ms;

	if (host && TRY(cuMemAlloc_v2(&d, COUNT * sizeof *host))) {
		void *params[] = {&d};
		bool ok = TRY(cuMemcpyHtoD_v2(d, host, COUNT * sizeof *host)) && TRY(cuCtxSynchronize());

		for (int i = 0; i < 2; i++)
			ok = TRY(cuEventCreate(&e[i], 0)) && ok;
		for (int i = 0; ok && i < nstreams; i++) {
			ok = TRY(cuLaunchKernel(inc, n / 64, 1, 1, 64, 1, 1, 0, streams[i], params, NULL)) && ok;
			ok = TRY(cuEventRecord(e[0], streams[i])) && ok;
			ok = TRY(cuStreamWaitEvent(streams[(i + 1) % nstreams], e[0], 0)) && ok;
		}
		if (ok && TRY(cuEventRecord(e[1], streams[nstreams - 1])) && TRY(cuEventSynchronize(e[1])) &&
			TRY(cuEventElapsedTime_v2(&ms, e[0], e[1])) &&
			TRY(cuMemcpyDtoHAsync_v2(host, d, COUNT * sizeof *host, streams[0])) &&
			TRY(cuStreamSynchronize(streams[0])) && !refused)
			CHECK(all_are(host, n, nstreams) && all_are(host + n, COUNT - n, 0));
		for (int i = 0; i < 2; i++)
			if (e[i])
				TRY(cuEventDestroy_v2(e[i]));
		TRY(cuMemFree_v2(d));
	}
	free(host);
}

static void host_memory(CUstream s)
{
	size_t size = 1 << 20;
	unsigned *pinned = NULL, *plain = NULL;
	CUdeviceptr managed = 0, d = 0;

	if (TRY(cuMemHostAlloc((void **)&pinned, size, 0)) &&
		TRY(cuMemAllocManaged(&managed, size, CU_MEM_ATTACH_GLOBAL)) &&
		TRY(cuMemsetD32Async(managed, 7, size / 4, s)) && TRY(cuMemcpyDtoHAsync_v2(pinned, managed, size, s)) &&
		TRY(cuStreamSynchronize(s)) && !refused)
		CHECK(all_are(pinned, size / 4, 7) && all_are((unsigned *)(uintptr_t)managed, size / 4, 7));
	if (!posix_memalign((void **)&plain, 4096, size) && TRY(cuMemHostRegister_v2(plain, size, 0))) {
		if (TRY(cuMemAllocAsync(&d, size, s)) && TRY(cuMemsetD32Async(d, 9, size / 4, s)) &&
			TRY(cuMemcpyDtoHAsync_v2(plain, d, size, s)) && TRY(cuStreamSynchronize(s)) && !refused)
			CHECK(all_are(plain, size / 4, 9));
		if (d)
			TRY(cuMemFreeAsync(d, s));
		TRY(cuMemHostUnregister(plain));
	}
	free(plain);
	if (managed)
		TRY(cuMemFree_v2(managed));
	if (pinned)
		TRY(cuMemFreeHost(pinned));
}

static void callbacks(CUfunction say, CUstream s)
{
	static atomic_int called; /* a callback may run after an error */
	unsigned number = 1;
	void *params[] = {&number};

	if (TRY(cuLaunchHostFunc(s, host_function, &called)) &&
		TRY(cuStreamAddCallback(s, stream_callback, &called, 0)) &&
		TRY(cuLaunchKernel(say, 1, 1, 1, 1, 1, 1, 0, s, params, NULL)) && TRY(cuStreamSynchronize(s)) &&
		!refused)
		CHECK_EQ(called, 2);
}

static void graphs(CUfunction inc, CUstream s)
{
	unsigned host[64] = {0};
	CUdeviceptr d = 0;
	CUgraph g = NULL;
	CUgraphExec x = NULL;

	if (!TRY(cuMemAlloc_v2(&d, sizeof host)))
		return;
	void *params[] = {&d};
	if (TRY(cuStreamBeginCapture_v2(s, CU_STREAM_CAPTURE_MODE_RELAXED))) {
		bool ok = TRY(cuMemsetD32Async(d, 3, 64, s));

		ok = ok && TRY(cuLaunchKernel(inc, 1, 1, 1, 64, 1, 1, 0, s, params, NULL));
		if (ok ? TRY(cuStreamEndCapture(s, &g)) : (cuStreamEndCapture(s, &g), 0))
			if (TRY(cuGraphInstantiateWithFlags(&x, g, 0)) && TRY(cuGraphLaunch(x, s)) &&
				TRY(cuStreamSynchronize(s)) && TRY(cuMemcpyDtoH_v2(host, d, sizeof host)) && !refused)
				CHECK(all_are(host, 64, 4));
	}
	if (x)
		TRY(cuGraphExecDestroy(x));
	if (g)
		TRY(cuGraphDestroy(g));
	TRY(cuMemFree_v2(d));
}

static void *thread_calls(void *arg)
{
	CUdeviceptr d = 0;
	CUresult r;

	if (!TRY(cuCtxSetCurrent(arg)) || !TRY(cuMemAlloc_v2(&d, 4096)))
		return NULL;
	if (TRY(cuMemsetD8Async(d, 1, 4096, CU_STREAM_PER_THREAD))) {
		while ((r = cuStreamQuery(CU_STREAM_PER_THREAD)) == CUDA_ERROR_NOT_READY)
			usleep(100);
		TRY(r);
	}
	TRY(cuMemFree_v2(d));
	return NULL;
}

static void application_run(CUcontext ctx)
{
	CUstream streams[STREAMS];
	CUfunction inc, say;
	pthread_t thread;
	int n = 0;
	CUmodule m;

	if (!TRY(cuModuleLoadData(&m, code)))
		return;
	if (TRY(cuModuleGetFunction(&inc, m, "inc")) && TRY(cuModuleGetFunction(&say, m, "say"))) {
		while (n < STREAMS && TRY(cuStreamCreate(&streams[n], CU_STREAM_NON_BLOCKING)))
			n++;
		if (n) {
			copies_and_launches(inc, streams, n);
			host_memory(streams[0]);
			callbacks(say, streams[0]);
			graphs(inc, streams[0]);
		}
		if (!pthread_create(&thread, NULL, thread_calls, ctx))
			pthread_join(thread, NULL);
		for (int i = 0; i < n; i++)
			TRY(cuStreamDestroy_v2(streams[i]));
	}
	TRY(cuModuleUnload(m));
	TRY(cuCtxSynchronize());
}

int main(void)
{
	CUcontext ctx;

	alarm(getenv("ALARM") ? atoi(getenv("ALARM")) : 60);
	verbose = getenv("VERBOSE");
	if (TRY(cuInit(0)) && TRY(cuDevicePrimaryCtxRetain(&ctx, 0)) && TRY(cuCtxSetCurrent(ctx))) {
		application_run(ctx);
		TRY(cuDevicePrimaryCtxRelease_v2(0));
	}
	printf("\n%s\n", refused ? "refused" : "complete");
	return RESULT();
}
