/*
 * A monitor of two devices: many polls of sensors, without a pause.  Prints the results of the last poll and the
 * values that are constant; prints the number of calls on standard error.
 *
 *	nvml-monitor POLLS
 */
#include <dlfcn.h>
#include <stdlib.h>
#include "backend/nvml/backend.h"
#include "test/check.h"
#include "wire/names.h"

static struct nvml_ops f;
static bool printing;
static unsigned calls;

static void report(const char *name, nvmlReturn_t r, bool constant, unsigned long long value)
{
	calls++;
	if (printing)
		printf("%s %d %llu\n", name, r, constant && !r ? value : 0);
}

#define VALUE(name, constant, ...) (v = 0, r = f.name(__VA_ARGS__, &v), report(#name, r, constant, v))

static void poll_device(nvmlDevice_t d)
{
	nvmlUtilization_t u;
	nvmlPstates_t state;
	nvmlViolationTime_t violation;
	unsigned v, w;
	unsigned long long l;
	nvmlReturn_t r;

	report("utilisation", f.nvmlDeviceGetUtilizationRates(d, &u), false, 0);
	VALUE(nvmlDeviceGetTemperature, false, d, NVML_TEMPERATURE_GPU);
	VALUE(nvmlDeviceGetTemperature, false, d, 77); /* no such sensor */
	VALUE(nvmlDeviceGetPowerUsage, false, d);
	VALUE(nvmlDeviceGetFanSpeed, false, d);
	VALUE(nvmlDeviceGetClockInfo, false, d, NVML_CLOCK_GRAPHICS);
	VALUE(nvmlDeviceGetClockInfo, false, d, NVML_CLOCK_MEM);
	VALUE(nvmlDeviceGetMaxClockInfo, true, d, NVML_CLOCK_GRAPHICS);
	VALUE(nvmlDeviceGetMaxClockInfo, true, d, NVML_CLOCK_SM);
	VALUE(nvmlDeviceGetMaxClockInfo, true, d, NVML_CLOCK_MEM);
	VALUE(nvmlDeviceGetMaxClockInfo, true, d, 99);
	VALUE(nvmlDeviceGetCurrPcieLinkWidth, true, d);
	report("state", f.nvmlDeviceGetPerformanceState(d, &state), false, 0);
	report("encoder", f.nvmlDeviceGetEncoderUtilization(d, &v, &w), false, 0);
	report("energy", f.nvmlDeviceGetTotalEnergyConsumption(d, &l), false, 0);
	report("violation", f.nvmlDeviceGetViolationStatus(d, 0, &violation), false, 0);
}

int main(int argc, char **argv)
{
	void *library = dlopen("libnvidia-ml.so.1", RTLD_NOW);
	int polls = argc > 1 ? atoi(argv[1]) : 1;
	void **slot = (void **)&f;

	if (!library)
		return fprintf(stderr, "%s\n", dlerror()), 1;
	for (int i = 0; i < nvml_OP_COUNT; i++)
		slot[i] = dlsym(library, nvml_names[i]);
	CHECK_EQ(f.nvmlInit_v2(), 0);
	for (int i = 0; i < polls; i++) {
		printing = i == polls - 1;
		for (int d = 0; d < 3; d++) /* the last one does not exist */
			poll_device(NVML_HANDLE(d));
	}
	CHECK_EQ(f.nvmlShutdown(), 0);
	fprintf(stderr, "%u calls\n", calls);
	return RESULT();
}
