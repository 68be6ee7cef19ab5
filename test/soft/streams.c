/*
 * Streams keep their order, run in parallel, wait for each other through events, and follow the rules of the legacy
 * default stream.
 */
#include <pthread.h>
#include <unistd.h>
#ifdef APPLICATION
#include "graphs.h"

/* Submit a kernel that waits while its gate is shut, then logs its time. */
static void submit(CUstream stream, int id)
{
	launch_step(stream, id, 0);
}

static void prepare(void)
{
	make_kernels();
	OK(soft_cuModuleLoadData(&module, ptx));
	OK(soft_cuModuleGetFunction(&f_step, module, "step"));
}
#else
#include "backend/soft/core/soft.h"
#include "engine.h"

/* A command that waits while its gate is shut, then logs its time. */
#define IDS 256

static CUcontext ctx;
static atomic_bool gates[IDS]; /* true: shut */
static _Atomic int stamps[IDS], now;

static void shut_gate(int id)
{
	atomic_store(&gates[id], true);
}

static void open_gate(int id)
{
	atomic_store(&gates[id], false);
}

static int stamp_of(int id)
{
	return stamps[id];
}

static void reset_log(void)
{
	for (int i = 0; i < IDS; i++)
		stamps[i] = gates[i] = 0;
}

static CUresult run_step(struct command *c)
{
	int id = *(int *)c->data;

	while (atomic_load(&gates[id]))
		usleep(100);
	atomic_store(&stamps[id], atomic_fetch_add(&now, 1) + 1);
	return CUDA_SUCCESS;
}

static const struct command_ops step_ops = {COMMAND_OTHER, run_step, NULL, false};

static void submit(CUstream stream, int id)
{
	struct stream *s;
	struct command *c = command_create(&step_ops, sizeof id);

	*(int *)c->data = id;
	OK(stream_enter(stream, &s));
	OK(stream_submit(s, c, NULL));
	object_put(s);
}

static void prepare(void)
{
}
#endif

enum { A = 1, B, C, D, E };

static void order_in_a_stream(void)
{
	CUstream s;

	reset_log();
	OK(soft_cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
	for (int i = 0; i < IDS; i++)
		submit(s, i);
	OK(soft_cuStreamSynchronize(s));
	for (int i = 1; i < IDS; i++)
		CHECK(stamp_of(i) > stamp_of(i - 1));
	OK(soft_cuStreamDestroy_v2(s));
	CHECK_EQ(soft_cuStreamSynchronize(s), CUDA_ERROR_INVALID_HANDLE);
	CHECK_EQ(soft_cuStreamDestroy_v2(s), CUDA_ERROR_INVALID_HANDLE);
}

static void side_by_side(void)
{
	CUstream s1, s2;

	reset_log();
	OK(soft_cuStreamCreate(&s1, CU_STREAM_NON_BLOCKING));
	OK(soft_cuStreamCreate(&s2, CU_STREAM_NON_BLOCKING));
	shut_gate(A);
	submit(s1, A);
	submit(s2, B);
	OK(soft_cuStreamSynchronize(s2));
	CHECK(stamp_of(B) && !stamp_of(A));
	CHECK_EQ(soft_cuStreamQuery(s1), CUDA_ERROR_NOT_READY);
	open_gate(A);
	OK(soft_cuCtxSynchronize());
	CHECK(stamp_of(A));
	OK(soft_cuStreamQuery(s1));
	OK(soft_cuStreamDestroy_v2(s1));
	OK(soft_cuStreamDestroy_v2(s2));
}

static void events(void)
{
	CUstream s1, s2;
	CUevent e, e2;
	float ms = -1;

	reset_log();
	OK(soft_cuStreamCreate(&s1, CU_STREAM_NON_BLOCKING));
	OK(soft_cuStreamCreate(&s2, CU_STREAM_NON_BLOCKING));
	OK(soft_cuEventCreate(&e, 0));
	OK(soft_cuEventCreate(&e2, 0));
	OK(soft_cuEventQuery(e)); /* never recorded: complete */
	CHECK_EQ(soft_cuEventElapsedTime_v2(&ms, e, e2), CUDA_ERROR_INVALID_HANDLE);
	shut_gate(A);
	submit(s1, A);
	OK(soft_cuEventRecord(e, s1));
	OK(soft_cuStreamWaitEvent(s2, e, 0));
	submit(s2, B);
	OK(soft_cuEventRecord(e2, s2));
	CHECK_EQ(soft_cuEventQuery(e), CUDA_ERROR_NOT_READY);
	CHECK_EQ(soft_cuEventElapsedTime_v2(&ms, e, e2), CUDA_ERROR_NOT_READY);
	usleep(2000);
	CHECK(!stamp_of(B));
	open_gate(A);
	OK(soft_cuEventSynchronize(e2));
	CHECK(stamp_of(A) && stamp_of(B) > stamp_of(A));
	OK(soft_cuEventElapsedTime_v2(&ms, e, e2));
	CHECK(ms >= 0 && ms < 100000);
	OK(soft_cuEventDestroy_v2(e));
	CHECK_EQ(soft_cuEventDestroy_v2(e), CUDA_ERROR_INVALID_HANDLE);
	CHECK_EQ(soft_cuEventQuery(NULL), CUDA_ERROR_INVALID_HANDLE);
	OK(soft_cuEventDestroy_v2(e2));
	OK(soft_cuStreamDestroy_v2(s1));
	OK(soft_cuStreamDestroy_v2(s2));
}

static void legacy(void)
{
	CUstream blocking, other, free_running;

	reset_log();
	OK(soft_cuStreamCreate(&blocking, CU_STREAM_DEFAULT));
	OK(soft_cuStreamCreate(&other, CU_STREAM_DEFAULT));
	OK(soft_cuStreamCreate(&free_running, CU_STREAM_NON_BLOCKING));
	shut_gate(A);
	shut_gate(E);
	submit(blocking, A);
	submit(NULL, B);         /* waits for blocking */
	submit(other, C);        /* waits for the legacy stream */
	submit(free_running, D); /* waits for no stream */
	submit(CU_STREAM_PER_THREAD, E);
	OK(soft_cuStreamSynchronize(free_running));
	CHECK(stamp_of(D) && !stamp_of(A) && !stamp_of(B) && !stamp_of(C));
	CHECK_EQ(soft_cuStreamQuery(NULL), CUDA_ERROR_NOT_READY);
	CHECK_EQ(soft_cuStreamQuery(CU_STREAM_LEGACY), CUDA_ERROR_NOT_READY);
	open_gate(A);
	OK(soft_cuStreamSynchronize(other));
	CHECK(stamp_of(A) && stamp_of(B) > stamp_of(A) && stamp_of(C) > stamp_of(B));
	CHECK(!stamp_of(E));
	open_gate(E);
	OK(soft_cuStreamSynchronize(NULL)); /* waits for the per-thread stream, too */
	CHECK(stamp_of(E));
	OK(soft_cuStreamDestroy_v2(blocking));
	OK(soft_cuStreamDestroy_v2(other));
	OK(soft_cuStreamDestroy_v2(free_running));
}

/* An event of a whole context waits for all its streams; a waiting context delays all its streams. */
static void whole_context(void)
{
	CUstream s1, s2;
	CUcontext ctx;
	CUevent e;

	reset_log();
	OK(soft_cuStreamCreate(&s1, CU_STREAM_NON_BLOCKING));
	OK(soft_cuStreamCreate(&s2, CU_STREAM_NON_BLOCKING));
	OK(soft_cuEventCreate(&e, CU_EVENT_DISABLE_TIMING));
	shut_gate(A);
	submit(s1, A);
	OK(soft_cuCtxGetCurrent(&ctx));
	CHECK_EQ(soft_cuCtxRecordEvent(NULL, e), CUDA_ERROR_INVALID_CONTEXT);
	CHECK_EQ(soft_cuCtxWaitEvent(NULL, e), CUDA_ERROR_INVALID_CONTEXT);
	OK(soft_cuCtxRecordEvent(ctx, e));
	CHECK_EQ(soft_cuEventQuery(e), CUDA_ERROR_NOT_READY);
	OK(soft_cuCtxWaitEvent(ctx, e));
	submit(s2, B);
	usleep(2000);
	CHECK(!stamp_of(B));
	CHECK_EQ(soft_cuStreamQuery(s2), CUDA_ERROR_NOT_READY);
	open_gate(A);
	OK(soft_cuStreamSynchronize(s2));
	CHECK(stamp_of(A) && stamp_of(B) > stamp_of(A));
	OK(soft_cuEventSynchronize(e));
	OK(soft_cuEventDestroy_v2(e));
	OK(soft_cuStreamDestroy_v2(s1));
	OK(soft_cuStreamDestroy_v2(s2));
}

/* cuMemFree waits for work that may still use the memory: programs launch and free without synchronising. */
static CUcontext shared;

static void *open_later(void *arg)
{
	OK(soft_cuCtxSetCurrent(shared));
	usleep(20000);
	open_gate(A);
	return arg;
}

static void free_waits(void)
{
	CUdeviceptr p;
	CUstream s;
	pthread_t t;

	reset_log();
	OK(soft_cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
	OK(soft_cuMemAlloc_v2(&p, 64));
	OK(soft_cuCtxGetCurrent(&shared));
	shut_gate(A);
	submit(s, A);
	pthread_create(&t, NULL, open_later, NULL);
	OK(soft_cuMemFree_v2(p));
	CHECK(stamp_of(A));
	pthread_join(t, NULL);
	OK(soft_cuStreamDestroy_v2(s));
}

static void attributes(void)
{
	CUstreamAttrValue v = {0};
	CUstream s;
	int priority = 9;

	OK(soft_cuStreamCreateWithPriority(&s, CU_STREAM_NON_BLOCKING, -99));
	OK(soft_cuStreamGetPriority(s, &priority));
	CHECK_EQ(priority, -5);
	v.priority = -2;
	OK(soft_cuStreamSetAttribute(s, CU_STREAM_ATTRIBUTE_PRIORITY, &v));
	OK(soft_cuStreamGetPriority(s, &priority));
	CHECK_EQ(priority, -2);
	v.syncPolicy = CU_SYNC_POLICY_SPIN;
	OK(soft_cuStreamSetAttribute(s, CU_STREAM_ATTRIBUTE_SYNCHRONIZATION_POLICY, &v));
	v.syncPolicy = 0;
	OK(soft_cuStreamGetAttribute(s, CU_STREAM_ATTRIBUTE_SYNCHRONIZATION_POLICY, &v));
	CHECK_EQ(v.syncPolicy, CU_SYNC_POLICY_SPIN);
	CHECK_EQ(soft_cuStreamSetAttribute(s, CU_LAUNCH_ATTRIBUTE_COOPERATIVE, &v), CUDA_ERROR_INVALID_VALUE);
	OK(soft_cuStreamCopyAttributes(CU_STREAM_PER_THREAD, s));
	OK(soft_cuStreamGetPriority(CU_STREAM_PER_THREAD, &priority));
	CHECK_EQ(priority, -2);
	OK(soft_cuStreamDestroy_v2(s));
}

/* More blocked streams than any fixed number of workers: all must still make progress. */
static void many_blocked(void)
{
	enum { N = 40 };
	CUstream s[N];

	reset_log();
	for (int i = 0; i < N; i++) {
		OK(soft_cuStreamCreate(&s[i], CU_STREAM_NON_BLOCKING));
		shut_gate(i);
		submit(s[i], i);
	}
	for (int i = N - 1; i >= 0; i--) {
		open_gate(i);
		OK(soft_cuStreamSynchronize(s[i]));
		OK(soft_cuStreamDestroy_v2(s[i]));
	}
}

static void *hammer(void *arg)
{
	int id = (int)(intptr_t)arg;
	CUstream s;
	CUevent e;

	OK(soft_cuCtxSetCurrent(shared));
	OK(soft_cuStreamCreate(&s, CU_STREAM_DEFAULT));
	OK(soft_cuEventCreate(&e, CU_EVENT_DISABLE_TIMING));
	for (int i = 0; i < 200; i++) {
		submit(s, id);
		OK(soft_cuEventRecord(e, s));
		OK(soft_cuStreamWaitEvent(CU_STREAM_PER_THREAD, e, 0));
		submit(CU_STREAM_PER_THREAD, id);
		if (i % 16 == 0)
			submit(NULL, id);
		if (i % 7 == 0)
			OK(soft_cuEventSynchronize(e));
	}
	OK(soft_cuStreamDestroy_v2(s)); /* the submitted work still runs */
	OK(soft_cuEventDestroy_v2(e));
	OK(soft_cuCtxSynchronize());
	return NULL;
}

static void threads(void)
{
	pthread_t t[8];

	OK(soft_cuCtxGetCurrent(&shared));
	reset_log();
	for (int i = 0; i < 8; i++)
		pthread_create(&t[i], NULL, hammer, (void *)(intptr_t)i);
	for (int i = 0; i < 8; i++)
		pthread_join(t[i], NULL);
}

int main(void)
{
#ifndef APPLICATION /* libcuda.so.1 opens the device on the first call */
	CHECK_EQ(soft_cuCtxSynchronize(), CUDA_ERROR_NOT_INITIALIZED);
#endif
	OK(soft_open(&test_engine, NULL));
	OK(soft_cuInit(0));
	CHECK_EQ(soft_cuInit(1), CUDA_ERROR_INVALID_VALUE);
	CHECK_EQ(soft_cuCtxSynchronize(), CUDA_ERROR_INVALID_CONTEXT);
	OK(soft_cuCtxCreate_v2(&ctx, 0, 0));
	prepare();
	order_in_a_stream();
	side_by_side();
	events();
	legacy();
	whole_context();
	free_waits();
	attributes();
	many_blocked();
	threads();
	OK(soft_cuCtxDestroy_v2(ctx));
	CHECK_EQ(soft_cuCtxSynchronize(), CUDA_ERROR_INVALID_CONTEXT);
	CHECK_EQ(soft_cuCtxDestroy_v2(ctx), CUDA_ERROR_INVALID_CONTEXT);
	return RESULT();
}
