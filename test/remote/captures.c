/*
 * Threads that capture at the same time, each its own streams, with a fork and a join through events: each graph has
 * exactly the nodes of its thread, in every mode that CUDA allows for this, and computes that thread's values.
 */
#include <pthread.h>
#include <stdatomic.h>
#include "driver.h"

enum { THREADS = 8, ROUNDS = 60, BRANCHES = 3, WORDS = 4096 };

static atomic_int wrong;

#define TRY(call) \
	do { \
		CUresult r_ = call; \
		if (r_ && atomic_fetch_add(&wrong, 1) < 10) \
			printf("%s:%d: thread %u, round %u: %s is %d\n", __FILE__, __LINE__, t->number, t->round, \
				#call, r_); \
	} while (0)

struct capturer {
	pthread_t thread;
	unsigned number, round;
	CUstream streams[BRANCHES];
	CUevent fork, joins[BRANCHES];
	CUdeviceptr memory;
	unsigned *pinned, calls;
};

static void launch_fill(struct capturer *t, unsigned branch, unsigned value)
{
	CUdeviceptr at = t->memory + branch * WORDS * 4;
	unsigned n = WORDS;
	void *params[] = {&at, &value, &n};

	TRY(cuLaunchKernel(fill, WORDS / 64, 1, 1, 64, 1, 1, 0, t->streams[branch], params, NULL));
}

static void count_call(void *calls)
{
	++*(unsigned *)calls;
}

/* Work outside of captures, with the same streams and events. */
static void work_directly(struct capturer *t, unsigned value)
{
	unsigned got = 0;

	launch_fill(t, 0, value);
	TRY(cuEventRecord(t->fork, t->streams[0]));
	TRY(cuStreamWaitEvent(t->streams[1], t->fork, 0));
	TRY(cuMemcpyDtoHAsync_v2(t->pinned, t->memory, 4, t->streams[1]));
	TRY(cuEventRecord(t->joins[1], t->streams[1]));
	CUresult r;
	while ((r = cuEventQuery(t->joins[1])) == CUDA_ERROR_NOT_READY)
		;
	TRY(r);
	TRY(cuEventSynchronize(t->fork));
	if (results() && *t->pinned != value && atomic_fetch_add(&wrong, 1) < 10)
		printf("thread %u, round %u: direct work gave %u, not %u\n", t->number, t->round, *t->pinned, value);
	TRY(cuMemcpyDtoHAsync_v2(&got, t->memory, 4, t->streams[2 % BRANCHES]));
	TRY(cuStreamSynchronize(t->streams[2 % BRANCHES]));
}

/* The origin, and BRANCHES - 1 branches that leave it and come back: a memset and a kernel in each. */
static unsigned capture_work(struct capturer *t, unsigned value)
{
	unsigned nodes = 0;

	TRY(cuMemsetD32Async(t->memory, 1, WORDS, t->streams[0]));
	nodes++;
	TRY(cuEventRecord(t->fork, t->streams[0]));
	for (unsigned b = 1; b < BRANCHES; b++) {
		TRY(cuStreamWaitEvent(t->streams[b], t->fork, 0));
		TRY(cuMemsetD32Async(t->memory + b * WORDS * 4, 2, WORDS, t->streams[b]));
		launch_fill(t, b, value + b);
		nodes += 2;
		TRY(cuEventRecord(t->joins[b], t->streams[b]));
	}
	launch_fill(t, 0, value);
	nodes++;
	for (unsigned b = 1; b < BRANCHES; b++)
		TRY(cuStreamWaitEvent(t->streams[0], t->joins[b], 0));
	TRY(cuLaunchHostFunc(t->streams[0], count_call, &t->calls));
	TRY(cuMemcpyDtoHAsync_v2(t->pinned, t->memory, 4, t->streams[0]));
	TRY(cuMemsetD32Async(t->memory + BRANCHES * WORDS * 4, value, 1, t->streams[0]));
	return nodes + 3;
}

static void graph_check(struct capturer *t, CUgraph graph, unsigned nodes, unsigned value)
{
	CUgraphExec exec = NULL;
	unsigned got[BRANCHES + 1] = {0};
	size_t n = 0;

	TRY(cuGraphGetNodes(graph, NULL, &n));
	if (n != nodes && atomic_fetch_add(&wrong, 1) < 10)
		printf("thread %u, round %u: %zu nodes, not %u\n", t->number, t->round, n, nodes);
	TRY(cuGraphInstantiateWithFlags(&exec, graph, 0));
	TRY(cuGraphLaunch(exec, t->streams[0]));
	TRY(cuStreamSynchronize(t->streams[0]));
	for (unsigned b = 0; b <= BRANCHES; b++) {
		TRY(cuMemcpyDtoHAsync_v2(&got[b], t->memory + b * WORDS * 4, 4, t->streams[0]));
		TRY(cuStreamSynchronize(t->streams[0]));
		if (results() && got[b] != value + b % BRANCHES && atomic_fetch_add(&wrong, 1) < 10)
			printf("thread %u, round %u: branch %u has %u, not %u\n", t->number, t->round, b, got[b],
				value + b % BRANCHES);
	}
	if (t->calls != t->round + 1 && atomic_fetch_add(&wrong, 1) < 10)
		printf("thread %u, round %u: %u calls of the host function\n", t->number, t->round, t->calls);
	TRY(cuGraphExecDestroy(exec));
	TRY(cuGraphDestroy(graph));
}

static void *capturer_run(void *arg)
{
	static const CUstreamCaptureMode modes[] = {
		CU_STREAM_CAPTURE_MODE_THREAD_LOCAL, CU_STREAM_CAPTURE_MODE_RELAXED};
	struct capturer *t = arg;

	TRY(cuCtxSetCurrent(context));
	for (t->round = 0; t->round < ROUNDS && !wrong; t->round++) {
		unsigned value = t->number * 1000 + t->round, nodes;
		CUgraph graph = NULL;

		work_directly(t, value + 500);
		TRY(cuStreamBeginCapture_v2(t->streams[0], modes[t->round % 2]));
		nodes = capture_work(t, value);
		TRY(cuStreamEndCapture(t->streams[0], &graph));
		if (graph)
			graph_check(t, graph, nodes, value);
		for (unsigned b = 0; b < BRANCHES; b++) /* other streams and events in the next round */
			if ((t->round + b) % 4 == 0) {
				TRY(cuStreamDestroy_v2(t->streams[b]));
				TRY(cuStreamCreate(&t->streams[b], CU_STREAM_NON_BLOCKING));
			}
	}
	return NULL;
}

int main(void)
{
	static struct capturer threads[THREADS];

	start();
	for (unsigned i = 0; i < THREADS; i++) {
		struct capturer *t = &threads[i];

		t->number = i;
		OK(cuMemHostAlloc((void **)&t->pinned, 4096, 0));
		t->memory = memory((BRANCHES + 1) * WORDS * 4);
		OK(cuEventCreate(&t->fork, CU_EVENT_DISABLE_TIMING));
		for (unsigned b = 0; b < BRANCHES; b++) {
			OK(cuStreamCreate(&t->streams[b], CU_STREAM_NON_BLOCKING));
			OK(cuEventCreate(&t->joins[b], CU_EVENT_DISABLE_TIMING));
		}
	}
	for (unsigned i = 0; i < THREADS; i++)
		CHECK(!pthread_create(&threads[i].thread, NULL, capturer_run, &threads[i]));
	for (unsigned i = 0; i < THREADS; i++)
		pthread_join(threads[i].thread, NULL);
	CHECK_EQ(wrong, 0);
	return RESULT();
}
