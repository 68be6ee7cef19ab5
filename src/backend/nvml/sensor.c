/* The list of sensor calls. */
#include "backend/nvml/sensor.h"

#include <stdint.h>
#include <string.h>
#include "backend/nvml/backend.h"
#include "wire/nvml.h"

static const unsigned sensor_calls[] = {
	NR_nvmlDeviceGetApplicationsClock,
	NR_nvmlDeviceGetClock,
	NR_nvmlDeviceGetClockInfo,
	NR_nvmlDeviceGetCurrPcieLinkGeneration,
	NR_nvmlDeviceGetCurrPcieLinkWidth,
	NR_nvmlDeviceGetCurrentClocksEventReasons,
	NR_nvmlDeviceGetDecoderUtilization,
	NR_nvmlDeviceGetDefaultApplicationsClock,
	NR_nvmlDeviceGetEncoderUtilization,
	NR_nvmlDeviceGetEnforcedPowerLimit,
	NR_nvmlDeviceGetFanSpeed,
	NR_nvmlDeviceGetFanSpeed_v2,
	NR_nvmlDeviceGetJpgUtilization,
	NR_nvmlDeviceGetMaxClockInfo,
	NR_nvmlDeviceGetMaxCustomerBoostClock,
	NR_nvmlDeviceGetOfaUtilization,
	NR_nvmlDeviceGetPcieReplayCounter,
	NR_nvmlDeviceGetPcieSpeed,
	NR_nvmlDeviceGetPerformanceState,
	NR_nvmlDeviceGetPowerManagementLimit,
	NR_nvmlDeviceGetPowerState,
	NR_nvmlDeviceGetPowerUsage,
	NR_nvmlDeviceGetTargetFanSpeed,
	NR_nvmlDeviceGetTemperature,
	NR_nvmlDeviceGetTemperatureThreshold,
	NR_nvmlDeviceGetTotalEnergyConsumption,
	NR_nvmlDeviceGetUtilizationRates,
	NR_nvmlDeviceGetViolationStatus,
};

/* The first members of struct wire_nvmlX for each call whose first argument is a device. */
struct args_head {
	uint32_t present;
	uint64_t device;
};

bool nvml_names_device(const void *args, size_t size)
{
	struct args_head h;

	if (size < sizeof h)
		return false;
	memcpy(&h, args, sizeof h);
	return nvml_handle_index((nvmlDevice_t)(uintptr_t)h.device, WIRE_NVML_DEVICES_MAX) >= 0;
}

bool nvml_is_sensor(unsigned op, const void *args, size_t size)
{
	for (size_t i = 0; i < sizeof sensor_calls / sizeof *sensor_calls; i++)
		if (op == WIRE_NVML + sensor_calls[i])
			return nvml_names_device(args, size);
	return false;
}
