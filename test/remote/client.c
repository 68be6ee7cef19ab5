/*
 * A small application that the fault tests start, stop and kill: client VERB.
 *
 *	once	allocates memory, copies up and down, compares, exits
 *	hold	copies up, prints "ready", waits for a line on stdin, then copies down and compares
 *	copy	prints "ready" and copies until killed
 *	work	prints "ready", then copies up and down and compares, printing "copied" each time, until a line on stdin
 *	lost	prints "ready", waits for a line on stdin (the test kills its worker meanwhile), then expects an error
 *		from every call, without a hang
 *	wait	prints "ready" and sleeps until a line on stdin: uses no processor time
 *	long	prints "ready" and blocks in cuStreamSynchronize until a line on stdin
 *	none	exits at once
 *	wild	runs a kernel that writes to an unmapped address (cpu only) and expects CUDA_ERROR_ILLEGAL_ADDRESS
 *	exits	as once, but ends by exit() instead of a return from main()
 *	notified PATH	binds a datagram socket at PATH and prints each datagram, until stdin ends
 *	init	prints the result of cuInit, and again after each line on stdin
 */
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>
#include "application.h"

#define SIZE (8u << 20)

static void say(const char *text)
{
	printf("%s\n", text);
	fflush(stdout);
}

static int line(void)
{
	char text[64];

	return fgets(text, sizeof text, stdin) != NULL;
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec / 1e9;
}

static CUdeviceptr fill(void *host)
{
	CUdeviceptr d = 0;

	fill_bytes(host, SIZE, 1);
	OK(cuMemAlloc_v2(&d, SIZE));
	OK(cuMemcpyHtoD_v2(d, host, SIZE));
	return d;
}

static void look(CUdeviceptr d, const void *host)
{
	char *back = calloc(1, SIZE);

	OK(cuMemcpyDtoH_v2(back, d, SIZE));
	CHECK(!memcmp(host, back, SIZE));
	OK(cuMemFree_v2(d));
	free(back);
}

static void hold(int waits)
{
	char *host = malloc(SIZE);
	CUdeviceptr d = fill(host);

	say("ready");
	if (waits)
		line();
	look(d, host);
	free(host);
}

static void copy(void)
{
	char *host = malloc(SIZE);
	CUdeviceptr d = fill(host);

	say("ready");
	for (;;) {
		OK(cuMemcpyHtoD_v2(d, host, SIZE));
		OK(cuMemcpyDtoH_v2(host, d, SIZE));
		if (failures)
			exit(1);
	}
}

static void work(void)
{
	struct pollfd in = {0, POLLIN, 0};
	char *host = malloc(SIZE), *back = malloc(SIZE);
	CUdeviceptr d = fill(host);

	say("ready");
	for (int i = 0; !failures && !poll(&in, 1, 0); i++) {
		fill_bytes(host, SIZE, i);
		OK(cuMemcpyHtoD_v2(d, host, SIZE));
		OK(cuMemcpyDtoH_v2(back, d, SIZE));
		CHECK(!memcmp(host, back, SIZE));
		say("copied");
	}
	OK(cuMemFree_v2(d));
	free(host);
	free(back);
}

/* Without a worker no call hangs, crashes or reports success. */
static void lost(void)
{
	char *host = malloc(SIZE);
	CUdeviceptr d = fill(host), e = 0;
	CUstream s = NULL;
	CUevent ev = NULL;
	size_t free_, total;
	void *pinned = NULL;
	double start;

	OK(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
	OK(cuEventCreate(&ev, 0));
	say("ready");
	line();
	start = now();
	CHECK(cuMemAlloc_v2(&e, 4096) != CUDA_SUCCESS);
	CHECK(cuMemcpyHtoD_v2(d, host, SIZE) != CUDA_SUCCESS);
	CHECK(cuMemcpyDtoH_v2(host, d, SIZE) != CUDA_SUCCESS);
	CHECK(cuMemcpyDtoH_v2(host, d, 4) != CUDA_SUCCESS);
	CHECK(cuMemGetInfo_v2(&free_, &total) != CUDA_SUCCESS);
	CHECK(cuStreamSynchronize(s) != CUDA_SUCCESS || cuCtxSynchronize() != CUDA_SUCCESS);
	CHECK(cuMemAllocHost_v2(&pinned, 1 << 20) != CUDA_SUCCESS);
	cuMemcpyHtoDAsync_v2(d, host, SIZE, s);
	cuMemsetD8Async(d, 1, SIZE, s);
	cuEventRecord(ev, s);
	cuEventSynchronize(ev);
	cuEventQuery(ev);
	cuStreamQuery(s);
	cuEventDestroy_v2(ev);
	cuStreamDestroy_v2(s);
	cuMemFree_v2(d);
	cuDevicePrimaryCtxRelease_v2(0);
	CHECK(now() - start < 20);
	free(host);
}

static void wait_idle(void)
{
	CUstream s = NULL;

	OK(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
	OK(cuStreamSynchronize(s));
	OK(cuCtxSynchronize());
	say("ready");
	line();
}

static void until_line(void *arg)
{
	(void)arg;
	line();
}

static void wait_long(void)
{
	CUstream s = NULL;

	OK(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
	OK(cuLaunchHostFunc(s, until_line, NULL));
	say("ready");
	OK(cuStreamSynchronize(s));
}

static const char wild_ptx[] = ".version 7.0\n.target sm_70\n.address_size 64\n"
			       ".visible .entry wild(.param .u64 where)\n{\n"
			       "\t.reg .u64 %a;\n\t.reg .u32 %v;\n"
			       "\tld.param.u64 %a, [where];\n\tmov.u32 %v, 7;\n\tst.global.u32 [%a], %v;\n\tret;\n}\n";

static void wild(void)
{
	CUmodule module = NULL;
	CUfunction f = NULL;
	CUdeviceptr where = 0x1234560;
	void *params[] = {&where};
	CUresult r;

	OK(cuModuleLoadData(&module, wild_ptx));
	OK(cuModuleGetFunction(&f, module, "wild"));
	if (failures)
		return;
	r = cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL);
	r = r ? r : cuCtxSynchronize();
	CHECK(r == CUDA_ERROR_ILLEGAL_ADDRESS);
	CHECK(cuMemAlloc_v2(&where, 4096) != CUDA_SUCCESS); /* sticky error, as on a GPU */
}

static int notified(const char *path)
{
	struct sockaddr_un name = {.sun_family = AF_UNIX};
	struct pollfd p[] = {{socket(AF_UNIX, SOCK_DGRAM, 0), POLLIN, 0}, {0, POLLIN, 0}};
	char text[512];
	ssize_t n;

	snprintf(name.sun_path, sizeof name.sun_path, "%s", path);
	if (p[0].fd < 0 || bind(p[0].fd, (struct sockaddr *)&name, sizeof name))
		return 1;
	say("ready");
	while (poll(p, 2, -1) > 0 && !p[1].revents) {
		n = recv(p[0].fd, text, sizeof text - 1, 0);
		text[n > 0 ? n : 0] = 0;
		say(text);
	}
	return 0;
}

static int init(void)
{
	CUresult r;

	do {
		r = cuInit(0);
		printf("%d\n", r);
		fflush(stdout);
	} while (line());
	return 0;
}

int main(int argc, char **argv)
{
	const char *verb = argc > 1 ? argv[1] : "once";

	signal(SIGPIPE, SIG_DFL); /* default action: a lost link must not raise SIGPIPE */
	if (!strcmp(verb, "none"))
		return 0;
	if (!strcmp(verb, "init"))
		return init();
	if (!strcmp(verb, "notified"))
		return notified(argv[2]);
	check_start();
	if (!strcmp(verb, "once") || !strcmp(verb, "hold") || !strcmp(verb, "exits"))
		hold(*verb == 'h');
	if (!strcmp(verb, "exits"))
		exit(failures != 0);
	if (!strcmp(verb, "copy"))
		copy();
	else if (!strcmp(verb, "work"))
		work();
	else if (!strcmp(verb, "lost"))
		lost();
	else if (!strcmp(verb, "wait"))
		wait_idle();
	else if (!strcmp(verb, "long"))
		wait_long();
	else if (!strcmp(verb, "wild"))
		wild();
	return failures != 0;
}
