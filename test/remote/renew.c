/*
 * A process goes on after the death of its worker: calls return CUDA_ERROR_DEVICE_UNAVAILABLE until the application resets its
 * primary context or creates a context, which connects anew.  Old handles stay invalid, results are right, and no
 * descriptors, threads or memory pile up.
 *
 *	remote-renew LOG SERVER-PID FILE	started by renew.sh, which restarts the server when FILE exists
 */
#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/mman.h>
#include "driver.h"

#define N       1000u
#define THREADS 4
#define LOST    CUDA_ERROR_DEVICE_UNAVAILABLE

static const char *log_path;

static const char spin_ptx[] =
	".version 8.0\n.target sm_80\n.address_size 64\n"
	".visible .entry spin(.param .u64 p)\n"
	"{ .reg .pred %p; .reg .b32 %r<2>; .reg .b64 %rd<2>; ld.param.u64 %rd1, [p];\n"
	"again: ld.volatile.global.u32 %r1, [%rd1]; setp.eq.u32 %p, %r1, 0; @%p bra again; ret; }\n";

/* The worker that the log names last for this process; 0: none. */
static int worker_pid(void)
{
	FILE *f = fopen(log_path, "re");
	char line[512];
	int worker = 0, w, pid;

	while (f && fgets(line, sizeof line, f)) {
		char *at = strstr(line, "gangway[");
		if (at && sscanf(at, "gangway[%d]: client %d of user", &w, &pid) == 2 && pid == getpid() &&
			strstr(line, " connected"))
			worker = w;
	}
	if (f)
		fclose(f);
	return worker;
}

static int killed;

/* Kills the worker, which is not the one that was killed last: the log may be late. */
static void worker_kill(void)
{
	int pid = 0;

	for (int i = 0; i < 6000 && (!pid || pid == killed); i++) {
		pid = worker_pid();
		usleep(pid && pid != killed ? 0 : 10000);
	}
	CHECK(pid && pid != killed && !kill(pid, SIGKILL));
	killed = pid;
}

static void wait_until_lost(void)
{
	CUdeviceptr p;
	CUresult r = 0;

	for (int i = 0; i < 6000 && !(r = cuMemAlloc_v2(&p, 256)); i++)
		usleep(10000);
	CHECK_EQ(r, LOST);
}

static unsigned entries(const char *path)
{
	DIR *d = opendir(path);
	unsigned n = 0;

	while (d && readdir(d))
		n++;
	if (d)
		closedir(d);
	return n;
}

/* Everything from the module to the result, in the current context. */
static void compute(unsigned value)
{
	unsigned back[N], n = N;
	CUdeviceptr d = 0;
	CUstream s;

	OK(cuModuleLoadData(&module, ptx));
	OK(cuModuleGetFunction(&fill, module, "fill"));
	OK(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
	OK(cuMemAlloc_v2(&d, sizeof back));
	OK(cuLaunchKernel(fill, (N + 63) / 64, 1, 1, 64, 1, 1, 0, s, (void *[]){&d, &value, &n}, NULL));
	OK(cuMemcpyDtoHAsync_v2(back, d, sizeof back, s));
	OK(cuStreamSynchronize(s));
	CHECK(back[0] == value && back[N - 1] == value);
	OK(cuMemFree_v2(d));
	OK(cuStreamDestroy_v2(s));
	OK(cuModuleUnload(module));
}

static void begin_again(void)
{
	CUcontext again = NULL;

	OK(cuDevicePrimaryCtxReset_v2(0));
	OK(cuDevicePrimaryCtxRetain(&again, 0));
	CHECK(again == context);
	OK(cuCtxSetCurrent(context));
}

/* ---- one death after another ---- */

static void death_idle(unsigned round)
{
	CUdeviceptr d = 0;
	CUstream s = NULL;
	CUevent e = NULL;
	void *pinned = NULL;

	OK(cuStreamCreate(&s, 0));
	OK(cuEventCreate(&e, 0));
	OK(cuMemAlloc_v2(&d, 4096));
	OK(cuMemHostAlloc(&pinned, 100000, 0));
	memset(pinned, (int)round, 100000);
	worker_kill();
	wait_until_lost();
	CHECK_EQ(cuStreamSynchronize(s), LOST);
	CHECK_EQ(cuModuleLoadData(&module, ptx), LOST);
	begin_again();
	CHECK(cuStreamQuery(s) == CUDA_ERROR_INVALID_HANDLE && cuEventQuery(e) == CUDA_ERROR_INVALID_HANDLE);
	CHECK(cuStreamDestroy_v2(s) != CUDA_SUCCESS && cuMemcpyDtoD_v2(d, d + 2048, 64) != CUDA_SUCCESS);
	compute(round);
	CHECK(((unsigned char *)pinned)[99999] == (unsigned char)round); /* still mapped */
	OK(cuMemAlloc_v2(&d, 100000));
	OK(cuMemcpyHtoD_v2(d, pinned, 100000));
	OK(cuMemFree_v2(d));
	OK(cuMemFreeHost(pinned));
}

static atomic_int busy, waiting, renewed; /* threads that have work under way, that have lost it; may they go on? */

static void wait_for(atomic_int *count, int value)
{
	while (atomic_load(count) < value)
		usleep(1000);
}

static void *copy_until_lost(void *arg)
{
	size_t size = 64 << 20;
	char *bytes = calloc(1, size);
	CUdeviceptr d = 0;
	CUresult r;

	OK(cuCtxSetCurrent(context));
	OK(cuMemAlloc_v2(&d, size));
	do {
		r = *(int *)arg ? cuMemcpyHtoD_v2(d, bytes, size) : cuMemcpyDtoH_v2(bytes, d, size);
		atomic_fetch_add(&busy, 1);
	} while (!r);
	CHECK_EQ(r, LOST);
	free(bytes);
	return NULL;
}

static void death_copying(int up)
{
	pthread_t thread;

	busy = 0;
	pthread_create(&thread, NULL, copy_until_lost, &up);
	wait_for(&busy, 2);
	worker_kill();
	pthread_join(thread, NULL);
	begin_again();
	compute(77);
}

static void death_in_kernel(void)
{
	CUdeviceptr d = memory(256);
	CUfunction spin;

	OK(cuModuleLoadData(&module, spin_ptx));
	OK(cuModuleGetFunction(&spin, module, "spin"));
	OK(cuLaunchKernel(spin, 1, 1, 1, 1, 1, 1, 0, NULL, (void *[]){&d}, NULL));
	worker_kill();
	CHECK_EQ(cuCtxSynchronize(), LOST);
	begin_again();
	compute(78);
}

/* ---- threads ---- */

static void *thread_compute(void *unused)
{
	unsigned value = 5, n = N, back[N];
	CUdeviceptr d;
	CUstream s;
	CUresult r = 0;

	(void)unused;
	OK(cuCtxSetCurrent(context));
	OK(cuStreamCreate(&s, 0));
	OK(cuMemAlloc_v2(&d, sizeof back));
	atomic_fetch_add(&busy, 1);
	while (!r) {
		r = cuLaunchKernel(fill, (N + 63) / 64, 1, 1, 64, 1, 1, 0, s, (void *[]){&d, &value, &n}, NULL);
		if (!r)
			r = cuMemcpyDtoHAsync_v2(back, d, sizeof back, s);
		if (!r)
			r = cuStreamSynchronize(s);
	}
	CHECK_EQ(r, LOST);
	atomic_fetch_add(&waiting, 1);
	wait_for(&renewed, 1);
	/* The primary context is current in this thread as before; what the thread made in it is gone. */
	CHECK_EQ(cuStreamSynchronize(s), CUDA_ERROR_INVALID_HANDLE);
	OK(cuMemAlloc_v2(&d, sizeof back));
	OK(cuMemsetD32_v2(d, 9, N));
	OK(cuMemcpyDtoH_v2(back, d, sizeof back));
	CHECK(back[0] == 9 && back[N - 1] == 9);
	return NULL;
}

static void death_among_threads(void)
{
	pthread_t thread[THREADS];

	OK(cuModuleLoadData(&module, ptx));
	OK(cuModuleGetFunction(&fill, module, "fill"));
	busy = waiting = renewed = 0;
	for (int i = 0; i < THREADS; i++)
		pthread_create(&thread[i], NULL, thread_compute, NULL);
	wait_for(&busy, THREADS);
	worker_kill();
	wait_for(&waiting, THREADS);
	begin_again();
	renewed = 1;
	for (int i = 0; i < THREADS; i++)
		pthread_join(thread[i], NULL);
	compute(79);
}

/* A context of the application's: a new one connects anew, the old one is destroyed. */
static void death_of_created(void)
{
	CUcontext own, other, current;

	OK(cuCtxCreate_v2(&own, 0, 0));
	worker_kill();
	wait_until_lost();
	OK(cuCtxCreate_v2(&other, 0, 0));
	CHECK(other != own);
	compute(80);
	OK(cuCtxDestroy_v2(other));
	OK(cuCtxGetCurrent(&current));
	CHECK(cuCtxSynchronize() != CUDA_SUCCESS); /* the lost one lies below */
	CHECK_EQ(cuCtxSetCurrent(own), CUDA_ERROR_INVALID_CONTEXT);
	OK(cuCtxPopCurrent_v2(NULL));
	OK(cuDevicePrimaryCtxRetain(&current, 0));
	OK(cuCtxSetCurrent(current));
	CHECK(current == context);
}

static void host_function(void *data)
{
	atomic_fetch_add((atomic_int *)data, 1);
}

/* Callbacks, registered memory and a library survive as CUDA says they do. */
static void other_things(void)
{
	static char own[1 << 20];
	static const CUlibraryOption preserved[] = {CU_LIBRARY_BINARY_IS_PRESERVED};
	char *area = mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	unsigned value = 3, n = N, back[N];
	CUdeviceptr d = 0, variable, mapped;
	atomic_int runs = 0;
	CUlibrary library;
	CUkernel kernel;
	void *managed;

	OK(cuLibraryLoadData(&library, ptx, NULL, NULL, 0, (CUlibraryOption *)preserved, (void *[]){(void *)1}, 1));
	OK(cuLibraryGetKernel(&kernel, library, "fill"));
	OK(cuLibraryGetGlobal(&variable, NULL, library, "counter"));
	OK(cuMemHostRegister_v2(area + 100, 500000, 0));
	OK(cuMemHostRegister_v2(own + 10, 5000, CU_MEMHOSTREGISTER_DEVICEMAP));
	OK(cuMemAllocManaged(&d, 10000, CU_MEM_ATTACH_GLOBAL));
	managed = (void *)(uintptr_t)d;
	memset(managed, 4, 10000);
	memset(area, 6, 1 << 20);
	OK(cuLaunchHostFunc(NULL, host_function, &runs));
	OK(cuCtxSynchronize());
	CHECK_EQ(runs, 1);
	worker_kill();
	wait_until_lost();
	begin_again();
	OK(cuMemAlloc_v2(&d, sizeof back));
	OK(cuLaunchKernel(
		(CUfunction)kernel, (N + 63) / 64, 1, 1, 64, 1, 1, 0, NULL, (void *[]){&d, &value, &n}, NULL));
	OK(cuMemcpyDtoH_v2(back, d, sizeof back));
	CHECK(back[0] == 3 && back[N - 1] == 3);
	OK(cuLibraryGetGlobal(&variable, NULL, library, "counter"));
	CHECK_EQ(word_at(variable), 7);
	CHECK(((char *)managed)[9999] == 4 && area[0] == 6 && area[500099] == 6);
	OK(cuMemFree_v2((uintptr_t)managed));
	OK(cuMemHostRegister_v2(area + 100, 500000, 0)); /* the first registration has ended */
	OK(cuMemHostGetDevicePointer_v2(&mapped, area + 100, 0));
	OK(cuMemsetD8_v2(mapped, 8, 500000));
	CHECK(area[99] == 6 && area[100] == 8 && area[500099] == 8 && area[500100] == 6);
	OK(cuMemHostUnregister(area + 100));
	OK(cuLaunchHostFunc(NULL, host_function, &runs));
	OK(cuCtxSynchronize());
	CHECK_EQ(runs, 2);
	OK(cuLibraryUnload(library));
	munmap(area, 1 << 20);
}

/* No server: an honest error, and success once there is a server again. */
static void death_of_server(int server, const char *file)
{
	CUcontext ctx;
	CUresult r = LOST;

	CHECK(!kill(server, SIGKILL));
	worker_kill();
	wait_until_lost();
	CHECK_EQ(cuDevicePrimaryCtxReset_v2(0), LOST);
	CHECK_EQ(cuCtxCreate_v2(&ctx, 0, 0), LOST);
	close(open(file, O_CREAT | O_WRONLY, 0600));
	for (int i = 0; i < 600 && (r = cuDevicePrimaryCtxReset_v2(0)) == LOST; i++)
		usleep(100000);
	OK(r);
	begin_again();
	compute(81);
}

int main(int argc, char **argv)
{
	unsigned fds = 0, tasks = 0;

	if (argc < 4)
		return 2;
	log_path = argv[1];
	start();
	compute(1);
	for (unsigned i = 0; i < 20 && !failures; i++) {
		death_idle(i);
		if (i == 2) {
			fds = entries("/proc/self/fd");
			tasks = entries("/proc/self/task");
		}
	}
	CHECK(entries("/proc/self/fd") <= fds && entries("/proc/self/task") <= tasks);
	death_copying(0);
	death_copying(1);
	if (results())
		death_in_kernel();
	death_among_threads();
	death_of_created();
	other_things();
	CHECK(entries("/proc/self/fd") <= fds + 8 && entries("/proc/self/task") <= tasks + 8);
	death_of_server(atoi(argv[2]), argv[3]);
	return failures != 0;
}
