/* Query single values from NVML, and format them as nvidia-smi does. */
#include "cli/smi/value.h"

#include <string.h>
#include <time.h>

#define PUT(...) (snprintf(text, SMI_TEXT, __VA_ARGS__), NVML_SUCCESS)

const char *value_missing(nvmlReturn_t r)
{
	switch (r) {
	case NVML_ERROR_DEPRECATED:
		return "Requested functionality has been deprecated";
	case NVML_ERROR_NO_PERMISSION:
		return "Insufficient Permissions";
	case NVML_ERROR_GPU_IS_LOST:
		return "GPU is lost";
	case NVML_ERROR_RESET_REQUIRED:
		return "GPU requires reset";
	case NVML_ERROR_UNKNOWN:
		return "Unknown Error";
	default:
		return "N/A";
	}
}

/* Rounded to the nearest. */
unsigned long long value_mib(unsigned long long bytes)
{
	return (bytes + (1 << 19)) >> 20;
}

nvmlReturn_t value_none(const struct smi_gpu *g, int what, char text[SMI_TEXT])
{
	(void)g, (void)what, (void)text;
	return NVML_ERROR_NOT_SUPPORTED;
}

/* ---- texts ---- */

nvmlReturn_t value_time(const struct smi_gpu *g, int what, char text[SMI_TEXT])
{
	struct timespec t;
	struct tm tm;
	char date[64];

	(void)g, (void)what;
	clock_gettime(CLOCK_REALTIME, &t);
	localtime_r(&t.tv_sec, &tm);
	strftime(date, sizeof date, "%Y/%m/%d %H:%M:%S", &tm);
	return PUT("%s.%03ld", date, t.tv_nsec / 1000000);
}

nvmlReturn_t value_text(const struct smi_gpu *g, int what, char text[SMI_TEXT])
{
	const struct nvml_ops *f = g->f;
	nvmlHostname_v1_t host;
	nvmlReturn_t r;

	switch (what) {
	case TEXT_DRIVER:
		return f->nvmlSystemGetDriverVersion(text, SMI_TEXT);
	case TEXT_NAME:
		return f->nvmlDeviceGetName(g->device, text, SMI_TEXT);
	case TEXT_SERIAL:
		return f->nvmlDeviceGetSerial(g->device, text, SMI_TEXT);
	case TEXT_UUID:
		return f->nvmlDeviceGetUUID(g->device, text, SMI_TEXT);
	case TEXT_VBIOS:
		return f->nvmlDeviceGetVbiosVersion(g->device, text, SMI_TEXT);
	case TEXT_PART:
		return f->nvmlDeviceGetBoardPartNumber(g->device, text, SMI_TEXT);
	case TEXT_IMAGE:
		return f->nvmlDeviceGetInforomImageVersion(g->device, text, SMI_TEXT);
	case TEXT_GSP:
		return f->nvmlDeviceGetGspFirmwareVersion(g->device, text);
	case TEXT_HOST:
		r = f->nvmlDeviceGetHostname_v1(g->device, &host);
		return r ? r : PUT("%.64s", (const char *)host.bytes);
	default:
		return f->nvmlDeviceGetInforomVersion(
			g->device, (nvmlInforomObject_t)(what - TEXT_INFOROM), text, SMI_TEXT);
	}
}

/* ---- PCI ---- */

nvmlReturn_t value_pci(const struct smi_gpu *g, int what, char text[SMI_TEXT])
{
	const nvmlPciInfo_t *p = &g->pci;
	nvmlPciInfoExt_t e = {.version = NVML_SIZED(nvmlPciInfoExt_t, 1)};
	nvmlReturn_t r = NVML_SUCCESS;

	switch (what) {
	case PCI_ID:
		return PUT("%s", p->busId);
	case PCI_DOMAIN:
		return PUT("0x%04X", p->domain);
	case PCI_BUS:
		return PUT("0x%02X", p->bus);
	case PCI_DEVICE:
		return PUT("0x%02X", p->device);
	case PCI_IDS:
		return p->pciDeviceId ? PUT("0x%08X", p->pciDeviceId) : NVML_ERROR_NOT_SUPPORTED;
	case PCI_SUBSYSTEM:
		return p->pciDeviceId ? PUT("0x%08X", p->pciSubSystemId) : NVML_ERROR_NOT_SUPPORTED;
	default:
		r = g->f->nvmlDeviceGetPciInfoExt(g->device, &e);
		return r ? r : PUT("0x%X", what == PCI_CLASS ? e.baseClass : e.subClass);
	}
}

/* ---- plain numbers ---- */

static nvmlReturn_t read_number(const struct smi_gpu *g, int what, unsigned *v)
{
	const struct nvml_ops *f = g->f;
	unsigned other;

	switch (what) {
	case NUMBER_GEN:
		return f->nvmlDeviceGetCurrPcieLinkGeneration(g->device, v);
	case NUMBER_GEN_MAX:
		return f->nvmlDeviceGetMaxPcieLinkGeneration(g->device, v);
	case NUMBER_GEN_DEVICE_MAX:
		return f->nvmlDeviceGetGpuMaxPcieLinkGeneration(g->device, v);
	case NUMBER_WIDTH:
		return f->nvmlDeviceGetCurrPcieLinkWidth(g->device, v);
	case NUMBER_WIDTH_MAX:
		return f->nvmlDeviceGetMaxPcieLinkWidth(g->device, v);
	case NUMBER_ACCOUNTING:
		return f->nvmlDeviceGetAccountingBufferSize(g->device, v);
	case NUMBER_FAN:
		return f->nvmlDeviceGetFanSpeed(g->device, v);
	case NUMBER_TEMPERATURE:
		return f->nvmlDeviceGetTemperature(g->device, NVML_TEMPERATURE_GPU, v);
	case NUMBER_ENCODER:
		return f->nvmlDeviceGetEncoderUtilization(g->device, v, &other);
	case NUMBER_DECODER:
		return f->nvmlDeviceGetDecoderUtilization(g->device, v, &other);
	case NUMBER_JPEG:
		return f->nvmlDeviceGetJpgUtilization(g->device, v, &other);
	case NUMBER_OFA:
		return f->nvmlDeviceGetOfaUtilization(g->device, v, &other);
	case NUMBER_MINOR:
		return f->nvmlDeviceGetMinorNumber(g->device, v);
	case NUMBER_TX:
		return f->nvmlDeviceGetPcieThroughput(g->device, NVML_PCIE_UTIL_TX_BYTES, v);
	case NUMBER_RX:
		return f->nvmlDeviceGetPcieThroughput(g->device, NVML_PCIE_UTIL_RX_BYTES, v);
	case NUMBER_REPLAYS:
		return f->nvmlDeviceGetPcieReplayCounter(g->device, v);
	case NUMBER_MODULE:
		return f->nvmlDeviceGetModuleId(g->device, v);
	default:
		return NVML_ERROR_NOT_SUPPORTED;
	}
}

nvmlReturn_t value_number(const struct smi_gpu *g, int what, char text[SMI_TEXT])
{
	unsigned v = what == NUMBER_INDEX ? g->index : g->count;
	nvmlReturn_t r = what == NUMBER_INDEX || what == NUMBER_COUNT ? NVML_SUCCESS : read_number(g, what, &v);

	return r ? r : PUT("%u", v);
}

nvmlReturn_t value_board(const struct smi_gpu *g, int what, char text[SMI_TEXT])
{
	unsigned v;
	nvmlReturn_t r = g->f->nvmlDeviceGetBoardId(g->device, &v);

	(void)what;
	return r ? r : PUT("0x%x", v);
}

/* ---- on and off ---- */

static nvmlReturn_t read_state(const struct smi_gpu *g, int what, unsigned *v)
{
	const struct nvml_ops *f = g->f;
	nvmlEnableState_t a = 0, b = 0;
	nvmlDramEncryptionInfo_t now = {.version = NVML_SIZED(nvmlDramEncryptionInfo_t, 1)}, later = now;
	nvmlC2cModeInfo_v1_t c2c = {0};
	nvmlReturn_t r = NVML_ERROR_NOT_SUPPORTED;
	unsigned x = 0, y = 0;

	switch (what) {
	case STATE_DISPLAY:
		r = f->nvmlDeviceGetDisplayActive(g->device, &a);
		break;
	case STATE_PERSISTENCE:
		r = f->nvmlDeviceGetPersistenceMode(g->device, &a);
		break;
	case STATE_ACCOUNTING:
		r = f->nvmlDeviceGetAccountingMode(g->device, &a);
		break;
	case STATE_ECC:
	case STATE_ECC_PENDING:
		r = f->nvmlDeviceGetEccMode(g->device, &a, &b);
		break;
	case STATE_MIG:
	case STATE_MIG_PENDING:
		r = f->nvmlDeviceGetMigMode(g->device, &x, &y);
		a = x, b = y;
		break;
	case STATE_GSP:
	case STATE_GSP_DEFAULT:
		r = f->nvmlDeviceGetGspFirmwareMode(g->device, &x, &y);
		a = x, b = y;
		break;
	case STATE_AUTOBOOST:
	case STATE_AUTOBOOST_DEFAULT:
		r = f->nvmlDeviceGetAutoBoostedClocksEnabled(g->device, &a, &b);
		break;
	case STATE_DRAM:
	case STATE_DRAM_PENDING:
		r = f->nvmlDeviceGetDramEncryptionMode(g->device, &now, &later);
		a = now.encryptionState, b = later.encryptionState;
		break;
	case STATE_POWER:
		r = f->nvmlDeviceGetPowerManagementMode(g->device, &a);
		break;
	case STATE_C2C:
		r = f->nvmlDeviceGetC2cModeInfoV(g->device, &c2c);
		a = c2c.isC2cEnabled ? NVML_FEATURE_ENABLED : NVML_FEATURE_DISABLED;
		break;
	}
	*v = what & STATE_SECOND ? b : a;
	return r;
}

nvmlReturn_t value_state(const struct smi_gpu *g, int what, char text[SMI_TEXT])
{
	unsigned v = 0;
	nvmlReturn_t r = read_state(g, what, &v);

	return r ? r : PUT("%s", v ? "Enabled" : "Disabled");
}

/* NVML's display mode is shown as "display attached"; nvidia-smi reports the old name as deprecated. */
nvmlReturn_t value_display(const struct smi_gpu *g, int what, char text[SMI_TEXT])
{
	nvmlEnableState_t v;
	nvmlReturn_t r = g->f->nvmlDeviceGetDisplayMode(g->device, &v);

	if (r || what == DISPLAY_MODE)
		return r ? r : NVML_ERROR_DEPRECATED;
	return PUT("%s", v ? "Yes" : "No");
}

nvmlReturn_t value_inforom(const struct smi_gpu *g, int what, char text[SMI_TEXT])
{
	nvmlReturn_t r = g->f->nvmlDeviceValidateInforom(g->device);

	(void)what;
	return r ? r : PUT("valid");
}

nvmlReturn_t value_egm(const struct smi_gpu *g, int what, char text[SMI_TEXT])
{
	nvmlDeviceCapabilities_t c = {.version = NVML_SIZED(nvmlDeviceCapabilities_t, 1)};
	nvmlReturn_t r = g->f->nvmlDeviceGetCapabilities(g->device, &c);

	(void)what;
	return r ? r : PUT("%s", c.capMask & NVML_DEV_CAP_EGM ? "enabled" : "disabled");
}

nvmlReturn_t value_multi(const struct smi_gpu *g, int what, char text[SMI_TEXT])
{
	unsigned v;
	nvmlReturn_t r = g->f->nvmlDeviceGetMultiGpuBoard(g->device, &v);

	(void)what;
	return r ? r : PUT("%s", v ? "Yes" : "No");
}

/* ---- named values ---- */

nvmlReturn_t value_brand(const struct smi_gpu *g, int what, char text[SMI_TEXT])
{
	static const char *const names[] = {"Unknown", "Quadro", "Tesla", "NVS", "GRID", "GeForce", "Titan",
		"NVIDIA Virtual Applications", "NVIDIA Virtual PC", "NVIDIA Virtual Compute Server",
		"NVIDIA RTX Virtual Workstation", "NVIDIA Cloud Gaming", "Quadro RTX", "NVIDIA RTX", "NVIDIA",
		"GeForce RTX", "TITAN RTX"};
	nvmlBrandType_t v;
	nvmlReturn_t r = g->f->nvmlDeviceGetBrand(g->device, &v);

	(void)what;
	return r ? r : PUT("%s", v < sizeof names / sizeof *names ? names[v] : "Unknown");
}

nvmlReturn_t value_architecture(const struct smi_gpu *g, int what, char text[SMI_TEXT])
{
	static const char *const names[] = {NULL, NULL, "Kepler", "Maxwell", "Pascal", "Volta", "Turing", "Ampere",
		"Ada Lovelace", "Hopper", "Blackwell"};
	nvmlDeviceArchitecture_t v;
	nvmlReturn_t r = g->f->nvmlDeviceGetArchitecture(g->device, &v);

	(void)what;
	return r ? r : PUT("%s", v < sizeof names / sizeof *names && names[v] ? names[v] : "Unknown");
}

nvmlReturn_t value_compute_mode(const struct smi_gpu *g, int what, char text[SMI_TEXT])
{
	static const char *const names[] = {"Default", "Exclusive_Thread", "Prohibited", "Exclusive_Process"};
	nvmlComputeMode_t v;
	nvmlReturn_t r = g->f->nvmlDeviceGetComputeMode(g->device, &v);

	(void)what;
	return r ? r : PUT("%s", (unsigned)v < 4 ? names[v] : "Unknown");
}

nvmlReturn_t value_addressing(const struct smi_gpu *g, int what, char text[SMI_TEXT])
{
	static const char *const names[] = {"None", "HMM", "ATS"};
	nvmlDeviceAddressingMode_t m = {.version = NVML_SIZED(nvmlDeviceAddressingMode_t, 1)};
	nvmlReturn_t r = g->f->nvmlDeviceGetAddressingMode(g->device, &m);

	(void)what;
	return r ? r : PUT("%s", m.value < 3 ? names[m.value] : "Unknown");
}

nvmlReturn_t value_virtual(const struct smi_gpu *g, int what, char text[SMI_TEXT])
{
	static const char *const names[] = {"None", "Pass-Through", "VGPU", "Host VGPU", "Host VSGA"};
	nvmlGpuVirtualizationMode_t v;
	nvmlReturn_t r = g->f->nvmlDeviceGetVirtualizationMode(g->device, &v);

	(void)what;
	return r ? r : PUT("%s", (unsigned)v < 5 ? names[v] : "Unknown");
}

nvmlReturn_t value_capability(const struct smi_gpu *g, int what, char text[SMI_TEXT])
{
	int major, minor;
	nvmlReturn_t r = g->f->nvmlDeviceGetCudaComputeCapability(g->device, &major, &minor);

	(void)what;
	return r ? r : PUT("%d.%d", major, minor);
}

nvmlReturn_t value_pstate(const struct smi_gpu *g, int what, char text[SMI_TEXT])
{
	nvmlPstates_t v;
	nvmlReturn_t r = g->f->nvmlDeviceGetPerformanceState(g->device, &v);

	(void)what;
	if (r || v == NVML_PSTATE_UNKNOWN)
		return r ? r : NVML_ERROR_NOT_SUPPORTED;
	return PUT("P%u", (unsigned)v);
}
