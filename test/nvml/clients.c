/*
 * Makes the NVML calls of real programs: every function that they look up exists, every call has a defined result,
 * and the values agree with libcuda's.
 *
 *	clients [CUDART]	on the device that GANGWAY_DEVICE names: cpu or null, in this process or served
 *
 * CUDART is a libcudart.so, whose device properties must have the same UUID and name.  The calls are those of Ollama
 * (0.12.4 and 0.30; older versions do not use NVML), PyTorch, nvtop, btop, vLLM and NCCL.
 */
#include <dlfcn.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "abi/cuda.h"
#include "gen/cuda_protos.h"
#include "gen/nvml_ops.h"
#include "test/check.h"

static void *library;
static struct nvml_ops f; /* the functions that the current client has looked up */

/* Looks up the functions that one client uses. */
static void look_up(const char *client, const char *const *names)
{
#define SLOT(name) {#name, offsetof(struct nvml_ops, name)}
	static const struct {
		const char *name;
		size_t at;
	} slots[] = {
		/* clang-format off */
		SLOT(nvmlInit), SLOT(nvmlInit_v2), SLOT(nvmlShutdown), SLOT(nvmlErrorString), SLOT(nvmlSystemGetDriverVersion),
		SLOT(nvmlSystemGetCudaDriverVersion_v2), SLOT(nvmlDeviceGetCount), SLOT(nvmlDeviceGetCount_v2),
		SLOT(nvmlDeviceGetHandleByIndex), SLOT(nvmlDeviceGetHandleByIndex_v2), SLOT(nvmlDeviceGetHandleByUUID),
		SLOT(nvmlDeviceGetHandleByPciBusId), SLOT(nvmlDeviceGetHandleByPciBusId_v2), SLOT(nvmlDeviceGetIndex),
		SLOT(nvmlDeviceGetName), SLOT(nvmlDeviceGetUUID), SLOT(nvmlDeviceGetPciInfo), SLOT(nvmlDeviceGetPciInfo_v2),
		SLOT(nvmlDeviceGetPciInfo_v3), SLOT(nvmlDeviceGetMemoryInfo), SLOT(nvmlDeviceGetMemoryInfo_v2),
		SLOT(nvmlDeviceGetUtilizationRates), SLOT(nvmlDeviceGetClockInfo), SLOT(nvmlDeviceGetMaxClockInfo),
		SLOT(nvmlDeviceGetTemperature), SLOT(nvmlDeviceGetTemperatureThreshold), SLOT(nvmlDeviceGetPowerUsage),
		SLOT(nvmlDeviceGetEnforcedPowerLimit), SLOT(nvmlDeviceGetPowerManagementLimit), SLOT(nvmlDeviceGetPowerState),
		SLOT(nvmlDeviceGetFanSpeed), SLOT(nvmlDeviceGetPcieThroughput), SLOT(nvmlDeviceGetMaxPcieLinkGeneration),
		SLOT(nvmlDeviceGetMaxPcieLinkWidth), SLOT(nvmlDeviceGetCurrPcieLinkGeneration),
		SLOT(nvmlDeviceGetCurrPcieLinkWidth), SLOT(nvmlDeviceGetEncoderUtilization),
		SLOT(nvmlDeviceGetDecoderUtilization), SLOT(nvmlDeviceGetComputeRunningProcesses),
		SLOT(nvmlDeviceGetComputeRunningProcesses_v2), SLOT(nvmlDeviceGetComputeRunningProcesses_v3),
		SLOT(nvmlDeviceGetGraphicsRunningProcesses), SLOT(nvmlDeviceGetGraphicsRunningProcesses_v2),
		SLOT(nvmlDeviceGetGraphicsRunningProcesses_v3), SLOT(nvmlDeviceGetMPSComputeRunningProcesses_v3),
		SLOT(nvmlDeviceGetProcessUtilization), SLOT(nvmlDeviceGetMigMode), SLOT(nvmlDeviceGetNvLinkRemoteDeviceType),
		SLOT(nvmlDeviceGetNvLinkRemotePciInfo), SLOT(nvmlDeviceGetNvLinkRemotePciInfo_v2),
		SLOT(nvmlDeviceGetNvLinkState), SLOT(nvmlDeviceGetNvLinkCapability), SLOT(nvmlDeviceGetCudaComputeCapability),
		SLOT(nvmlDeviceGetP2PStatus), SLOT(nvmlDeviceGetFieldValues), SLOT(nvmlDeviceGetGpuFabricInfoV),
		SLOT(nvmlSystemGetConfComputeState), SLOT(nvmlSystemGetConfComputeSettings), SLOT(nvmlDeviceGetPlatformInfo),
		/* clang-format on */
	};

	memset(&f, 0, sizeof f);
	for (; *names; names++) {
		void *p = dlsym(library, *names);
		size_t i = 0;

		if (!p) {
			fprintf(stderr, "%s needs %s, which libnvidia-ml.so.1 does not export\n", client, *names);
			failures++;
		}
		while (i < sizeof slots / sizeof *slots && strcmp(slots[i].name, *names))
			i++;
		CHECK(i < sizeof slots / sizeof *slots);
		memcpy((char *)&f + slots[i].at, &p, sizeof p);
	}
}

#define NAMES(...) ((const char *const[]){__VA_ARGS__, NULL})

/* ---- libcuda's values ---- */

struct truth {
	char name[256], uuid[41], pci[32];
	size_t total;
	int major, minor, clock_khz;
};

static int ndevices;
static struct truth truth[64];
static bool is_cpu;

static void ask_cuda(void)
{
	CHECK_EQ(cuInit(0), 0);
	CHECK_EQ(cuDeviceGetCount(&ndevices), 0);
	for (int i = 0; i < ndevices; i++) {
		struct truth *t = &truth[i];
		CUuuid u;

		CHECK_EQ(cuDeviceGetName(t->name, sizeof t->name, i), 0);
		CHECK_EQ(cuDeviceTotalMem_v2(&t->total, i), 0);
		CHECK_EQ(cuDeviceGetPCIBusId(t->pci, sizeof t->pci, i), 0);
		CHECK_EQ(cuDeviceGetUuid_v2(&u, i), 0);
		cuDeviceGetAttribute(&t->major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, i);
		cuDeviceGetAttribute(&t->minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, i);
		cuDeviceGetAttribute(&t->clock_khz, CU_DEVICE_ATTRIBUTE_CLOCK_RATE, i);
		char *to = t->uuid + sprintf(t->uuid, "GPU-");
		for (int k = 0; k < 16; k++)
			to += sprintf(to, k == 4 || k == 6 || k == 8 || k == 10 ? "-%02x" : "%02x",
				(unsigned char)u.bytes[k]);
	}
	is_cpu = !strncmp(truth[0].name, "Gangway CPU", 11);
}

/*
 * Device properties begin with name and UUID in all runtimes since 10; the offset of the memory is that of 12 and 13.
 */
static void ask_runtime(const char *path)
{
	void *runtime = dlopen(path, RTLD_NOW);
	int (*properties)(void *, int) =
		runtime ? (int (*)(void *, int))dlsym(runtime, "cudaGetDeviceProperties_v2") : NULL;
	static char p[8192];

	if (runtime && !properties)
		properties = (int (*)(void *, int))dlsym(runtime, "cudaGetDeviceProperties");
	CHECK(properties);
	for (int i = 0; properties && i < ndevices; i++) {
		size_t total = 0;
		CUuuid u;

		CHECK_EQ(properties(p, i), 0);
		CHECK_EQ(cuDeviceTotalMem_v2(&total, i), 0);
		CHECK(!memcmp(p + 0x120, &total, sizeof total));
		CHECK_EQ(cuDeviceGetUuid_v2(&u, i), 0);
		CHECK(!strcmp(p, truth[i].name));
		CHECK(!memcmp(p + 256, &u, 16));
	}
}

/* ---- Ollama ---- */

static void ollama_free_memory(void)
{
	char name[256];
	nvmlMemory_t m;
	nvmlDevice_t d;

	look_up("Ollama 0.12.4", NAMES("nvmlInit_v2", "nvmlShutdown", "nvmlDeviceGetHandleByUUID",
					 "nvmlDeviceGetMemoryInfo", "nvmlDeviceGetName", "nvmlErrorString"));
	CHECK_EQ(f.nvmlInit_v2(), 0);
	for (int i = 0; i < ndevices; i++) {
		CHECK_EQ(f.nvmlDeviceGetHandleByUUID(truth[i].uuid, &d), 0);
		CHECK_EQ(f.nvmlDeviceGetMemoryInfo(d, &m), 0);
		CHECK_EQ(m.total, truth[i].total);
		CHECK_EQ(m.total, m.free + m.used);
		CHECK_EQ(f.nvmlDeviceGetName(d, name, sizeof name), 0);
		CHECK(!strcmp(name, truth[i].name));
	}
	CHECK(!strcmp(f.nvmlErrorString(NVML_ERROR_NOT_FOUND), "Not Found"));
	CHECK_EQ(f.nvmlDeviceGetHandleByUUID("GPU-00000000-0000-0000-0000-000000000000", &d), NVML_ERROR_NOT_FOUND);
	CHECK_EQ(f.nvmlShutdown(), 0);
}

static void ollama_discover(void)
{
	char version[80] = "";
	int cuda;

	look_up("Ollama 0.30", NAMES("nvmlInit_v2", "nvmlSystemGetDriverVersion", "nvmlShutdown"));
	CHECK_EQ(f.nvmlInit_v2(), 0);
	CHECK_EQ(f.nvmlSystemGetDriverVersion(version, sizeof version), 0);
	CHECK(!strncmp(version, "580.", 4));
	CHECK_EQ(cuDriverGetVersion(&cuda), 0);
	CHECK(cuda >= 13000);
	CHECK_EQ(f.nvmlShutdown(), 0);
}

/* ---- PyTorch ---- */

static void pytorch(void)
{
	unsigned count = 0, n = 0;
	int version, cuda;
	nvmlDevice_t d;
	nvmlIntNvLinkDeviceType_t type;
	nvmlPciInfo_t pci;
	nvmlProcessInfo_v1_t processes[256];

	look_up("PyTorch",
		NAMES("nvmlInit_v2", "nvmlDeviceGetHandleByPciBusId_v2", "nvmlDeviceGetNvLinkRemoteDeviceType",
			"nvmlDeviceGetNvLinkRemotePciInfo_v2", "nvmlDeviceGetComputeRunningProcesses",
			"nvmlSystemGetCudaDriverVersion_v2", "nvmlInit", "nvmlDeviceGetCount_v2", "nvmlShutdown"));
	CHECK_EQ(f.nvmlInit(), 0);
	CHECK_EQ(f.nvmlDeviceGetCount_v2(&count), 0);
	CHECK_EQ(count, ndevices);
	CHECK_EQ(f.nvmlSystemGetCudaDriverVersion_v2(&version), 0);
	CHECK_EQ(cuDriverGetVersion(&cuda), 0);
	CHECK_EQ(version, cuda);
	for (int i = 0; i < ndevices; i++) {
		CHECK_EQ(f.nvmlDeviceGetHandleByPciBusId_v2(truth[i].pci, &d), 0);
		CHECK_EQ(f.nvmlDeviceGetNvLinkRemoteDeviceType(d, 0, &type), NVML_ERROR_NOT_SUPPORTED);
		CHECK_EQ(f.nvmlDeviceGetNvLinkRemotePciInfo_v2(d, 0, &pci), NVML_ERROR_NOT_SUPPORTED);
		n = 256;
		CHECK_EQ(f.nvmlDeviceGetComputeRunningProcesses(d, &n, processes), 0);
		CHECK(n < 256);
	}
	CHECK_EQ(f.nvmlShutdown(), 0);
}

/* ---- nvtop ---- */

static void nvtop_values(nvmlDevice_t d, const struct truth *t)
{
	unsigned a, b, known = is_cpu ? NVML_SUCCESS : NVML_ERROR_NOT_SUPPORTED;
	nvmlUtilization_t u;
	nvmlReturn_t r;

	CHECK_EQ(f.nvmlDeviceGetMaxPcieLinkGeneration(d, &a), NVML_ERROR_NOT_SUPPORTED);
	CHECK_EQ(f.nvmlDeviceGetMaxPcieLinkWidth(d, &a), NVML_ERROR_NOT_SUPPORTED);
	CHECK_EQ(f.nvmlDeviceGetCurrPcieLinkGeneration(d, &a), NVML_ERROR_NOT_SUPPORTED);
	CHECK_EQ(f.nvmlDeviceGetCurrPcieLinkWidth(d, &a), NVML_ERROR_NOT_SUPPORTED);
	CHECK_EQ(f.nvmlDeviceGetTemperatureThreshold(d, NVML_TEMPERATURE_THRESHOLD_SHUTDOWN, &a),
		NVML_ERROR_NOT_SUPPORTED);
	CHECK_EQ(f.nvmlDeviceGetClockInfo(d, NVML_CLOCK_GRAPHICS, &a), known);
	CHECK_EQ(f.nvmlDeviceGetClockInfo(d, NVML_CLOCK_MEM, &a), NVML_ERROR_NOT_SUPPORTED);
	CHECK_EQ(f.nvmlDeviceGetMaxClockInfo(d, NVML_CLOCK_SM, &b), known);
	CHECK(known || b == (unsigned)t->clock_khz / 1000);
	CHECK_EQ(f.nvmlDeviceGetClockInfo(d, 77, &a), NVML_ERROR_INVALID_ARGUMENT);
	CHECK_EQ(f.nvmlDeviceGetUtilizationRates(d, &u), 0);
	CHECK(u.gpu <= 100 && u.memory <= 100);
	CHECK_EQ(f.nvmlDeviceGetPcieThroughput(d, NVML_PCIE_UTIL_RX_BYTES, &a), NVML_ERROR_NOT_SUPPORTED);
	CHECK_EQ(f.nvmlDeviceGetFanSpeed(d, &a), NVML_ERROR_NOT_SUPPORTED);
	r = f.nvmlDeviceGetTemperature(d, NVML_TEMPERATURE_GPU, &a);
	CHECK(r == NVML_ERROR_NOT_SUPPORTED || (r == NVML_SUCCESS && is_cpu && a > 0 && a < 150));
	CHECK_EQ(f.nvmlDeviceGetPowerUsage(d, &a), NVML_ERROR_NOT_SUPPORTED);
	CHECK_EQ(f.nvmlDeviceGetEnforcedPowerLimit(d, &a), NVML_ERROR_NOT_SUPPORTED);
	CHECK_EQ(f.nvmlDeviceGetEncoderUtilization(d, &a, &b), NVML_ERROR_NOT_SUPPORTED);
	CHECK_EQ(f.nvmlDeviceGetDecoderUtilization(d, &a, &b), NVML_ERROR_NOT_SUPPORTED);
	CHECK_EQ(f.nvmlDeviceGetMigMode(d, &a, &b), NVML_ERROR_NOT_SUPPORTED);
}

static bool has_process(const nvmlProcessInfo_t *p, unsigned n, unsigned pid, unsigned long long *memory)
{
	for (unsigned i = 0; i < n; i++)
		if (p[i].pid == pid) {
			*memory = p[i].usedGpuMemory;
			return true;
		}
	return false;
}

/* This process has a context and 32 MiB on the first device, and none on the others. */
static void nvtop_processes(nvmlDevice_t d, bool used)
{
	nvmlProcessInfo_t p[256];
	nvmlProcessUtilizationSample_t s[256];
	unsigned long long memory = 0;
	unsigned n = 0;

	nvmlReturn_t r = f.nvmlDeviceGetComputeRunningProcesses_v3(d, &n, NULL);
	CHECK(n ? r == NVML_ERROR_INSUFFICIENT_SIZE : r == NVML_SUCCESS);
	n = 256;
	CHECK_EQ(f.nvmlDeviceGetComputeRunningProcesses_v3(d, &n, p), 0);
	CHECK_EQ(has_process(p, n, (unsigned)getpid(), &memory), used);
	if (used)
		CHECK(memory >= 32u << 20 && memory < 256u << 20);
	n = 256;
	CHECK_EQ(f.nvmlDeviceGetComputeRunningProcesses_v2(d, &n, p), 0);
	n = 256;
	CHECK_EQ(f.nvmlDeviceGetGraphicsRunningProcesses_v3(d, &n, p), 0);
	CHECK_EQ(n, 0);
	n = 256;
	CHECK_EQ(f.nvmlDeviceGetMPSComputeRunningProcesses_v3(d, &n, p), 0);
	CHECK_EQ(n, 0);
	n = 0;
	r = f.nvmlDeviceGetProcessUtilization(d, NULL, &n, 0);
	CHECK(n ? r == NVML_ERROR_INSUFFICIENT_SIZE : r == NVML_ERROR_NOT_FOUND);
	n = 256;
	r = f.nvmlDeviceGetProcessUtilization(d, s, &n, 0);
	CHECK(used ? r == NVML_SUCCESS && n >= 1 : r == NVML_SUCCESS || r == NVML_ERROR_NOT_FOUND);
}

static void nvtop(void)
{
	unsigned count;

	look_up("nvtop",
		NAMES("nvmlInit_v2", "nvmlInit", "nvmlShutdown", "nvmlErrorString", "nvmlDeviceGetCount_v2",
			"nvmlDeviceGetHandleByIndex_v2", "nvmlDeviceGetName", "nvmlDeviceGetPciInfo_v3",
			"nvmlDeviceGetPciInfo_v2", "nvmlDeviceGetPciInfo", "nvmlDeviceGetMaxPcieLinkGeneration",
			"nvmlDeviceGetMaxPcieLinkWidth", "nvmlDeviceGetCurrPcieLinkGeneration",
			"nvmlDeviceGetCurrPcieLinkWidth", "nvmlDeviceGetTemperatureThreshold", "nvmlDeviceGetClockInfo",
			"nvmlDeviceGetMaxClockInfo", "nvmlDeviceGetUtilizationRates", "nvmlDeviceGetMemoryInfo_v2",
			"nvmlDeviceGetMemoryInfo", "nvmlDeviceGetPcieThroughput", "nvmlDeviceGetFanSpeed",
			"nvmlDeviceGetTemperature", "nvmlDeviceGetPowerUsage", "nvmlDeviceGetEnforcedPowerLimit",
			"nvmlDeviceGetEncoderUtilization", "nvmlDeviceGetDecoderUtilization",
			"nvmlDeviceGetGraphicsRunningProcesses_v3", "nvmlDeviceGetComputeRunningProcesses_v3",
			"nvmlDeviceGetComputeRunningProcesses_v2", "nvmlDeviceGetMPSComputeRunningProcesses_v3",
			"nvmlDeviceGetProcessUtilization", "nvmlDeviceGetMigMode"));
	CHECK_EQ(f.nvmlInit_v2(), 0);
	CHECK_EQ(f.nvmlDeviceGetCount_v2(&count), 0);
	for (unsigned i = 0; i < count; i++) {
		nvmlMemory_v2_t m = {.version = NVML_SIZED(nvmlMemory_v2_t, 2)};
		nvmlPciInfo_t pci, old;
		nvmlDevice_t d;

		CHECK_EQ(f.nvmlDeviceGetHandleByIndex_v2(i, &d), 0);
		CHECK_EQ(f.nvmlDeviceGetPciInfo_v3(d, &pci), 0);
		CHECK(!strcasecmp(pci.busIdLegacy, truth[i].pci));
		CHECK(!strncmp(pci.busId, "0000", 4) && !strcasecmp(pci.busId + 4, truth[i].pci));
		memset(&old, 0x55, sizeof old);
		CHECK_EQ(f.nvmlDeviceGetPciInfo_v2(d, &old), 0);
		CHECK(!strcasecmp(old.busIdLegacy, truth[i].pci) && old.bus == pci.bus);
		CHECK_EQ(((unsigned char *)&old)[52], 0x55); /* the struct was shorter in that version */
		memset(&old, 0x55, sizeof old);
		CHECK_EQ(f.nvmlDeviceGetPciInfo(d, &old), 0);
		CHECK(!strcasecmp(old.busIdLegacy, truth[i].pci));
		CHECK_EQ(((unsigned char *)&old)[32], 0x55);
		CHECK_EQ(f.nvmlDeviceGetMemoryInfo_v2(d, &m), 0);
		CHECK_EQ(m.total, truth[i].total);
		m.version = NVML_SIZED(nvmlMemory_v2_t, 9);
		CHECK_EQ(f.nvmlDeviceGetMemoryInfo_v2(d, &m), NVML_ERROR_ARGUMENT_VERSION_MISMATCH);
		m.version = ~0u;
		CHECK_EQ(f.nvmlDeviceGetMemoryInfo_v2(d, &m), NVML_ERROR_ARGUMENT_VERSION_MISMATCH);
		m.version = 0;
		CHECK_EQ(f.nvmlDeviceGetMemoryInfo_v2(d, &m), NVML_ERROR_ARGUMENT_VERSION_MISMATCH);
		nvtop_values(d, &truth[i]);
		nvtop_processes(d, i == 0);
	}
	CHECK_EQ(f.nvmlShutdown(), 0);
}

/* ---- btop: names without versions only ---- */

static void btop(void)
{
	unsigned count = 0, a, b;
	nvmlPstates_t state;
	char name[NVML_DEVICE_NAME_BUFFER_SIZE];

	look_up("btop", NAMES("nvmlErrorString", "nvmlInit", "nvmlShutdown", "nvmlDeviceGetCount",
				"nvmlDeviceGetHandleByIndex", "nvmlDeviceGetName", "nvmlDeviceGetPowerManagementLimit",
				"nvmlDeviceGetTemperatureThreshold", "nvmlDeviceGetUtilizationRates",
				"nvmlDeviceGetClockInfo", "nvmlDeviceGetPowerUsage", "nvmlDeviceGetPowerState",
				"nvmlDeviceGetTemperature", "nvmlDeviceGetMemoryInfo", "nvmlDeviceGetPcieThroughput",
				"nvmlDeviceGetEncoderUtilization", "nvmlDeviceGetDecoderUtilization"));
	CHECK_EQ(f.nvmlInit(), 0);
	CHECK_EQ(f.nvmlDeviceGetCount(&count), 0);
	CHECK_EQ(count, ndevices);
	for (unsigned i = 0; i < count; i++) {
		nvmlDevice_t d;

		CHECK_EQ(f.nvmlDeviceGetHandleByIndex(i, &d), 0);
		CHECK_EQ(f.nvmlDeviceGetName(d, name, sizeof name), 0);
		CHECK_EQ(f.nvmlDeviceGetPowerManagementLimit(d, &a), NVML_ERROR_NOT_SUPPORTED);
		CHECK_EQ(f.nvmlDeviceGetPowerState(d, &state), NVML_ERROR_NOT_SUPPORTED);
		CHECK_EQ(f.nvmlDeviceGetEncoderUtilization(d, &a, &b), NVML_ERROR_NOT_SUPPORTED);
	}
	CHECK_EQ(f.nvmlShutdown(), 0);
	CHECK_EQ(f.nvmlShutdown(), NVML_ERROR_UNINITIALIZED);
}

/* ---- vLLM, through pynvml ---- */

static void vllm(void)
{
	unsigned count = 0;
	char text[96];
	int major, minor;

	look_up("vLLM", NAMES("nvmlInit_v2", "nvmlShutdown", "nvmlDeviceGetCount_v2", "nvmlDeviceGetHandleByIndex_v2",
				"nvmlDeviceGetName", "nvmlDeviceGetUUID", "nvmlDeviceGetMemoryInfo",
				"nvmlDeviceGetCudaComputeCapability", "nvmlDeviceGetP2PStatus"));
	CHECK_EQ(f.nvmlInit_v2(), 0);
	CHECK_EQ(f.nvmlDeviceGetCount_v2(&count), 0);
	CHECK(count > 0);
	for (unsigned i = 0; i < count; i++) {
		nvmlDevice_t d, other;
		nvmlGpuP2PStatus_t p2p;

		CHECK_EQ(f.nvmlDeviceGetHandleByIndex_v2(i, &d), 0);
		CHECK_EQ(f.nvmlDeviceGetUUID(d, text, sizeof text), 0);
		CHECK(!strcmp(text, truth[i].uuid));
		CHECK_EQ(f.nvmlDeviceGetUUID(d, text, 10), NVML_ERROR_INSUFFICIENT_SIZE);
		CHECK_EQ(f.nvmlDeviceGetCudaComputeCapability(d, &major, &minor), 0);
		CHECK(major == truth[i].major && minor == truth[i].minor);
		CHECK_EQ(f.nvmlDeviceGetHandleByIndex_v2((i + 1) % count, &other), 0);
		CHECK_EQ(f.nvmlDeviceGetP2PStatus(d, other, NVML_P2P_CAPS_INDEX_NVLINK, &p2p), 0);
		CHECK_EQ(p2p, NVML_P2P_STATUS_NOT_SUPPORTED);
	}
	CHECK_EQ(f.nvmlDeviceGetHandleByIndex_v2(count, &(nvmlDevice_t){0}), NVML_ERROR_INVALID_ARGUMENT);
	CHECK_EQ(f.nvmlShutdown(), 0);
}

/* ---- NCCL ---- */

static void nccl(void)
{
	union {
		nvmlGpuFabricInfoV_t fabric;
		nvmlPlatformInfo_t platform;
		nvmlSystemConfComputeSettings_t settings;
		nvmlConfComputeSystemState_t state;
		unsigned version;
	} u = {0};
	nvmlFieldValue_t fields[2] = {{.fieldId = 1}, {.fieldId = 2}};
	nvmlEnableState_t active;
	nvmlPciInfo_t pci;
	unsigned n = 0, index;

	look_up("NCCL",
		NAMES("nvmlInit_v2", "nvmlInit", "nvmlShutdown", "nvmlErrorString", "nvmlDeviceGetCount_v2",
			"nvmlDeviceGetHandleByPciBusId", "nvmlDeviceGetHandleByIndex", "nvmlDeviceGetIndex",
			"nvmlDeviceGetNvLinkState", "nvmlDeviceGetNvLinkRemotePciInfo", "nvmlDeviceGetNvLinkCapability",
			"nvmlDeviceGetCudaComputeCapability", "nvmlDeviceGetP2PStatus", "nvmlDeviceGetFieldValues",
			"nvmlDeviceGetGpuFabricInfoV", "nvmlSystemGetConfComputeState",
			"nvmlSystemGetConfComputeSettings", "nvmlDeviceGetPlatformInfo"));
	CHECK_EQ(f.nvmlInit_v2(), 0);
	CHECK_EQ(f.nvmlDeviceGetCount_v2(&n), 0);
	for (unsigned i = 0; i < n; i++) {
		nvmlDevice_t d, e;

		CHECK_EQ(f.nvmlDeviceGetHandleByIndex(i, &d), 0);
		CHECK_EQ(f.nvmlDeviceGetHandleByPciBusId(truth[i].pci, &e), 0);
		CHECK(d == e);
		CHECK_EQ(f.nvmlDeviceGetIndex(d, &index), 0);
		CHECK_EQ(index, i);
		CHECK_EQ(f.nvmlDeviceGetNvLinkState(d, 0, &active), NVML_ERROR_NOT_SUPPORTED);
		CHECK_EQ(f.nvmlDeviceGetNvLinkRemotePciInfo(d, 0, &pci), NVML_ERROR_NOT_SUPPORTED);
		CHECK_EQ(f.nvmlDeviceGetNvLinkCapability(d, 0, 0, &index), NVML_ERROR_NOT_SUPPORTED);
		CHECK_EQ(f.nvmlDeviceGetFieldValues(d, 2, fields), 0);
		CHECK_EQ(fields[0].nvmlReturn, NVML_ERROR_NOT_SUPPORTED);
		CHECK_EQ(fields[1].nvmlReturn, NVML_ERROR_NOT_SUPPORTED);
		CHECK_EQ(f.nvmlDeviceGetFieldValues(d, 0, fields), NVML_ERROR_INVALID_ARGUMENT);
		u.version = NVML_SIZED(nvmlGpuFabricInfoV_t, 3);
		CHECK_EQ(f.nvmlDeviceGetGpuFabricInfoV(d, &u.fabric), NVML_ERROR_NOT_SUPPORTED);
		u.version = NVML_SIZED(nvmlPlatformInfo_t, 2);
		CHECK_EQ(f.nvmlDeviceGetPlatformInfo(d, &u.platform), NVML_ERROR_NOT_SUPPORTED);
	}
	CHECK_EQ(f.nvmlSystemGetConfComputeState(&u.state), NVML_ERROR_NOT_SUPPORTED);
	u.version = NVML_SIZED(nvmlSystemConfComputeSettings_t, 1);
	CHECK_EQ(f.nvmlSystemGetConfComputeSettings(&u.settings), NVML_ERROR_NOT_SUPPORTED);
	CHECK_EQ(f.nvmlShutdown(), 0);
}

/* ---- NVML and CUDA report the same memory ---- */

static void memory_agrees(void)
{
	size_t left, total;
	nvmlMemory_t m;
	nvmlDevice_t d;

	look_up("this test",
		NAMES("nvmlInit_v2", "nvmlShutdown", "nvmlDeviceGetHandleByIndex_v2", "nvmlDeviceGetMemoryInfo"));
	CHECK_EQ(f.nvmlInit_v2(), 0);
	CHECK_EQ(f.nvmlDeviceGetHandleByIndex_v2(0, &d), 0);
	CHECK_EQ(cuMemGetInfo_v2(&left, &total), 0);
	CHECK_EQ(f.nvmlDeviceGetMemoryInfo(d, &m), 0);
	CHECK_EQ(m.free, left);
	CHECK_EQ(m.total, total);
	CHECK(m.used >= 32u << 20);
	CHECK_EQ(f.nvmlShutdown(), 0);
}

int main(int argc, char **argv)
{
	CUcontext context;
	CUdeviceptr memory;

	library = dlopen("libnvidia-ml.so.1", RTLD_LAZY);
	if (!library) {
		fprintf(stderr, "%s\n", dlerror());
		return 1;
	}
	ask_cuda();
	CHECK_EQ(cuCtxCreate_v2(&context, 0, 0), 0);
	CHECK_EQ(cuMemAlloc_v2(&memory, 32u << 20), 0);
	ollama_free_memory();
	ollama_discover();
	pytorch();
	nvtop();
	btop();
	vllm();
	nccl();
	memory_agrees();
	if (argc > 1)
		ask_runtime(argv[1]);
	printf("%d devices, %s\n", ndevices, truth[0].name);
	return RESULT();
}
