/*
 * What engines get from the driver: soft_parallel does every index once, shares them out, and several
 * launches may use it at the same time; a launch that wants to run for ever is stopped by the watchdog's
 * deadline.
 */
#include <pthread.h>
#include <time.h>
#include <unistd.h>
#include "engine.h"

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

int main(void)
{
	static const char ptx[] =
		".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 p)\n{ ret; }\n";
	CUcontext ctx;
	CUmodule m;
	CUfunction f;
	unsigned long long zero = 0;
	void *params[] = {&zero};

	OK(soft_open(&test_engine, &(struct soft_config){.watchdog_ms = 100}));
	OK(soft_cuCtxCreate_v2(&ctx, 0, 0));
	OK(soft_cuModuleLoadData(&m, ptx));
	OK(soft_cuModuleGetFunction(&f, m, "k"));
	sharing(f);
	test_launch_fn = never_ends;
	OK(soft_cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL));
	CHECK_EQ(soft_cuCtxSynchronize(), CUDA_ERROR_LAUNCH_TIMEOUT);
	OK(soft_cuCtxDestroy_v2(ctx));
	return RESULT();
}
