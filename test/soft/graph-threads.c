/*
 * Many threads build, capture, update, launch and destroy graphs at once.  Some share one instance, and some break
 * CUDA's rules about that: no work is lost, and the driver survives.
 */
#include "graphs.h"

enum { THREADS = 6, ROUNDS = 40 };

static CUgraphExec shared_exec;
static CUgraphNode shared_node;
static CUgraph shared_graph;
static _Atomic int shared_runs, launched;

static void count(void *arg)
{
	(void)arg;
	atomic_fetch_add(&shared_runs, 1);
}

/* Capture a fork and a join, launch it, change it, launch it again. */
static void own_graph(CUstream s, CUstream side, CUevent e, CUevent back, CUdeviceptr p)
{
	uint32_t id = 3;
	void *args[] = {&id, &p};
	CUDA_KERNEL_NODE_PARAMS k = {f_step, 1, 1, 1, 1, 1, 1, 0, args, NULL, NULL, NULL};
	CUgraphExecUpdateResultInfo info;
	CUgraphNode n[8];
	size_t nodes = 8;
	CUgraph g;
	CUgraphExec x;

	OK(soft_cuStreamBeginCapture_v2(s, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
	launch_step(s, 1, p);
	OK(soft_cuEventRecord(e, s));
	OK(soft_cuStreamWaitEvent(side, e, 0));
	launch_step(side, 1, p);
	OK(soft_cuEventRecord(back, side));
	OK(soft_cuStreamWaitEvent(s, back, 0));
	launch_step(s, 1, p);
	OK(soft_cuStreamEndCapture(s, &g));
	OK(soft_cuGraphInstantiateWithFlags(&x, g, 0));
	OK(soft_cuGraphLaunch(x, s));
	OK(soft_cuGraphGetNodes(g, n, &nodes));
	OK(soft_cuGraphExecKernelNodeSetParams_v2(x, n[1], &k)); /* while the launch runs */
	OK(soft_cuGraphLaunch(x, s));
	OK(soft_cuGraphExecUpdate_v2(x, g, &info));
	OK(soft_cuGraphLaunch(x, side));
	OK(soft_cuGraphExecDestroy(x));
	OK(soft_cuGraphDestroy(g));
}

/* All threads launch and change the shared instance, and change the shared graph without a lock. */
static void shared_things(CUstream s, int i)
{
	CUDA_HOST_NODE_PARAMS h = {count, NULL};
	CUgraphNode n;
	CUgraphExec x;

	OK(soft_cuGraphLaunch(shared_exec, s));
	atomic_fetch_add(&launched, 1);
	OK(soft_cuGraphExecHostNodeSetParams(shared_exec, shared_node, &h));
	OK(soft_cuGraphAddEmptyNode(&n, shared_graph, NULL, 0));
	if (i % 2)
		OK(soft_cuGraphDestroyNode(n));
	if (i % 8 == 0) {
		OK(soft_cuGraphInstantiateWithFlags(&x, shared_graph, 0));
		OK(soft_cuGraphExecDestroy(x));
	}
}

static void *worker(void *arg)
{
	CUstream s, side;
	CUevent e, back;
	CUdeviceptr p;
	uint32_t sum = 0;

	(void)arg;
	OK(soft_cuCtxSetCurrent(ctx));
	OK(soft_cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
	OK(soft_cuStreamCreate(&side, CU_STREAM_NON_BLOCKING));
	OK(soft_cuEventCreate(&e, 0));
	OK(soft_cuEventCreate(&back, 0));
	OK(soft_cuMemAllocAsync(&p, 4, s));
	OK(soft_cuMemsetD32Async(p, 0, 1, s));
	for (int i = 0; i < ROUNDS; i++) {
		own_graph(s, side, e, back, p);
		shared_things(s, i);
	}
	OK(soft_cuStreamSynchronize(s));
	OK(soft_cuStreamSynchronize(side));
	OK(soft_cuMemcpyDtoHAsync_v2(&sum, p, 4, s));
	OK(soft_cuStreamSynchronize(s));
	CHECK_EQ(sum, ROUNDS * (3 + 5 + 3));
	OK(soft_cuMemFreeAsync(p, s));
	OK(soft_cuEventDestroy_v2(e));
	OK(soft_cuEventDestroy_v2(back));
	OK(soft_cuStreamDestroy_v2(s));
	OK(soft_cuStreamDestroy_v2(side));
	return NULL;
}

int main(void)
{
	CUDA_HOST_NODE_PARAMS h = {count, NULL};
	pthread_t t[THREADS];
	CUgraphNode a, b;

	setup();
	OK(soft_cuGraphCreate(&shared_graph, 0));
	a = add_step(shared_graph, 1, 0, NULL, 0);
	OK(soft_cuGraphAddHostNode(&shared_node, shared_graph, &a, 1, &h));
	OK(soft_cuGraphAddEmptyNode(&b, shared_graph, &a, 1));
	OK(soft_cuGraphInstantiateWithFlags(&shared_exec, shared_graph, 0));
	for (int i = 0; i < THREADS; i++)
		pthread_create(&t[i], NULL, worker, NULL);
	for (int i = 0; i < THREADS; i++)
		pthread_join(t[i], NULL);
	OK(soft_cuCtxSynchronize());
	CHECK_EQ(shared_runs, launched);
	OK(soft_cuGraphExecDestroy(shared_exec));
	OK(soft_cuGraphDestroy(shared_graph));
	OK(soft_cuCtxDestroy_v2(ctx));
	return RESULT();
}
