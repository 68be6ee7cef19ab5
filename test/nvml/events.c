/* Event sets, created, waited for and freed as monitors do, on devices without events; invalid handles are refused. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <time.h>
#include "gen/nvml_ops.h"
#include "test/check.h"

static struct nvml_ops f;

static double now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static void check_waiting(nvmlEventSet_t set)
{
	nvmlEventData_t data;
	double start = now_ms();

	CHECK_EQ(f.nvmlEventSetWait_v2(set, &data, 60), NVML_ERROR_TIMEOUT);
	CHECK(now_ms() - start >= 60);
	CHECK_EQ(f.nvmlEventSetWait(set, &data, 0), NVML_ERROR_TIMEOUT);
	CHECK_EQ(f.nvmlEventSetWait_v2(set, NULL, 0), NVML_ERROR_INVALID_ARGUMENT);
}

static void check_refusals(nvmlDevice_t d, nvmlEventSet_t gone)
{
	const uint64_t odd[] = {0, 1, (uintptr_t)d, (uintptr_t)gone, (uintptr_t)gone + 2, (uintptr_t)gone ^ 1ull << 40,
		(uintptr_t)gone + (3ull << 16), ~0ull, 0xdeadbeef, 0x4745ull << 48};
	nvmlEventData_t data;

	for (size_t i = 0; i < sizeof odd / sizeof *odd; i++) {
		nvmlEventSet_t set = (nvmlEventSet_t)(uintptr_t)odd[i];
		CHECK_EQ(f.nvmlEventSetWait_v2(set, &data, 1000), NVML_ERROR_INVALID_ARGUMENT);
		CHECK_EQ(f.nvmlEventSetWait(set, &data, 1000), NVML_ERROR_INVALID_ARGUMENT);
		CHECK_EQ(f.nvmlDeviceRegisterEvents(d, 1, set), NVML_ERROR_NOT_SUPPORTED);
		CHECK_EQ(f.nvmlEventSetFree(set), NVML_ERROR_INVALID_ARGUMENT);
	}
	CHECK_EQ(f.nvmlEventSetCreate(NULL), NVML_ERROR_INVALID_ARGUMENT);
}

static void *make_and_free(void *arg)
{
	nvmlEventSet_t set;

	for (int i = 0; i < 2000; i++) {
		CHECK_EQ(f.nvmlEventSetCreate(&set), 0);
		CHECK_EQ(f.nvmlEventSetFree(set), 0);
		CHECK_EQ(f.nvmlEventSetFree(set), NVML_ERROR_INVALID_ARGUMENT);
	}
	return arg;
}

/* The largest number of sets, and one more; the last nvmlShutdown frees all of them. */
static void check_many(void)
{
	static nvmlEventSet_t set[100000];
	unsigned n = 0;
	nvmlReturn_t r;

	while (n < 100000 && !(r = f.nvmlEventSetCreate(&set[n])))
		n++;
	CHECK(n >= 64);
	CHECK_EQ(r, NVML_ERROR_INSUFFICIENT_RESOURCES);
	CHECK_EQ(f.nvmlEventSetFree(set[n / 2]), 0);
	CHECK_EQ(f.nvmlEventSetCreate(&set[n / 2]), 0);
	CHECK_EQ(f.nvmlShutdown(), 0);
	CHECK_EQ(f.nvmlEventSetFree(set[0]), NVML_ERROR_UNINITIALIZED);
	CHECK_EQ(f.nvmlInit_v2(), 0);
	CHECK_EQ(f.nvmlEventSetFree(set[0]), NVML_ERROR_INVALID_ARGUMENT);
	CHECK_EQ(f.nvmlEventSetCreate(&set[0]), 0);
	CHECK_EQ(f.nvmlEventSetFree(set[0]), 0);
}

static void look_up(void *library)
{
#define LOOK_UP(name) *(void **)&f.name = dlsym(library, #name)
	LOOK_UP(nvmlInit_v2), LOOK_UP(nvmlShutdown), LOOK_UP(nvmlDeviceGetHandleByIndex_v2),
		LOOK_UP(nvmlEventSetCreate);
	LOOK_UP(nvmlEventSetFree), LOOK_UP(nvmlEventSetWait), LOOK_UP(nvmlEventSetWait_v2),
		LOOK_UP(nvmlDeviceRegisterEvents);
	LOOK_UP(nvmlDeviceGetSupportedEventTypes);
}

int main(void)
{
	void *library = dlopen("libnvidia-ml.so.1", RTLD_NOW);
	unsigned long long types = 77;
	nvmlEventSet_t set, other;
	pthread_t thread[4];
	nvmlDevice_t d;

	if (!library) {
		fprintf(stderr, "%s\n", dlerror());
		return 1;
	}
	look_up(library);
	CHECK_EQ(f.nvmlEventSetCreate(&set), NVML_ERROR_UNINITIALIZED);
	if (f.nvmlInit_v2() || f.nvmlDeviceGetHandleByIndex_v2(0, &d))
		return 1;
	CHECK_EQ(f.nvmlEventSetCreate(&set), 0);
	CHECK_EQ(f.nvmlEventSetCreate(&other), 0);
	CHECK(set && set != other);
	check_waiting(set);
	CHECK_EQ(f.nvmlDeviceGetSupportedEventTypes(d, &types), 0);
	CHECK_EQ(types, 0);
	CHECK_EQ(f.nvmlDeviceGetSupportedEventTypes(d, NULL), NVML_ERROR_INVALID_ARGUMENT);
	CHECK_EQ(f.nvmlDeviceGetSupportedEventTypes((nvmlDevice_t)1, &types), NVML_ERROR_INVALID_ARGUMENT);
	CHECK_EQ(f.nvmlDeviceRegisterEvents(d, 1, set), NVML_ERROR_NOT_SUPPORTED);
	CHECK_EQ(f.nvmlEventSetFree(set), 0);
	check_refusals(d, set);
	check_waiting(other);
	CHECK_EQ(f.nvmlEventSetFree(other), 0);
	for (int i = 0; i < 4; i++)
		CHECK_EQ(pthread_create(&thread[i], NULL, make_and_free, NULL), 0);
	for (int i = 0; i < 4; i++)
		pthread_join(thread[i], NULL);
	check_many();
	CHECK_EQ(f.nvmlShutdown(), 0);
	return RESULT();
}
