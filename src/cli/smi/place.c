/* Where a GPU is: in which chassis, and in which fabric of GPUs. */
#include "cli/smi/value.h"

#include <string.h>
#include "cuda/uuid.h"

#define PUT(...) (snprintf(text, SMI_TEXT, __VA_ARGS__), NVML_SUCCESS)
#define NOWHERE  255

/* ---- in a chassis ---- */

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

/* -q is silent about GPUs that are older than such chassis; --query-gpu writes what NVML has put there for them. */
static bool is_listed(const struct smi_gpu *g)
{
	nvmlDeviceArchitecture_t a;

	return !g->f->nvmlDeviceGetArchitecture(g->device, &a) && a >= NVML_DEVICE_ARCH_BLACKWELL &&
	       a != NVML_DEVICE_ARCH_UNKNOWN;
}

static nvmlReturn_t put_place(unsigned char v, char text[SMI_TEXT])
{
	return v == NOWHERE ? NVML_ERROR_NOT_SUPPORTED : PUT("%u", v);
}

static nvmlReturn_t put_chassis(const nvmlPlatformInfo_t *p, char text[SMI_TEXT])
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

	if (what & PLATFORM_LISTED && !is_listed(g))
		return NVML_ERROR_NOT_SUPPORTED;
	r = read_platform(g, &p);
	if (r)
		return r;
	switch (what & ~PLATFORM_LISTED) {
	case PLATFORM_CHASSIS:
		return put_chassis(&p, text);
	case PLATFORM_SLOT:
		return put_place(p.slotNumber, text);
	case PLATFORM_TRAY:
		return put_place(p.trayIndex, text);
	case PLATFORM_HOST:
		return PUT("%u", p.hostId);
	case PLATFORM_PEER:
		return p.peerType < 2 ? PUT("%s", peers[p.peerType]) : NVML_ERROR_UNKNOWN;
	default:
		memcpy(&guid, p.ibGuid, sizeof guid);
		return PUT("0x%016llx", guid);
	}
}

/* ---- in a fabric ---- */

static nvmlReturn_t read_fabric(const struct smi_gpu *g, nvmlGpuFabricInfoV_t *i)
{
	nvmlReturn_t r;

	*i = (nvmlGpuFabricInfoV_t){.version = NVML_SIZED(nvmlGpuFabricInfo_v3_t, 3)};
	r = g->f->nvmlDeviceGetGpuFabricInfoV(g->device, i);
	if (r != NVML_ERROR_ARGUMENT_VERSION_MISMATCH)
		return r;
	*i = (nvmlGpuFabricInfoV_t){.version = NVML_SIZED(nvmlGpuFabricInfo_v2_t, 2)}; /* as the third, but shorter */
	return g->f->nvmlDeviceGetGpuFabricInfoV(g->device, i);
}

static const char *word(const char *const *words, unsigned count, unsigned n)
{
	return n < count ? words[n] : "N/A";
}

#define WORD(words, n)  word(words, sizeof words / sizeof *words, n)
#define SHIFT_PARTITION 12 /* later than the rest: in no header of CUDA 13.0 */

/* One question of the mask; where there is no summary, none of them has been answered. */
static const char *health(const nvmlGpuFabricInfoV_t *i, int what)
{
	static const char *const summaries[] = {"N/A", "Healthy", "Unhealthy", "Limited Capacity"};
	static const char *const bandwidths[] = {"N/A", "Degraded", "Full"};
	static const char *const answers[] = {"N/A", "True", "False"};
	/* the first two and No Partition as nvidia-smi is known to write them, the others as NVML's documentation does */
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

/* What is not there is N/A itself here, in --query-gpu too: without the brackets that other values have. */
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
		return PUT("%s", health(&i, what));
	if (i.state != NVML_GPU_FABRIC_STATE_COMPLETED) /* until then nobody has given it a place */
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
