/*
 * Endless kernels of several kinds.  With a watchdog (ctest sets GANGWAY_WATCHDOG_MS) each fails soon with
 * CUDA_ERROR_LAUNCH_TIMEOUT, in its own context only.  Without a watchdog the program can still exit.
 */
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "test/cpu/device.h"
#include "test/fork.h"

#define SIMPLE(name, body) \
	".visible .entry " name "(.param .u64 at)\n{ .reg .u64 %a, %m; .reg .u32 %v, %t; .reg .pred %p;\n" \
	"ld.param.u64 %a, [at]; mov.u32 %t, %tid.x;\n" body "ret; }\n"

/* clang-format off */
static const char text[] = PTX
	".extern .func (.param .b32 r) vprintf(.param .b64 f, .param .b64 a);\n"
	".extern .func (.param .b64 r) malloc(.param .b64 s);\n"
	".extern .func free(.param .b64 p);\n"
	".global .align 1 .b8 line[7] = {108, 105, 110, 101, 33, 10, 0};\n"
	SIMPLE("put", "st.global.u32 [%a], 7;\n")
	SIMPLE("nothing", "")
	SIMPLE("loop", "AGAIN: bra AGAIN;\n")
	/* Half of the block waits for the other half. */
	SIMPLE("half", "setp.lt.u32 %p, %t, 32; @%p bra WAIT; AGAIN: bra AGAIN; WAIT: bar.sync 0;\n")
	/* A barrier for more threads than the block has. */
	SIMPLE("barrier", "bar.sync 1, 1024;\n")
	/* Waits for a value that no block writes. */
	SIMPLE("flag", "AGAIN: ld.acquire.gpu.global.u32 %v, [%a]; setp.eq.u32 %p, %v, 0; @%p bra AGAIN;\n")
	SIMPLE("lock", "AGAIN: atom.global.cas.b32 %v, [%a], 1, 1; setp.ne.u32 %p, %v, 1; @%p bra AGAIN;\n")
	SIMPLE("sleep", "AGAIN: nanosleep.u32 4000000000; bra AGAIN;\n")
	SIMPLE("talk", "{ .reg .u64 %s; .param .b64 f; .param .b64 g; .param .b32 r;\n"
		       "mov.u64 %s, line; cvta.global.u64 %s, %s;\n"
		       "MORE: { st.param.b64 [f], %s; st.param.b64 [g], 0; call.uni (r), vprintf, (f, g); } bra MORE; }\n")
	SIMPLE("hoard", "{ .param .b64 s; .param .b64 r;\n"
			"MORE: { st.param.b64 [s], 64; call.uni (r), malloc, (s); ld.param.b64 %m, [r]; } bra MORE; }\n")
	SIMPLE("churn", "{ .param .b64 s; .param .b64 r; .param .b64 q;\n"
			"MORE: { st.param.b64 [s], 64; call.uni (r), malloc, (s); ld.param.b64 %m, [r];\n"
			"st.param.b64 [q], %m; call.uni free, (q); } bra MORE; }\n");
/* clang-format on */

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec / 1e9;
}

static CUcontext other; /* a context in which no kernel fails */
static CUdeviceptr other_cell;
static CUfunction other_put;

static void other_context_works(const char *name)
{
	CUcontext old;
	void *args[] = {&other_cell};
	unsigned value = 0;

	OK(cuCtxPushCurrent_v2(other));
	OK(cuMemsetD32_v2(other_cell, 0, 1));
	OK(device_launch(other_put, 1, 1, NULL, args));
	OK(cuMemcpyDtoH_v2(&value, other_cell, 4));
	if (value != 7)
		fprintf(stderr, "other context, while kernel %s runs:\n", name);
	CHECK_EQ(value, 7);
	OK(cuCtxPopCurrent_v2(&old));
}

struct shape {
	const char *name;
	unsigned grid[3], block;
	int cooperative, graph;
};

static CUresult launch(CUfunction f, const struct shape *s, CUdeviceptr cell)
{
	void *args[] = {&cell};
	CUDA_KERNEL_NODE_PARAMS p = {.func = f,
		.gridDimX = s->grid[0],
		.gridDimY = s->grid[1],
		.gridDimZ = s->grid[2],
		.blockDimX = s->block,
		.blockDimY = 1,
		.blockDimZ = 1,
		.kernelParams = args};
	CUgraphExec exec;
	CUgraphNode node;
	CUgraph g;

	if (s->cooperative)
		return cuLaunchCooperativeKernel(f, s->grid[0], s->grid[1], s->grid[2], s->block, 1, 1, 0, NULL, args);
	if (!s->graph)
		return cuLaunchKernel(f, s->grid[0], s->grid[1], s->grid[2], s->block, 1, 1, 0, NULL, args, NULL);
	OK(cuGraphCreate(&g, 0));
	OK(cuGraphAddKernelNode_v2(&node, g, NULL, 0, &p));
	OK(cuGraphInstantiateWithFlags(&exec, g, 0));
	CUresult r = cuGraphLaunch(exec, NULL);
	OK(cuGraphExecDestroy(exec));
	OK(cuGraphDestroy(g));
	return r;
}

static void times_out(const struct shape *s)
{
	CUcontext ctx = device_start();
	CUdeviceptr cell = 0;
	double begin = now();

	OK(cuMemAlloc_v2(&cell, 64));
	OK(cuMemsetD8_v2(cell, 0, 64));
	OK(launch(device_kernel(text, s->name), s, cell));
	other_context_works(s->name);
	CUresult r = cuCtxSynchronize();
	if (r != CUDA_ERROR_LAUNCH_TIMEOUT)
		fprintf(stderr, "kernel %s, %u blocks of %u threads:\n", s->name, s->grid[0], s->block);
	CHECK_EQ(r, CUDA_ERROR_LAUNCH_TIMEOUT);
	if (now() - begin > 30) { /* far longer than the watchdog allows */
		fprintf(stderr, "kernel %s, %u blocks of %u threads: stopped after %.0f s, expected less than 30\n",
			s->name, s->grid[0], s->block, now() - begin);
		failures++;
	}
	CHECK_EQ(cuMemAlloc_v2(&cell, 64), CUDA_ERROR_LAUNCH_TIMEOUT);
	OK(cuCtxDestroy_v2(ctx));
	other_context_works(s->name);
}

/* A program that returns from main while its kernel runs. */
static int exit_while_running(void)
{
	CUdeviceptr cell = 0;
	void *args[] = {&cell};

	unsetenv("GANGWAY_WATCHDOG_MS");
	device_start();
	OK(cuMemAlloc_v2(&cell, 64));
	OK(device_launch(device_kernel(text, "loop"), 8, 64, NULL, args));
	CHECK_EQ(cuStreamQuery(NULL), CUDA_ERROR_NOT_READY);
	return RESULT();
}

static void without_watchdog(void)
{
	pid_t child = calm_fork();
	int status = -1;

	if (!child) {
		alarm(200);
		execl("/proc/self/exe", "cpu-endless", "exit-while-running", (char *)NULL);
		_exit(127);
	}
	CHECK_EQ(waitpid(child, &status, 0), child);
	CHECK_EQ(status, 0);
}

int main(int argc, char **argv)
{
	static const struct shape shapes[] = {
		{"loop", {1, 1, 1}, 1, 0, 0},
		{"loop", {1000, 1, 1}, 256, 0, 0},
		{"loop", {4, 1, 1}, 32, 0, 1},
		{"half", {3, 1, 1}, 64, 0, 0},
		{"barrier", {1, 1, 1}, 64, 0, 0},
		{"barrier", {64, 1, 1}, 64, 0, 0},
		{"flag", {2, 1, 1}, 32, 0, 0},
		{"flag", {4, 1, 1}, 32, 1, 0},
		{"lock", {4, 1, 1}, 64, 0, 0},
		{"sleep", {1, 1, 1}, 32, 0, 0},
		{"talk", {2, 1, 1}, 32, 0, 0},
		{"hoard", {2, 1, 1}, 32, 0, 0},
		{"churn", {2, 1, 1}, 32, 0, 0},
		{"nothing", {0x7fffffff, 65535, 65535}, 1024, 0, 0},
	};

	(void)argv;
	if (argc > 1)
		return exit_while_running();
	without_watchdog();
	if (!freopen("/dev/null", "w", stdout)) /* for the kernel that prints */
		return 1;
	other = device_start();
	other_put = device_kernel(text, "put");
	OK(cuMemAlloc_v2(&other_cell, 4));
	for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
		times_out(&shapes[i]);
	return RESULT();
}
