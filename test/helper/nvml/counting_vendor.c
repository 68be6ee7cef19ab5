/*
 * A fake NVML of a vendor that counts calls: each call appends its name as a line to the file COUNTED.  Functions
 * that are not defined here come from the library that this one is linked with, a copy of our own (vendor.sh).
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "abi/nvml.h"

#pragma GCC diagnostic ignored "-Wmissing-prototypes"

static void count_call(const char *name)
{
	const char *path = getenv("COUNTED");
	int fd = path ? open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600) : -1;
	char line[128] = "";

	strncat(line, name, sizeof line - 2);
	strcat(line, "\n");
	if (fd < 0 || write(fd, line, strlen(line)) < 0)
		abort();
	close(fd);
}

#define COUNTED(name, parameters, ...) \
	nvmlReturn_t name parameters \
	{ \
		nvmlReturn_t(*real) parameters = (nvmlReturn_t(*) parameters)dlsym(RTLD_NEXT, #name); \
\
		count_call(#name); \
		return real ? real(__VA_ARGS__) : NVML_ERROR_FUNCTION_NOT_FOUND; \
	}

/* A sensor whose value is 7. */
#define SEVEN(name) \
	nvmlReturn_t name(nvmlDevice_t device, unsigned *value) \
	{ \
		count_call(#name); \
		*value = device ? 7 : 0; \
		return NVML_SUCCESS; \
	}

COUNTED(nvmlDeviceGetCount_v2, (unsigned *n), n)
COUNTED(nvmlDeviceGetHandleByIndex_v2, (unsigned i, nvmlDevice_t *d), i, d)
COUNTED(nvmlDeviceGetHandleByUUID, (const char *uuid, nvmlDevice_t *d), uuid, d)
COUNTED(nvmlDeviceGetName, (nvmlDevice_t d, char *name, unsigned length), d, name, length)
COUNTED(nvmlDeviceGetUUID, (nvmlDevice_t d, char *uuid, unsigned length), d, uuid, length)
COUNTED(nvmlDeviceGetPciInfo_v3, (nvmlDevice_t d, nvmlPciInfo_t *pci), d, pci)
COUNTED(nvmlSystemGetDriverVersion, (char *version, unsigned length), version, length)
COUNTED(nvmlDeviceGetUtilizationRates, (nvmlDevice_t d, nvmlUtilization_t *u), d, u)
COUNTED(nvmlDeviceGetMemoryInfo, (nvmlDevice_t d, nvmlMemory_t *m), d, m)
COUNTED(nvmlDeviceGetTemperature, (nvmlDevice_t d, nvmlTemperatureSensors_t s, unsigned *v), d, s, v)
COUNTED(nvmlDeviceGetClockInfo, (nvmlDevice_t d, nvmlClockType_t c, unsigned *v), d, c, v)
COUNTED(nvmlDeviceGetMaxClockInfo, (nvmlDevice_t d, nvmlClockType_t c, unsigned *v), d, c, v)
COUNTED(nvmlDeviceGetPerformanceState, (nvmlDevice_t d, nvmlPstates_t *p), d, p)
COUNTED(nvmlDeviceGetCurrentClocksEventReasons, (nvmlDevice_t d, unsigned long long *v), d, v)
COUNTED(nvmlDeviceGetEncoderUtilization, (nvmlDevice_t d, unsigned *v, unsigned *p), d, v, p)
COUNTED(nvmlDeviceGetDecoderUtilization, (nvmlDevice_t d, unsigned *v, unsigned *p), d, v, p)
COUNTED(nvmlDeviceGetTotalEnergyConsumption, (nvmlDevice_t d, unsigned long long *v), d, v)
COUNTED(nvmlDeviceGetGraphicsRunningProcesses_v3, (nvmlDevice_t d, unsigned *n, nvmlProcessInfo_t *p), d, n, p)
COUNTED(nvmlDeviceGetCudaComputeCapability, (nvmlDevice_t d, int *major, int *minor), d, major, minor)
COUNTED(nvmlDeviceGetBrand, (nvmlDevice_t d, nvmlBrandType_t *b), d, b)
SEVEN(nvmlDeviceGetPowerUsage)
SEVEN(nvmlDeviceGetEnforcedPowerLimit)
SEVEN(nvmlDeviceGetFanSpeed)
SEVEN(nvmlDeviceGetPcieReplayCounter)
SEVEN(nvmlDeviceGetCurrPcieLinkGeneration)
SEVEN(nvmlDeviceGetCurrPcieLinkWidth)
SEVEN(nvmlDeviceGetMinorNumber)
SEVEN(nvmlDeviceGetMaxPcieLinkWidth)
SEVEN(nvmlDeviceGetNumGpuCores)

nvmlReturn_t nvmlDeviceGetSerial(nvmlDevice_t device, char *serial, unsigned length)
{
	count_call("nvmlDeviceGetSerial");
	if (length < 5)
		return NVML_ERROR_INSUFFICIENT_SIZE;
	strcpy(serial, device ? "1234" : "");
	return NVML_SUCCESS;
}

/* One process: the calling one, which is the worker. */
nvmlReturn_t nvmlDeviceGetComputeRunningProcesses_v3(nvmlDevice_t device, unsigned *n, nvmlProcessInfo_t *infos)
{
	count_call("nvmlDeviceGetComputeRunningProcesses_v3");
	if (!device || *n < 1)
		return NVML_ERROR_INSUFFICIENT_SIZE;
	*n = 1;
	infos[0] = (nvmlProcessInfo_t){
		.pid = (unsigned)getpid(), .usedGpuMemory = 4096, .gpuInstanceId = ~0u, .computeInstanceId = ~0u};
	return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetProcessUtilization(
	nvmlDevice_t device, nvmlProcessUtilizationSample_t *samples, unsigned *n, unsigned long long since)
{
	count_call("nvmlDeviceGetProcessUtilization");
	if (!device || since || *n < 1)
		return NVML_ERROR_INVALID_ARGUMENT;
	*n = 1;
	samples[0] = (nvmlProcessUtilizationSample_t){.pid = (unsigned)getpid(), .smUtil = 42};
	return NVML_SUCCESS;
}
