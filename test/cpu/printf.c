/*
 * Output of kernels: it appears on stdout when CUDA says so and not before; only the latest output if there is more
 * than CU_LIMIT_PRINTF_FIFO_SIZE; none if the program exits without waiting.
 */
#include <fcntl.h>
#include <stdbool.h>
#include <sys/wait.h>
#include <unistd.h>
#include "test/cpu/device.h"
#include "test/fork.h"

/* Every thread prints " n" `times` times, n counting up from `from`; then traps if `then` is set. */
static const char text[] =
	PTX ".extern .func (.param .b32 r) vprintf(.param .b64 f, .param .b64 a);\n"
	    ".global .align 1 .b8 form[4] = {32, 37, 100, 0};\n"
	    ".visible .entry count(.param .u32 from, .param .u32 times, .param .u32 then)\n"
	    "{ .local .align 8 .b8 room[8]; .reg .b32 %i, %n, %t; .reg .b64 %l, %g, %f; .reg .pred %p;\n"
	    "ld.param.u32 %i, [from]; ld.param.u32 %n, [times]; ld.param.u32 %t, [then]; add.u32 %n, %n, %i;\n"
	    "mov.u64 %l, room; cvta.local.u64 %g, %l; mov.u64 %f, form; cvta.global.u64 %f, %f;\n"
	    "MORE: st.local.u32 [%l], %i;\n"
	    "{ .param .b64 f; .param .b64 a; .param .b32 r; st.param.b64 [f], %f; st.param.b64 [a], %g;\n"
	    "call (r), vprintf, (f, a); }\n"
	    "add.u32 %i, %i, 1; setp.lt.u32 %p, %i, %n; @%p bra MORE;\n"
	    "setp.ne.u32 %p, %t, 0; @%p trap; ret; }\n";

static int out = -1; /* the file that stdout is redirected to */
static CUfunction count;

static void print(unsigned from, unsigned times, bool fail, CUstream s)
{
	unsigned then = fail;
	void *args[] = {&from, &times, &then};

	OK(device_launch(count, 1, 1, s, args));
}

/* The output since the last call. */
static const char *read_output(void)
{
	static char got[1 << 16];
	static off_t from;
	ssize_t n = pread(out, got, sizeof got - 1, from);

	from += n > 0 ? n : 0;
	got[n > 0 ? n : 0] = 0;
	return got;
}

static void expect(const char *what, const char *wanted)
{
	const char *got = read_output();

	if (strcmp(got, wanted))
		fprintf(stderr, "%s: stdout has \"%s\", expected \"%s\"\n", what, got, wanted);
	CHECK(!strcmp(got, wanted));
}

/* Wait with cuStreamQuery, which does not show output. */
static void wait_by_query(CUstream s)
{
	while (cuStreamQuery(s) == CUDA_ERROR_NOT_READY)
		usleep(100);
}

static void copy_output(void *arg)
{
	strcpy(arg, read_output());
}

static void when_output_appears(CUstream s)
{
	char seen[64] = "";
	CUdeviceptr cell;
	CUevent e;
	CUmodule m;

	OK(cuMemAlloc_v2(&cell, 4));
	OK(cuEventCreate(&e, CU_EVENT_DISABLE_TIMING));
	print(1, 1, false, s);
	wait_by_query(s);
	expect("after a query", "");
	print(2, 1, false, s);
	expect("after a launch", " 1");
	OK(cuStreamSynchronize(s));
	expect("after cuStreamSynchronize", " 2");
	print(3, 1, false, s);
	OK(cuCtxSynchronize());
	expect("after cuCtxSynchronize", " 3");
	print(4, 1, false, s);
	OK(cuEventRecord(e, s));
	OK(cuEventSynchronize(e));
	expect("after cuEventSynchronize", " 4");
	print(5, 1, false, NULL);
	OK(cuMemcpyHtoD_v2(cell, "abcd", 4));
	expect("after cuMemcpyHtoD", " 5");
	print(6, 1, false, s);
	OK(cuLaunchHostFunc(s, copy_output, seen));
	wait_by_query(s);
	CHECK(!strcmp(seen, " 6"));
	print(7, 1, false, s);
	wait_by_query(s);
	OK(cuModuleLoadData(&m, text));
	expect("after cuModuleLoadData", " 7");
	print(8, 1, false, s);
	wait_by_query(s);
	OK(cuModuleUnload(m));
	expect("after cuModuleUnload", " 8");
	OK(cuEventDestroy_v2(e));
	OK(cuMemFree_v2(cell));
}

/* With a small buffer the last whole texts that fit appear; with the old size all of them. */
static void buffer_overflow(CUstream s)
{
	enum { ROOM = 1000, TIMES = 10000 };
	const char *got;
	unsigned n = 0, wrong = 0;
	size_t size = 0;

	OK(cuCtxGetLimit(&size, CU_LIMIT_PRINTF_FIFO_SIZE));
	CHECK_EQ(size, 1 << 20);
	OK(cuCtxSetLimit(CU_LIMIT_PRINTF_FIFO_SIZE, ROOM));
	print(10000, TIMES, false, s);
	OK(cuStreamSynchronize(s));
	got = read_output();
	CHECK(strlen(got) > ROOM / 3 && strlen(got) <= ROOM && strlen(got) % 6 == 0);
	n = 10000 + TIMES - (unsigned)strlen(got) / 6;
	for (const char *p = got; *p; p += 6)
		wrong += strtoul(p, NULL, 10) != n++;
	CHECK_EQ(wrong, 0);
	OK(cuCtxSetLimit(CU_LIMIT_PRINTF_FIFO_SIZE, 3));
	print(10000, TIMES, false, s);
	OK(cuStreamSynchronize(s));
	expect("with no room", "");
	OK(cuCtxSetLimit(CU_LIMIT_PRINTF_FIFO_SIZE, size));
	print(10000, TIMES, false, s);
	OK(cuStreamSynchronize(s));
	CHECK_EQ(strlen(read_output()), 6 * TIMES);
}

static void at_context_end(void)
{
	CUcontext ctx = device_start();

	count = device_kernel(text, "count");
	print(1, 2, false, NULL);
	OK(cuCtxDestroy_v2(ctx));
	expect("after cuCtxDestroy", " 1 2");

	ctx = device_start();
	count = device_kernel(text, "count");
	print(1, 3, true, NULL);
	CHECK_EQ(cuCtxSynchronize(), CUDA_ERROR_LAUNCH_FAILED);
	expect("after a failure", " 1 2 3");
	OK(cuCtxDestroy_v2(ctx));
}

/* A process that prints and exits without waiting. */
static int print_and_exit(void)
{
	device_start();
	count = device_kernel(text, "count");
	print(1, 3, false, NULL);
	wait_by_query(NULL);
	return RESULT();
}

static void exit_without_waiting(void)
{
	pid_t child = calm_fork();
	int status = 0;

	if (!child) {
		execl("/proc/self/exe", "cpu-printf", "print-and-exit", (char *)NULL);
		_exit(127);
	}
	CHECK_EQ(waitpid(child, &status, 0), child);
	CHECK_EQ(status, 0);
	expect("after exit without waiting", "");
}

int main(int argc, char **argv)
{
	char path[] = "/tmp/gangway-prints-XXXXXX";
	CUcontext ctx;
	CUstream s;

	(void)argv;
	if (argc > 1)
		return print_and_exit();
	out = mkstemp(path);
	unlink(path);
	dup2(out, 1);
	exit_without_waiting();
	ctx = device_start();
	OK(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
	count = device_kernel(text, "count");
	when_output_appears(s);
	buffer_overflow(s);
	OK(cuCtxDestroy_v2(ctx));
	at_context_end();
	return RESULT();
}
