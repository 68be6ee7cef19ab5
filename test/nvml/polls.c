/*
 * A monitor of a served device whose vendor's library counts (counted.c): a poll of 20 values is 20 calls of the
 * vendor's, and what never changes is asked once.
 *
 *	polls [TIMES]	COUNTED: the file with a line for each call; TIMES: how many times as many the vendor may have
 */
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include "gen/nvml_ops.h"
#include "test/check.h"
#include "wire/names.h"

static struct nvml_ops f;

static int calls(void)
{
	FILE *file = fopen(getenv("COUNTED"), "r");
	char line[256];
	int n = 0;

	while (file && fgets(line, sizeof line, file))
		n++;
	if (file)
		fclose(file);
	return n;
}

static void look_up(void *library)
{
	void **slot = (void **)&f;

	for (int i = 0; i < nvml_OP_COUNT; i++)
		slot[i] = dlsym(library, nvml_names[i]);
}

/* As bench/nvml.c does it. */
static void poll_once(nvmlDevice_t d)
{
	nvmlUtilization_t u;
	nvmlMemory_t m;
	nvmlProcessInfo_t p[64];
	nvmlPstates_t state;
	unsigned v, w, n = 64;

	CHECK(!f.nvmlDeviceGetUtilizationRates(d, &u));
	CHECK(!f.nvmlDeviceGetMemoryInfo(d, &m));
	f.nvmlDeviceGetTemperature(d, NVML_TEMPERATURE_GPU, &v);
	CHECK(!f.nvmlDeviceGetPowerUsage(d, &v) && v == 7);
	CHECK(!f.nvmlDeviceGetEnforcedPowerLimit(d, &v));
	CHECK(!f.nvmlDeviceGetFanSpeed(d, &v));
	f.nvmlDeviceGetClockInfo(d, NVML_CLOCK_GRAPHICS, &v);
	f.nvmlDeviceGetClockInfo(d, NVML_CLOCK_SM, &v);
	f.nvmlDeviceGetClockInfo(d, NVML_CLOCK_MEM, &v);
	f.nvmlDeviceGetMaxClockInfo(d, NVML_CLOCK_SM, &v);
	f.nvmlDeviceGetPerformanceState(d, &state);
	CHECK(!f.nvmlDeviceGetPcieReplayCounter(d, &v));
	f.nvmlDeviceGetCurrentClocksEventReasons(d, &(unsigned long long){0});
	CHECK(!f.nvmlDeviceGetCurrPcieLinkGeneration(d, &v));
	CHECK(!f.nvmlDeviceGetCurrPcieLinkWidth(d, &v));
	f.nvmlDeviceGetEncoderUtilization(d, &v, &w);
	f.nvmlDeviceGetDecoderUtilization(d, &v, &w);
	f.nvmlDeviceGetTotalEnergyConsumption(d, &(unsigned long long){0});
	CHECK(!f.nvmlDeviceGetComputeRunningProcesses_v3(d, &n, p));
	n = 64;
	CHECK(!f.nvmlDeviceGetGraphicsRunningProcesses_v3(d, &n, p));
}

/* Twelve constants: six that are told when the link is made, and six that are asked for. */
static void constants(nvmlDevice_t d)
{
	char text[128];
	nvmlPciInfo_t pci;
	nvmlDevice_t same;
	nvmlBrandType_t brand;
	unsigned v;
	int major, minor;

	CHECK(!f.nvmlDeviceGetCount_v2(&v) && v == 1);
	CHECK(!f.nvmlDeviceGetHandleByIndex_v2(0, &same) && same == d);
	CHECK(!f.nvmlDeviceGetName(d, text, sizeof text) && *text);
	CHECK(!f.nvmlDeviceGetUUID(d, text, sizeof text));
	CHECK(!f.nvmlDeviceGetHandleByUUID(text, &same) && same == d);
	CHECK(!f.nvmlDeviceGetPciInfo_v3(d, &pci));
	CHECK(!f.nvmlDeviceGetMinorNumber(d, &v) && v == 7);
	CHECK(!f.nvmlDeviceGetMaxPcieLinkWidth(d, &v) && v == 7);
	CHECK(!f.nvmlDeviceGetNumGpuCores(d, &v) && v == 7);
	CHECK(!f.nvmlDeviceGetCudaComputeCapability(d, &major, &minor) && major > 0);
	f.nvmlDeviceGetBrand(d, &brand);
	memset(text, 1, sizeof text);
	CHECK(!f.nvmlDeviceGetSerial(d, text, sizeof text) && !strcmp(text, "1234"));
}

int main(int argc, char **argv)
{
	void *library = dlopen("libnvidia-ml.so.1", RTLD_NOW);
	int times = argc > 1 ? atoi(argv[1]) : 1;
	nvmlProcessUtilizationSample_t samples[8];
	unsigned n = 8;
	nvmlDevice_t d;
	char text[4];

	if (!library || !getenv("COUNTED"))
		return printf("no NVML: %s\n", dlerror()), 1;
	look_up(library);
	CHECK(!f.nvmlInit_v2() && !f.nvmlDeviceGetHandleByIndex_v2(0, &d));
	int before = calls();
	CHECK(before > 0);
	for (int i = 1; i <= 5; i++) {
		poll_once(d);
		CHECK(calls() >= before + 20 * i && calls() <= before + 20 * i * times);
	}
	before = calls();
	for (int i = 0; i < 5; i++)
		constants(d);
	CHECK(calls() == before + 6);
	before = calls();
	CHECK(f.nvmlDeviceGetSerial(d, text, sizeof text) == NVML_ERROR_INSUFFICIENT_SIZE); /* another question */
	CHECK(calls() == before + 1);
	/* How busy processes are is another question, too, asked only by those who want to know. */
	before = calls();
	f.nvmlDeviceGetProcessUtilization(d, samples, &n, 0);
	CHECK(calls() == before + 2);
	printf("%d calls of the vendor's in all\n", calls());
	return failures != 0;
}
