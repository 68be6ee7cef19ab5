/*
 * Fork and exit.  A child that inherits a device in use gets CUDA_ERROR_NOT_INITIALIZED and does not disturb its
 * parent's link.  A child that uses CUDA before its parent works, even if the parent has asked for the driver version.
 * A process ends without a message or a crash: by exit, by _exit, with exit handlers that call CUDA, with threads inside
 * calls.
 */
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>
#include "application.h"
#include "test/fork.h"

#define SIZE (1u << 20)

static int status_of(pid_t pid)
{
	int status = -1;

	CHECK(waitpid(pid, &status, 0) == pid);
	return status;
}

static void in_child(void (*f)(void), const char *what)
{
	fflush(NULL);
	pid_t pid = calm_fork();
	if (!pid) {
		failures = 0;
		f();
		fflush(NULL);
		exit(failures != 0);
	}
	int status = status_of(pid);
	if (status) {
		printf("%s: status %x\n", what, (unsigned)status);
		failures++;
	}
}

static void use(void)
{
	char *a = malloc(SIZE), *b = calloc(1, SIZE);
	CUdeviceptr d = 0;

	fill_bytes(a, SIZE, getpid());
	OK(cuMemAlloc_v2(&d, SIZE));
	OK(cuMemcpyHtoD_v2(d, a, SIZE));
	OK(cuMemcpyDtoH_v2(b, d, SIZE));
	CHECK(!memcmp(a, b, SIZE));
	OK(cuMemFree_v2(d));
	free(a);
	free(b);
}

static void first_use(void)
{
	check_start();
	use();
}

static void inherited(void)
{
	CUdeviceptr d = 0;
	CUcontext c = NULL;

	CHECK_EQ(cuMemAlloc_v2(&d, 16), CUDA_ERROR_NOT_INITIALIZED);
	CHECK_EQ(cuCtxSynchronize(), CUDA_ERROR_NOT_INITIALIZED);
	CHECK_EQ(cuCtxGetCurrent(&c), CUDA_ERROR_NOT_INITIALIZED);
	CHECK_EQ(cuInit(0), CUDA_ERROR_NOT_INITIALIZED);
}

static void inherited_twice(void)
{
	inherited();
	in_child(inherited, "a grandchild");
}

static CUcontext ctx;

static void at_exit(void)
{
	size_t free_, total;

	OK(cuCtxSynchronize());
	OK(cuMemGetInfo_v2(&free_, &total));
	use();
	if (failures) {
		fflush(NULL);
		_exit(1);
	}
}

static void *copies(void *arg)
{
	char *a = malloc(SIZE);
	CUdeviceptr d = 0;

	OK(cuCtxSetCurrent(ctx));
	OK(cuMemAlloc_v2(&d, SIZE));
	for (;;) {
		cuMemcpyHtoDAsync_v2(d, a, SIZE, NULL);
		cuMemcpyDtoH_v2(a, d, SIZE);
		cuCtxSynchronize();
	}
	return arg;
}

static void threads_inside(void)
{
	pthread_t t;

	for (int i = 0; i < 4; i++)
		pthread_create(&t, NULL, copies, NULL);
	usleep(50000);
}

static void handlers(void)
{
	ctx = check_start();
	atexit(at_exit);
	use();
}

static void leave_threads(void)
{
	ctx = check_start();
	atexit(at_exit);
	threads_inside();
}

static void leave_by_underscore(void)
{
	ctx = check_start();
	threads_inside();
	_exit(0);
}

static void *use_in_thread(void *arg)
{
	OK(cuCtxSetCurrent(ctx));
	use();
	return arg;
}

/* Threads return their lanes: the test starts more threads in all than a link has lanes. */
static void many_threads(void)
{
	pthread_t t[8];

	for (int i = 0; i < 160; i++) {
		for (int k = 0; k < 8; k++)
			pthread_create(&t[k], NULL, use_in_thread, NULL);
		for (int k = 0; k < 8; k++)
			pthread_join(t[k], NULL);
	}
}

/* Children that live and end while the parent works. */
static void fork_beside_work(void)
{
	pid_t stays = calm_fork();

	if (!stays) {
		pause();
		_exit(0);
	}
	for (int i = 0; i < 20; i++) {
		in_child(inherited, "a child that inherits");
		use();
	}
	kill(stays, SIGKILL);
	status_of(stays);
	use();
}

int main(void)
{
	int version = 0;

	in_child(first_use, "a child before anything");
	in_child(handlers, "exit handlers");
	in_child(leave_threads, "exit with threads inside");
	in_child(leave_by_underscore, "_exit with threads inside");
	OK(cuDriverGetVersion(&version));
	in_child(first_use, "a child after cuDriverGetVersion");
	ctx = check_start();
	use();
	in_child(inherited_twice, "a child that inherits");
	use();
	fork_beside_work();
	many_threads();
	use();
	printf("forks: %s\n", failures ? "FAILED" : "passed");
	return failures != 0;
}
