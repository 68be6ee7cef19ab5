/*
 * A program that resets its device and continues: the reset frees all resources, including pinned and registered host
 * memory, and all later calls work as after the first start.
 */
#include <stdbool.h>
#include <sys/mman.h>
#include "driver.h"

enum { WORDS = 40000, BYTES = WORDS * 4, ROUNDS = 4 };

static unsigned *own; /* registered after each reset, never unregistered */
static int ran;

static void count(void *arg)
{
	(void)arg;
	ran++;
}

static bool in_two_places(void)
{
	const char *device = getenv("GANGWAY_DEVICE");

	return device && !strncmp(device, "tcp:", 4);
}

static void run_fill(CUstream s, CUdeviceptr p, unsigned value, unsigned n)
{
	void *params[] = {&p, &value, &n};

	OK(cuLaunchKernel(fill, (n + 127) / 128, 1, 1, 128, 1, 1, 0, s, params, NULL));
}

static void all_are(const volatile unsigned *p, unsigned n, unsigned value)
{
	unsigned bad = 0;

	for (unsigned i = 0; i < n; i++)
		bad += p[i] != value;
	if (results())
		CHECK_EQ(bad, 0);
}

/* Copy up, kernel, copy down; each step synchronises in a different way. */
static void copies(CUstream s, unsigned *host, unsigned value)
{
	CUdeviceptr p = memory(BYTES);
	CUevent e = NULL;

	OK(cuEventCreate(&e, CU_EVENT_DISABLE_TIMING));
	for (unsigned i = 0; i < WORDS; i++)
		host[i] = value;
	OK(cuMemcpyHtoDAsync_v2(p, host, BYTES, s));
	OK(cuStreamSynchronize(s));
	memset(host, 0, BYTES);
	OK(cuMemcpyDtoHAsync_v2(host, p, BYTES, s));
	OK(cuEventRecord(e, s));
	run_fill(s, p, value + 1, WORDS);
	OK(cuEventSynchronize(e));
	CHECK(host[0] == value && host[WORDS - 1] == value);
	OK(cuMemcpyDtoHAsync_v2(host, p, BYTES, s));
	OK(cuCtxSynchronize());
	all_are(host, WORDS, value + 1);
	run_fill(NULL, p, value + 2, WORDS);
	OK(cuMemcpyDtoH_v2(host, p, BYTES));
	all_are(host, WORDS, value + 2);
}

/* Host memory that a kernel writes directly. */
static void reached(CUstream s, volatile unsigned *host, CUdeviceptr p, unsigned value)
{
	run_fill(s, p, value, 1000);
	OK(cuStreamSynchronize(s));
	all_are(host, 1000, value);
}

/* Uses every kind of memory and leaves all CUDA resources to the reset. */
static void life(unsigned value)
{
	void *pinned = NULL, *mapped = NULL, *plain = malloc(BYTES);
	CUdeviceptr managed = 0, seen = 0;
	CUstream s = NULL;

	OK(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
	OK(cuMemHostAlloc(&pinned, BYTES, 0));
	OK(cuMemHostAlloc(&mapped, BYTES, CU_MEMHOSTALLOC_DEVICEMAP));
	OK(cuMemAllocManaged(&managed, BYTES, CU_MEM_ATTACH_GLOBAL));
	OK(cuMemHostRegister_v2(own, BYTES, 0));
	CHECK_EQ(cuMemHostRegister_v2(own, BYTES, 0), CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED);
	copies(s, plain, value);
	copies(s, pinned, value + 10);
	copies(s, own, value + 20);
	OK(cuMemHostGetDevicePointer_v2(&seen, mapped, 0));
	reached(s, mapped, seen, value + 30);
	reached(s, (unsigned *)(uintptr_t)managed, managed, value + 31);
	if (!in_two_places()) {
		OK(cuMemHostGetDevicePointer_v2(&seen, own, 0));
		reached(s, own, seen, value + 32);
	}
	ran = 0;
	OK(cuLaunchHostFunc(s, count, NULL));
	OK(cuStreamSynchronize(s));
	CHECK_EQ(ran, 1);
	free(plain);
}

/* Ends the context; registered memory of the application keeps its contents. */
static void end(unsigned round)
{
	unsigned last = own[WORDS - 1];
	CUdeviceptr p = memory(BYTES);

	for (int i = 0; i < 20; i++) /* still pending at the reset */
		OK(cuMemcpyHtoDAsync_v2(p, own, BYTES, i % 2 ? NULL : CU_STREAM_PER_THREAD));
	if (round % 2)
		OK(cuDevicePrimaryCtxReset_v2(0));
	else
		OK(cuDevicePrimaryCtxRelease_v2(0));
	CHECK_EQ(own[WORDS - 1], last);
	CHECK(cuCtxSynchronize() != CUDA_SUCCESS);
}

/* A second context, which frees all resources made in it when the test destroys it. */
static void another(void)
{
	CUcontext other = NULL;

	OK(cuCtxCreate_v2(&other, 0, 0));
	OK(cuModuleLoadData(&module, ptx));
	OK(cuModuleGetFunction(&fill, module, "fill"));
	life(5000);
	OK(cuCtxDestroy_v2(other));
}

int main(void)
{
	own = mmap(NULL, BYTES + 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	for (unsigned round = 0; round < ROUNDS; round++) {
		start();
		life(1000 + 100 * round);
		end(round);
		another();
	}
	start();
	life(4000);
	return failures ? 1 : 0;
}
