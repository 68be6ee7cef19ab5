/*
 * Streams keep their order, run side by side, wait for each other through events, and follow the rules of the
 * legacy default stream.
 */
#include <pthread.h>
#include <unistd.h>
#include "backend/soft/soft.h"
#include "engine.h"

/* A command that waits at a gate, then writes down when it ran. */
static _Atomic int clock_now;

struct step {
	atomic_bool *gate;
	_Atomic int *when;
};

static CUresult run_step(struct command *c)
{
	struct step *s = c->data;

	while (s->gate && !atomic_load(s->gate))
		usleep(100);
	if (s->when)
		atomic_store(s->when, atomic_fetch_add(&clock_now, 1) + 1);
	return CUDA_SUCCESS;
}

static const struct command_ops step_ops = {COMMAND_OTHER, run_step, NULL, false};

static void submit(CUstream stream, atomic_bool *gate, _Atomic int *when)
{
	struct stream *s;
	struct command *c = command_create(&step_ops, sizeof(struct step));

	*(struct step *)c->data = (struct step){gate, when};
	OK(stream_enter(stream, &s));
	OK(stream_submit(s, c, NULL));
	object_put(s);
}

static void order_in_a_stream(void)
{
	enum { N = 500 };
	static _Atomic int when[N];
	CUstream s;

	OK(soft_cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
	for (int i = 0; i < N; i++)
		submit(s, NULL, &when[i]);
	OK(soft_cuStreamSynchronize(s));
	for (int i = 1; i < N; i++)
		CHECK(atomic_load(&when[i]) > atomic_load(&when[i - 1]));
	OK(soft_cuStreamDestroy_v2(s));
	CHECK_EQ(soft_cuStreamSynchronize(s), CUDA_ERROR_INVALID_HANDLE);
	CHECK_EQ(soft_cuStreamDestroy_v2(s), CUDA_ERROR_INVALID_HANDLE);
}

static void side_by_side(void)
{
	atomic_bool gate = false;
	_Atomic int a = 0, b = 0;
	CUstream s1, s2;

	OK(soft_cuStreamCreate(&s1, CU_STREAM_NON_BLOCKING));
	OK(soft_cuStreamCreate(&s2, CU_STREAM_NON_BLOCKING));
	submit(s1, &gate, &a);
	submit(s2, NULL, &b);
	OK(soft_cuStreamSynchronize(s2));
	CHECK(b && !a);
	CHECK_EQ(soft_cuStreamQuery(s1), CUDA_ERROR_NOT_READY);
	atomic_store(&gate, true);
	OK(soft_cuCtxSynchronize());
	CHECK(a);
	OK(soft_cuStreamQuery(s1));
	OK(soft_cuStreamDestroy_v2(s1));
	OK(soft_cuStreamDestroy_v2(s2));
}

static void events(void)
{
	atomic_bool gate = false;
	_Atomic int a = 0, b = 0;
	CUstream s1, s2;
	CUevent e, e2;
	float ms = -1;

	OK(soft_cuStreamCreate(&s1, CU_STREAM_NON_BLOCKING));
	OK(soft_cuStreamCreate(&s2, CU_STREAM_NON_BLOCKING));
	OK(soft_cuEventCreate(&e, 0));
	OK(soft_cuEventCreate(&e2, 0));
	OK(soft_cuEventQuery(e)); /* never recorded: complete */
	CHECK_EQ(soft_cuEventElapsedTime_v2(&ms, e, e2), CUDA_ERROR_INVALID_HANDLE);
	submit(s1, &gate, &a);
	OK(soft_cuEventRecord(e, s1));
	OK(soft_cuStreamWaitEvent(s2, e, 0));
	submit(s2, NULL, &b);
	OK(soft_cuEventRecord(e2, s2));
	CHECK_EQ(soft_cuEventQuery(e), CUDA_ERROR_NOT_READY);
	CHECK_EQ(soft_cuEventElapsedTime_v2(&ms, e, e2), CUDA_ERROR_NOT_READY);
	usleep(2000);
	CHECK(!b);
	atomic_store(&gate, true);
	OK(soft_cuEventSynchronize(e2));
	CHECK(a && b > a);
	OK(soft_cuEventElapsedTime_v2(&ms, e, e2));
	CHECK(ms >= 0 && ms < 10000);
	OK(soft_cuEventDestroy_v2(e));
	CHECK_EQ(soft_cuEventDestroy_v2(e), CUDA_ERROR_INVALID_HANDLE);
	CHECK_EQ(soft_cuEventQuery(NULL), CUDA_ERROR_INVALID_HANDLE);
	OK(soft_cuEventDestroy_v2(e2));
	OK(soft_cuStreamDestroy_v2(s1));
	OK(soft_cuStreamDestroy_v2(s2));
}

static void legacy(void)
{
	atomic_bool gate = false, gate2 = false;
	_Atomic int a = 0, b = 0, c = 0, d = 0, e = 0;
	CUstream blocking, other, free_running;

	OK(soft_cuStreamCreate(&blocking, CU_STREAM_DEFAULT));
	OK(soft_cuStreamCreate(&other, CU_STREAM_DEFAULT));
	OK(soft_cuStreamCreate(&free_running, CU_STREAM_NON_BLOCKING));
	submit(blocking, &gate, &a);
	submit(NULL, NULL, &b);         /* waits for blocking */
	submit(other, NULL, &c);        /* waits for the legacy stream */
	submit(free_running, NULL, &d); /* waits for nobody */
	submit(CU_STREAM_PER_THREAD, &gate2, &e);
	OK(soft_cuStreamSynchronize(free_running));
	CHECK(d && !a && !b && !c);
	CHECK_EQ(soft_cuStreamQuery(NULL), CUDA_ERROR_NOT_READY);
	CHECK_EQ(soft_cuStreamQuery(CU_STREAM_LEGACY), CUDA_ERROR_NOT_READY);
	atomic_store(&gate, true);
	OK(soft_cuStreamSynchronize(other));
	CHECK(a && b > a && c > b);
	CHECK(!e);
	atomic_store(&gate2, true);
	OK(soft_cuStreamSynchronize(NULL)); /* waits for the per-thread stream, too */
	CHECK(e);
	OK(soft_cuStreamDestroy_v2(blocking));
	OK(soft_cuStreamDestroy_v2(other));
	OK(soft_cuStreamDestroy_v2(free_running));
}

/* An event of a whole context waits for all its streams; a context that waits holds up all of them. */
static void whole_context(void)
{
	atomic_bool gate = false;
	_Atomic int a = 0, b = 0;
	CUstream s1, s2;
	CUevent e;

	OK(soft_cuStreamCreate(&s1, CU_STREAM_NON_BLOCKING));
	OK(soft_cuStreamCreate(&s2, CU_STREAM_NON_BLOCKING));
	OK(soft_cuEventCreate(&e, CU_EVENT_DISABLE_TIMING));
	submit(s1, &gate, &a);
	OK(soft_cuCtxRecordEvent(NULL, e));
	CHECK_EQ(soft_cuEventQuery(e), CUDA_ERROR_NOT_READY);
	OK(soft_cuCtxWaitEvent(NULL, e));
	submit(s2, NULL, &b);
	usleep(2000);
	CHECK(!b);
	CHECK_EQ(soft_cuStreamQuery(s2), CUDA_ERROR_NOT_READY);
	atomic_store(&gate, true);
	OK(soft_cuStreamSynchronize(s2));
	CHECK(a && b > a);
	OK(soft_cuEventSynchronize(e));
	OK(soft_cuEventDestroy_v2(e));
	OK(soft_cuStreamDestroy_v2(s1));
	OK(soft_cuStreamDestroy_v2(s2));
}

/* Freeing waits for what may still use the memory: programs launch and free without a word between. */
static atomic_bool free_gate;

static void *open_later(void *arg)
{
	usleep(20000);
	atomic_store(&free_gate, true);
	return arg;
}

static void free_waits(void)
{
	_Atomic int ran = 0;
	CUdeviceptr p;
	CUstream s;
	pthread_t t;

	OK(soft_cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
	OK(soft_cuMemAlloc_v2(&p, 64));
	submit(s, &free_gate, &ran);
	pthread_create(&t, NULL, open_later, NULL);
	OK(soft_cuMemFree_v2(p));
	CHECK(ran);
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
	static atomic_bool gate[N];
	CUstream s[N];

	for (int i = 0; i < N; i++) {
		OK(soft_cuStreamCreate(&s[i], CU_STREAM_NON_BLOCKING));
		submit(s[i], &gate[i], NULL);
	}
	for (int i = N - 1; i >= 0; i--) {
		atomic_store(&gate[i], true);
		OK(soft_cuStreamSynchronize(s[i]));
		OK(soft_cuStreamDestroy_v2(s[i]));
	}
}

static CUcontext shared;

static void *hammer(void *arg)
{
	_Atomic int x = 0;
	CUstream s;
	CUevent e;

	(void)arg;
	OK(soft_cuCtxSetCurrent(shared));
	OK(soft_cuStreamCreate(&s, CU_STREAM_DEFAULT));
	OK(soft_cuEventCreate(&e, CU_EVENT_DISABLE_TIMING));
	for (int i = 0; i < 200; i++) {
		submit(s, NULL, &x);
		OK(soft_cuEventRecord(e, s));
		OK(soft_cuStreamWaitEvent(CU_STREAM_PER_THREAD, e, 0));
		submit(CU_STREAM_PER_THREAD, NULL, &x);
		if (i % 16 == 0)
			submit(NULL, NULL, &x);
		if (i % 7 == 0)
			OK(soft_cuEventSynchronize(e));
	}
	OK(soft_cuStreamDestroy_v2(s)); /* its work still runs */
	OK(soft_cuEventDestroy_v2(e));
	OK(soft_cuCtxSynchronize());
	return NULL;
}

static void threads(void)
{
	pthread_t t[8];

	OK(soft_cuCtxGetCurrent(&shared));
	for (int i = 0; i < 8; i++)
		pthread_create(&t[i], NULL, hammer, NULL);
	for (int i = 0; i < 8; i++)
		pthread_join(t[i], NULL);
}

int main(void)
{
	CUcontext ctx;

	CHECK_EQ(soft_cuCtxSynchronize(), CUDA_ERROR_NOT_INITIALIZED);
	OK(soft_open(&test_engine, NULL));
	OK(soft_cuInit(0));
	CHECK_EQ(soft_cuInit(1), CUDA_ERROR_INVALID_VALUE);
	CHECK_EQ(soft_cuCtxSynchronize(), CUDA_ERROR_INVALID_CONTEXT);
	OK(soft_cuCtxCreate_v2(&ctx, 0, 0));
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
