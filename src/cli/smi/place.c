/* The place of a GPU in a chassis and in a fabric of GPUs. */
#include "cli/smi/value.h"

#include <string.h>
#include "cuda/uuid.h"

#define PUT(...)      (snprintf(text, SMI_TEXT, __VA_ARGS__), NVML_SUCCESS)
#define PLACE_UNKNOWN 255

/* ---- chassis ---- */

static nvmlReturn_t read_platform(const struct smi_gpu *g, nvmlPlatformInfo_t *p)
{
	nvmlReturn_t r = NVML_ERROR_NOT_SUPPORTED;

	for (unsigned version = 2; version; version--) {
		*p = (nvmlPlatformInfo_t){.version = NVML_SIZED(nvmlPlatformInfo_t, version)};
		r = g->f->nvmlDeviceGetPlatformInfo(g->device, p);
		if (r != NVML_ERROR_ARGUMENT_VERSION_MISMATCH)
			break;
	}
	return r;
}

/* -q omits the platform of GPUs before Blackwell; --query-gpu prints NVML's values for them. */
static bool shows_platform(const struct smi_gpu *g)
{
	nvmlDeviceArchitecture_t a;

	return !g->f->nvmlDeviceGetArchitecture(g->device, &a) && a >= NVML_DEVICE_ARCH_BLACKWELL &&
	       a != NVML_DEVICE_ARCH_UNKNOWN;
}

static nvmlReturn_t format_place(unsigned char v, char text[SMI_TEXT])
{
	return v == PLACE_UNKNOWN ? NVML_ERROR_NOT_SUPPORTED : PUT("%u", v);
}

static nvmlReturn_t format_chassis(const nvmlPlatformInfo_t *p, char text[SMI_TEXT])
{
	size_t n = 0;

	while (n < sizeof p->chassisSerialNumber && p->chassisSerialNumber[n] > ' ' && p->chassisSerialNumber[n] < 127)
		n++;
	return PUT("%.*s", (int)n, (const char *)p->chassisSerialNumber);
}

nvmlReturn_t value_platform(const struct smi_gpu *g, int what, char text[SMI_TEXT])
{
	static const char *const peers[] = {"Direct Connected", "Switch Connected"};
	nvmlPlatformInfo_t p;
	unsigned long long guid;
	nvmlReturn_t r;

	if (what & PLATFORM_LISTED && !shows_platform(g))
		return NVML_ERROR_NOT_SUPPORTED;
	r = read_platform(g, &p);
	if (r)
		return r;
	switch (what & ~PLATFORM_LISTED) {
	case PLATFORM_CHASSIS:
		return format_chassis(&p, text);
	case PLATFORM_SLOT:
		return format_place(p.slotNumber, text);
	case PLATFORM_TRAY:
		return format_place(p.trayIndex, text);
	case PLATFORM_HOST:
		return PUT("%u", p.hostId);
	case PLATFORM_PEER:
		return p.peerType < 2 ? PUT("%s", peers[p.peerType]) : NVML_ERROR_UNKNOWN;
	default:
		memcpy(&guid, p.ibGuid, sizeof guid);
		return PUT("0x%016llx", guid);
	}
}

/* ---- fabric ---- */

static nvmlReturn_t read_fabric(const struct smi_gpu *g, nvmlGpuFabricInfoV_t *i)
{
	nvmlReturn_t r;

	*i = (nvmlGpuFabricInfoV_t){.version = NVML_SIZED(nvmlGpuFabricInfo_v3_t, 3)};
	r = g->f->nvmlDeviceGetGpuFabricInfoV(g->device, i);
	if (r != NVML_ERROR_ARGUMENT_VERSION_MISMATCH)
		return r;
	*i = (nvmlGpuFabricInfoV_t){.version = NVML_SIZED(nvmlGpuFabricInfo_v2_t, 2)}; /* a prefix of version 3 */
	return g->f->nvmlDeviceGetGpuFabricInfoV(g->device, i);
}

static const char *list_word(const char *const *words, unsigned count, unsigned n)
{
	return n < count ? words[n] : "N/A";
}

#define WORD(words, n)  list_word(words, sizeof words / sizeof *words, n)
#define SHIFT_PARTITION 12 /* newer than the headers of CUDA 13.0 */

/* Format one value of the health mask; without a summary, all are N/A. */
static const char *fabric_health(const nvmlGpuFabricInfoV_t *i, int what)
{
	static const char *const summaries[] = {"N/A", "Healthy", "Unhealthy", "Limited Capacity"};
	static const char *const bandwidths[] = {"N/A", "Degraded", "Full"};
	static const char *const answers[] = {"N/A", "True", "False"};
	/* The first two and No Partition are as nvidia-smi prints them, the others as in NVML's documentation. */
	static const char *const mistakes[] = {"N/A", "None", "Incorrect SysGUID", "Incorrect Chassis Serial Number",
		"No Partition", "Insufficient Nvlinks", "Incompatible GPU Firmware", "Invalid Location"};
	static const unsigned shifts[] = {
		[FABRIC_BANDWIDTH] = NVML_GPU_FABRIC_HEALTH_MASK_SHIFT_DEGRADED_BW,
		[FABRIC_ROUTE_RECOVERY] = NVML_GPU_FABRIC_HEALTH_MASK_SHIFT_ROUTE_RECOVERY,
		[FABRIC_ROUTE_UNHEALTHY] = NVML_GPU_FABRIC_HEALTH_MASK_SHIFT_ROUTE_UNHEALTHY,
		[FABRIC_TIMEOUT_RECOVERY] = NVML_GPU_FABRIC_HEALTH_MASK_SHIFT_ACCESS_TIMEOUT_RECOVERY,
		[FABRIC_CONFIGURATION] = NVML_GPU_FABRIC_HEALTH_MASK_SHIFT_INCORRECT_CONFIGURATION,
		[FABRIC_PARTITION] = SHIFT_PARTITION,
	};
	bool summed = i->version == NVML_SIZED(nvmlGpuFabricInfo_v3_t, 3);
	unsigned bits = i->healthMask >> shifts[what];

	if (what == FABRIC_SUMMARY || (summed && !i->healthSummary))
		return summed ? WORD(summaries, i->healthSummary) : "N/A";
	if (what == FABRIC_CONFIGURATION)
		return WORD(mistakes, bits & 15);
	return what == FABRIC_BANDWIDTH ? WORD(bandwidths, bits & 3) : WORD(answers, bits & 3);
}

/* Missing values are N/A without brackets, also in --query-gpu. */
nvmlReturn_t value_fabric(const struct smi_gpu *g, int what, char text[SMI_TEXT])
{
	static const char *const states[] = {"N/A", "Not Started", "In Progress", "Completed"};
	nvmlGpuFabricInfoV_t i;
	nvmlReturn_t r = read_fabric(g, &i);
	char uuid[UUID_TEXT];

	if (r && strcmp(value_missing(r), "N/A"))
		return r;
	if (r || i.state == NVML_GPU_FABRIC_STATE_NOT_SUPPORTED)
		return PUT("N/A");
	if (what == FABRIC_STATE)
		return PUT("%s", WORD(states, i.state));
	if (what >= FABRIC_SUMMARY)
		return PUT("%s", fabric_health(&i, what));
	if (i.state != NVML_GPU_FABRIC_STATE_COMPLETED) /* has no place yet */
		return PUT("N/A");
	switch (what) {
	case FABRIC_STATUS:
		return PUT("%s", g->f->nvmlErrorString(i.status));
	case FABRIC_CLIQUE:
		return PUT("%u", i.cliqueId);
	default:
		uuid_text(i.clusterUuid, uuid);
		return PUT("%s", uuid + strlen("GPU-"));
	}
}
