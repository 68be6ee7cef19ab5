/*
 * Services of the driver for engines: soft_parallel calls the function once for each index, on several threads, also
 * for several launches at once; the deadline of the watchdog, or the end of its context, stops an endless launch.  If
 * no thread can be started, the waiting thread runs the work.
 */
#include <pthread.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "engine.h"
#include "test/fork.h"

enum { N = 5000 };

static void count(void *arg, uint64_t i, unsigned who)
{
	_Atomic int *hits = arg;

	CHECK(who < soft_parallelism());
	CHECK(i < N);
	hits[i]++;
}

static CUresult run_blocks(const struct image_kernel *k, const struct launch *l)
{
	_Atomic int *hits = *(_Atomic int *const *)l->params;

	(void)k;
	soft_parallel(N, count, hits);
	return CUDA_SUCCESS;
}

static CUresult never_ends(const struct image_kernel *k, const struct launch *l)
{
	struct timespec ts;

	(void)k;
	do {
		usleep(1000);
		clock_gettime(CLOCK_MONOTONIC, &ts);
	} while (!l->deadline || ts.tv_sec * 1000000000ull + ts.tv_nsec < l->deadline);
	return CUDA_ERROR_LAUNCH_TIMEOUT;
}

static void sharing(CUfunction f)
{
	enum { STREAMS = 6, ROUNDS = 20 };
	static _Atomic int hits[STREAMS][N];
	CUstream s[STREAMS];

	test_launch_fn = run_blocks;
	for (int i = 0; i < STREAMS; i++)
		OK(soft_cuStreamCreate(&s[i], CU_STREAM_NON_BLOCKING));
	for (int r = 0; r < ROUNDS; r++)
		for (int i = 0; i < STREAMS; i++) {
			_Atomic int *p = hits[i];
			void *params[] = {&p};

			OK(soft_cuLaunchKernel(f, N, 1, 1, 1, 1, 1, 0, s[i], params, NULL));
		}
	OK(soft_cuCtxSynchronize());
	for (int i = 0; i < STREAMS; i++) {
		for (int k = 0; k < N; k++)
			CHECK_EQ(hits[i][k], ROUNDS);
		OK(soft_cuStreamDestroy_v2(s[i]));
	}
}

static CUresult runs_until_stopped(const struct image_kernel *k, const struct launch *l)
{
	(void)k;
	while (!atomic_load(l->stop))
		usleep(1000);
	return CUDA_ERROR_LAUNCH_FAILED;
}

static const char ptx[] = ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 p)\n{ ret; }\n";

static CUcontext start(CUfunction *f)
{
	CUcontext ctx;
	CUmodule m;

	OK(soft_cuCtxCreate_v2(&ctx, 0, 0));
	OK(soft_cuModuleLoadData(&m, ptx));
	OK(soft_cuModuleGetFunction(f, m, "k"));
	return ctx;
}

static CUresult mark(const struct image_kernel *k, const struct launch *l)
{
	(void)k;
	**(int *const *)l->params += 1;
	return CUDA_SUCCESS;
}

/* In a child process: there is no memory for the stack of another thread. */
static int without_threads(void)
{
	struct rlimit tight = {1, 1};
	CUfunction f;
	CUstream s;
	int done = 0, *p = &done;
	void *params[] = {&p};

	OK(soft_open(&test_engine, NULL));
	start(&f);
	test_launch_fn = mark;
	OK(soft_cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
	if (setrlimit(RLIMIT_AS, &tight))
		return SKIP;
	for (int i = 0; i < 10; i++) {
		OK(soft_cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, i % 2 ? s : NULL, params, NULL));
		OK(soft_cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, i % 2 ? s : NULL, params, NULL));
		OK(soft_cuStreamSynchronize(i % 2 ? s : NULL));
		CHECK_EQ(done, 2 * i + 2);
	}
	return RESULT();
}

static void in_child(int (*f)(void))
{
	int status = 0;
	pid_t pid = calm_fork();

	if (!pid)
		_exit(f());
	waitpid(pid, &status, 0);
	CHECK_EQ(status, 0);
}

int main(void)
{
	CUcontext ctx;
	CUfunction f;
	unsigned long long zero = 0;
	void *params[] = {&zero};

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
	in_child(without_threads);
#else
	(void)in_child, (void)without_threads; /* sanitizers need more address space */
#endif
	OK(soft_open(&test_engine, &(struct soft_config){.watchdog_ms = 100, .end_grace_ms = 50}));
	ctx = start(&f);
	sharing(f);
	test_launch_fn = never_ends;
	OK(soft_cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL));
	CHECK_EQ(soft_cuCtxSynchronize(), CUDA_ERROR_LAUNCH_TIMEOUT);
	OK(soft_cuCtxDestroy_v2(ctx));
	ctx = start(&f);
	test_launch_fn = runs_until_stopped;
	OK(soft_cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL));
	OK(soft_cuCtxDestroy_v2(ctx));
	return RESULT();
}
