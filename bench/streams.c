/*
 * The scaling of our devices when several threads, each with its own stream, submit short work.
 *
 *	GANGWAY_DEVICE=cpu bench/streams [threads]	(1, 2, 4 and 16 without it)
 *
 * Prints microseconds for a launch of one warp that does almost nothing, with a wait after each launch and in bursts of
 * 32, and for a copy of 4 KiB from pinned memory in the same way. The first number is elapsed time divided by the
 * operations of all threads, the second is processor time per operation. If the device scales, elapsed time falls with
 * more threads, up to the number of processors, and processor time stays constant.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include "abi/cuda.h"
#include "gen/cuda_protos.h"

#define SECONDS 0.5
#define BURST   32
#define BYTES   4096

static const char text[] = ".version 7.0\n.target sm_50\n.address_size 64\n"
			   ".visible .entry put(.param .u64 to)\n"
			   "{ .reg .u64 %a; ld.param.u64 %a, [to]; st.global.u32 [%a], 7; ret; }\n";

static CUcontext ctx;
static CUfunction put;
static pthread_barrier_t start;

struct thread {
	pthread_t id;
	int copies, burst;
	long done;
};

static void ok(CUresult r)
{
	if (r) {
		fprintf(stderr, "bench-streams: CUresult %d\n", r);
		exit(1);
	}
}

static double clock_now(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return t.tv_sec + t.tv_nsec / 1e9;
}

static double now(void)
{
	return clock_now(CLOCK_MONOTONIC);
}

static double cpu(void)
{
	return clock_now(CLOCK_PROCESS_CPUTIME_ID);
}

static void *work(void *arg)
{
	struct thread *t = arg;
	CUdeviceptr to;
	CUstream s;
	void *from, *args[] = {&to};

	ok(cuCtxSetCurrent(ctx));
	ok(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
	ok(cuMemAlloc_v2(&to, BYTES));
	ok(cuMemAllocHost_v2(&from, BYTES));
	pthread_barrier_wait(&start);
	double begin = now(), end = begin;
	while (end - begin < SECONDS) {
		for (int i = 0; i < t->burst; i++)
			ok(t->copies ? cuMemcpyHtoDAsync_v2(to, from, BYTES, s)
				     : cuLaunchKernel(put, 1, 1, 1, 32, 1, 1, 0, s, args, NULL));
		ok(cuStreamSynchronize(s));
		t->done += t->burst;
		end = now();
	}
	pthread_barrier_wait(&start);
	ok(cuMemFreeHost(from));
	ok(cuMemFree_v2(to));
	ok(cuStreamDestroy_v2(s));
	return NULL;
}

static void measure(const char *name, int n, int copies, int burst)
{
	struct thread *t = calloc(n, sizeof *t);
	long done = 0;

	pthread_barrier_init(&start, NULL, n + 1);
	for (int i = 0; i < n; i++) {
		t[i].copies = copies;
		t[i].burst = burst;
		pthread_create(&t[i].id, NULL, work, &t[i]);
	}
	pthread_barrier_wait(&start);
	double begin = now(), cpu_begin = cpu();
	pthread_barrier_wait(&start);
	double time = now() - begin, cpu_time = cpu() - cpu_begin;
	for (int i = 0; i < n; i++) {
		pthread_join(t[i].id, NULL);
		done += t[i].done;
	}
	pthread_barrier_destroy(&start);
	free(t);
	printf("  %s %.2f (%.2f)", name, time * 1e6 / done, cpu_time * 1e6 / done);
}

static void report(int n)
{
	printf("threads %d", n);
	measure("launch_us", n, 0, 1);
	measure("launch_burst_us", n, 0, BURST);
	measure("copy_us", n, 1, 1);
	measure("copy_burst_us", n, 1, BURST);
	printf("\n");
}

int main(int argc, char **argv)
{
	CUmodule m;

	ok(cuInit(0));
	ok(cuCtxCreate_v2(&ctx, 0, 0));
	ok(cuModuleLoadData(&m, text));
	ok(cuModuleGetFunction(&put, m, "put"));
	if (argc > 1)
		report(atoi(argv[1]) > 0 ? atoi(argv[1]) : 1);
	for (int n = 1; argc == 1 && n <= 16; n *= n == 4 ? 4 : 2)
		report(n);
	return 0;
}
