/*
 * The cost of posted calls on any device. Intended for `gangway serve --on null`, which measures only the transport.
 *
 *	bench-remote		prints nanoseconds per call: the best of several rounds, each of which ends with a wait
 */
#include <stdio.h>
#include <time.h>
#include "abi/cuda.h"
#include "gen/cuda_protos.h"

#define ROUNDS 9
#define CALLS  500

static CUstream stream;
static CUevent event, other;
static CUdeviceptr memory;
static char host[65536];

static void record(void)
{
	cuEventRecord(event, stream);
}

static void record_two(void)
{
	cuEventRecord(event, stream);
	cuEventRecord(other, stream);
}

static void set(void)
{
	cuMemsetD8Async(memory, 1, 16, stream);
}

static void up(void)
{
	cuMemcpyHtoDAsync_v2(memory, host, 4, stream);
}

static void down(void)
{
	cuMemcpyDtoH_v2(host, memory, 4);
}

static void alloc_async(void)
{
	CUdeviceptr p;

	cuMemAllocAsync(&p, 1 << 20, stream);
	cuMemFreeAsync(p, stream);
}

static void alloc(void)
{
	CUdeviceptr p;

	cuMemAlloc_v2(&p, 1 << 20);
	cuMemFree_v2(p);
}

static void idle(void)
{
	cuStreamSynchronize(stream);
}

static double measure(void (*call)(void))
{
	struct timespec a, b;
	double best = 1e9;

	for (int round = 0; round < ROUNDS; round++) {
		clock_gettime(CLOCK_MONOTONIC, &a);
		for (int i = 0; i < CALLS; i++)
			call();
		cuStreamSynchronize(stream);
		clock_gettime(CLOCK_MONOTONIC, &b);
		double ns = ((double)(b.tv_sec - a.tv_sec) * 1e9 + (double)(b.tv_nsec - a.tv_nsec)) / CALLS;
		best = ns < best ? ns : best;
	}
	return best;
}

int main(void)
{
	static const struct {
		const char *name;
		void (*call)(void);
	} lines[] = {
		{"event_record", record},
		{"event_record_two", record_two},
		{"memset", set},
		{"h2d_4", up},
		{"d2h_4", down},
		{"alloc_free_async", alloc_async},
		{"alloc_free", alloc},
		{"idle_sync", idle},
	};
	CUcontext ctx;
	CUresult r = cuInit(0);

	r = r ? r : cuDevicePrimaryCtxRetain(&ctx, 0);
	r = r ? r : cuCtxSetCurrent(ctx);
	r = r ? r : cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING);
	r = r ? r : cuEventCreate(&event, 0);
	r = r ? r : cuEventCreate(&other, 0);
	r = r ? r : cuMemAlloc_v2(&memory, sizeof host);
	if (r) {
		fprintf(stderr, "bench-remote: the device does not start: error %d\n", r);
		return 1;
	}
	for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
		printf("%s_ns %.0f\n", lines[i].name, measure(lines[i].call));
	return 0;
}
