/*
 * Counts the calls that a served device makes to its vendor's library (counting_vendor.c): a poll of 20 values is 20
 * calls, and constants are read once.
 *
 *	vendor_calls [TIMES]	COUNTED: the file with a line for each call; TIMES: the factor by which calls may be more
 */
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include "gen/nvml_ops.h"
#include "test/check.h"
#include "wire/names.h"

static struct nvml_ops f;

static int vendor_call_count(void)
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

/* The values that bench/nvml.c reads. */
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

/* Twelve constants: six come with the link, and six take a call each. */
static void read_constants(nvmlDevice_t d)
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
	int before = vendor_call_count();
	CHECK(before > 0);
	for (int i = 1; i <= 5; i++) {
		poll_once(d);
		CHECK(vendor_call_count() >= before + 20 * i && vendor_call_count() <= before + 20 * i * times);
	}
	before = vendor_call_count();
	for (int i = 0; i < 5; i++)
		read_constants(d);
	CHECK(vendor_call_count() == before + 6);
	before = vendor_call_count();
	CHECK(f.nvmlDeviceGetSerial(d, text, sizeof text) ==
		NVML_ERROR_INSUFFICIENT_SIZE); /* a different buffer size is a new query */
	CHECK(vendor_call_count() == before + 1);
	/* The load of processes takes a further call, made only for clients that ask for it. */
	before = vendor_call_count();
	f.nvmlDeviceGetProcessUtilization(d, samples, &n, 0);
	CHECK(vendor_call_count() == before + 2);
	printf("%d calls of the vendor's library\n", vendor_call_count());
	return failures != 0;
}
