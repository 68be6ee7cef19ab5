/*
 * A monitor of two devices: many polls of what moves by itself, without a pause.  Prints what each call of the last one
 * returned, and the values of those that stay the same; how many calls there were is told on standard error.
 *
 *	nvml-watch POLLS
 */
#include <dlfcn.h>
#include <stdlib.h>
#include "backend/nvml/backend.h"
#include "test/check.h"
#include "wire/names.h"

static struct nvml_ops f;
static bool telling;
static unsigned calls;

static void tell(const char *name, nvmlReturn_t r, bool stays, unsigned long long value)
{
	calls++;
	if (telling)
		printf("%s %d %llu\n", name, r, stays && !r ? value : 0);
}

#define VALUE(name, stays, ...) (v = 0, r = f.name(__VA_ARGS__, &v), tell(#name, r, stays, v))

static void poll(nvmlDevice_t d)
{
	nvmlUtilization_t u;
	nvmlPstates_t state;
	nvmlViolationTime_t violation;
	unsigned v, w;
	unsigned long long l;
	nvmlReturn_t r;

	tell("utilisation", f.nvmlDeviceGetUtilizationRates(d, &u), false, 0);
	VALUE(nvmlDeviceGetTemperature, false, d, NVML_TEMPERATURE_GPU);
	VALUE(nvmlDeviceGetTemperature, false, d, 77); /* there is no such sensor */
	VALUE(nvmlDeviceGetPowerUsage, false, d);
	VALUE(nvmlDeviceGetFanSpeed, false, d);
	VALUE(nvmlDeviceGetClockInfo, false, d, NVML_CLOCK_GRAPHICS);
	VALUE(nvmlDeviceGetClockInfo, false, d, NVML_CLOCK_MEM);
	VALUE(nvmlDeviceGetMaxClockInfo, true, d, NVML_CLOCK_GRAPHICS);
	VALUE(nvmlDeviceGetMaxClockInfo, true, d, NVML_CLOCK_SM);
	VALUE(nvmlDeviceGetMaxClockInfo, true, d, NVML_CLOCK_MEM);
	VALUE(nvmlDeviceGetMaxClockInfo, true, d, 99);
	VALUE(nvmlDeviceGetCurrPcieLinkWidth, true, d);
	tell("state", f.nvmlDeviceGetPerformanceState(d, &state), false, 0);
	tell("encoder", f.nvmlDeviceGetEncoderUtilization(d, &v, &w), false, 0);
	tell("energy", f.nvmlDeviceGetTotalEnergyConsumption(d, &l), false, 0);
	tell("violation", f.nvmlDeviceGetViolationStatus(d, 0, &violation), false, 0);
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
		telling = i == polls - 1;
		for (int d = 0; d < 3; d++) /* of which the last is not there */
			poll(NVML_HANDLE(d));
	}
	CHECK_EQ(f.nvmlShutdown(), 0);
	fprintf(stderr, "%u calls\n", calls);
	return RESULT();
}
