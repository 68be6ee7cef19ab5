/* Kernel output appears on this process's stdout, in order, once a synchronisation returns. */
#include <stdatomic.h>
#include "driver.h"

#define ASKED 20

static const char talks[] =
	".version 8.0\n.target sm_80\n.address_size 64\n"
	".extern .func (.param .b32 r) vprintf(.param .b64 f, .param .b64 a);\n"
	".global .align 1 .b8 text[9] = {110, 117, 109, 98, 101, 114, 37, 100, 0};\n"
	".visible .entry say(.param .u32 n)\n"
	"{ .local .align 8 .b8 room[8]; .reg .b32 %r<4>; .reg .b64 %rd<4>;\n"
	"  ld.param.u32 %r1, [n]; mov.u64 %rd1, room; st.local.u32 [%rd1], %r1; cvta.local.u64 %rd2, %rd1;\n"
	"  mov.u64 %rd1, text; cvta.global.u64 %rd3, %rd1;\n"
	"  { .param .b64 f; .param .b64 a; .param .b32 r; st.param.b64 [f], %rd3; st.param.b64 [a], %rd2;\n"
	"    call (r), vprintf, (f, a); } ret; }\n";

static atomic_int gate;

static void wait_gate(void *arg)
{
	(void)arg;
	while (!gate)
		usleep(100);
}

/* A synchronisation prints the output even if a query of the stream came before it. */
static void asked_before(CUfunction say, CUstream s)
{
	CUevent e;

	OK(cuEventCreate(&e, CU_EVENT_DISABLE_TIMING));
	for (int i = 0; i < ASKED; i++) {
		void *params[] = {&i};

		gate = 0;
		OK(cuLaunchHostFunc(s, wait_gate, NULL));
		OK(cuLaunchKernel(say, 1, 1, 1, 1, 1, 1, 0, s, params, NULL));
		OK(cuEventRecord(e, s));
		CHECK_EQ(cuStreamQuery(s), CUDA_ERROR_NOT_READY);
		gate = 1;
		OK(i % 2 ? cuStreamSynchronize(s) : cuEventSynchronize(e));
		printf(";");
		OK(cuStreamSynchronize(s));
	}
	OK(cuEventDestroy_v2(e));
}

/* "number0;number1;..." */
static const char *expected(void)
{
	static char text[1024] = "before,number1,between,number2,after,number3number4number4";
	size_t n = strlen(text);

	for (int i = 0; i < ASKED; i++)
		n += (size_t)snprintf(text + n, sizeof text - n, "number%d;", i);
	return text;
}

int main(void)
{
	char path[] = "/tmp/gangway-prints-XXXXXX", got[1024] = "";
	int fd = mkstemp(path), number = 1;
	void *params[] = {&number};
	CUfunction say;
	CUstream streams[2];
	CUgraphExec exec;
	CUgraph graph;
	CUmodule m;

	unlink(path);
	fflush(stdout);
	dup2(fd, 1);
	start();
	OK(cuModuleLoadData(&m, talks));
	OK(cuModuleGetFunction(&say, m, "say"));
	printf("before,");
	OK(cuLaunchKernel(say, 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL));
	OK(cuStreamSynchronize(NULL));
	printf(",between,");
	number = 2;
	OK(cuLaunchKernel(say, 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL));
	OK(cuCtxSynchronize());
	printf(",after,");
	for (int i = 0; i < 2; i++)
		OK(cuStreamCreate(&streams[i], CU_STREAM_NON_BLOCKING));
	for (int i = 0; i < 2; i++) {
		number = 3 + i;
		OK(cuLaunchKernel(say, 1, 1, 1, 1, 1, 1, 0, streams[i], params, NULL));
		OK(cuStreamSynchronize(streams[i]));
	}
	OK(cuStreamBeginCapture_v2(streams[0], CU_STREAM_CAPTURE_MODE_GLOBAL));
	OK(cuLaunchKernel(say, 1, 1, 1, 1, 1, 1, 0, streams[0], params, NULL));
	OK(cuStreamEndCapture(streams[0], &graph));
	OK(cuGraphInstantiateWithFlags(&exec, graph, 0));
	OK(cuStreamSynchronize(streams[1]));
	OK(cuGraphLaunch(exec, streams[1]));
	OK(cuStreamSynchronize(streams[1]));
	asked_before(say, streams[0]);
	fflush(stdout);
	CHECK(pread(fd, got, sizeof got - 1, 0) > 0);
	if (results() && strcmp(got, expected())) {
		fprintf(stderr, "stdout was: %s\n", got);
		return 1;
	}
	return RESULT();
}
