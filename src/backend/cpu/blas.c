/* Runs the kernel that stands for a call of cuBLAS (blas/job.h): C code of ours, not PTX. */
#include "backend/cpu/cpu.h"

#include <time.h>

#include "backend/soft/check.h"
#include "blas/work/work.h"

struct blas_parallel {
	void (*fn)(void *data, uint64_t i);
	void *data;
};

static void run_index(void *arg, uint64_t i, unsigned who)
{
	const struct blas_parallel *p = arg;

	(void)who;
	p->fn(p->data, i);
}

static void job_parallel(void *arg, uint64_t n, void (*fn)(void *data, uint64_t i), void *data)
{
	struct blas_parallel p = {fn, data};

	(void)arg;
	soft_parallel(n, run_index, &p);
}

static bool job_accessible(void *arg, uint64_t addr, uint64_t *base, uint64_t *size)
{
	(void)arg;
	return soft_accessible(addr, base, size);
}

static bool job_stopped(void *arg)
{
	const struct launch *l = arg;
	struct timespec now;

	if (atomic_load_explicit(l->stop, memory_order_relaxed))
		return true;
	if (!l->deadline || clock_gettime(CLOCK_MONOTONIC, &now))
		return false;
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec > l->deadline;
}

CUresult cpu_launch_blas(const struct launch *l)
{
	const struct blas_host host = {.arg = (void *)(uintptr_t)l,
		.threads = soft_parallelism(),
		.parallel = job_parallel,
		.accessible = job_accessible,
		.stopped = job_stopped};

	CUresult r = blas_work(l->params, l->params_size, &host);

	check_written_somewhere(); /* the checked mode sees only what kernels of PTX write */
	return r;
}
