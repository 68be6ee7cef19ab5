/* Values of the devices cpu and null in NVML: memory, utilisation, clocks, temperature, and constants. */
#include "backend/nvml/machine.h"

#include <string.h>

#include "host/sensors.h"

/* ---- Memory ---- */

static void memory_read(const struct machine_device *d, nvmlMemory_t *m)
{
	uint64_t used = usage_total(machine.kind, d->physical, 0);

	m->total = d->memory;
	m->used = used < d->memory ? used : d->memory;
	m->free = m->total - m->used;
}

nvmlReturn_t machine_nvmlDeviceGetMemoryInfo(nvmlDevice_t device, nvmlMemory_t *memory)
{
	const struct machine_device *d = machine_find(device);

	if (!d || !memory)
		return NVML_ERROR_INVALID_ARGUMENT;
	memory_read(d, memory);
	return NVML_SUCCESS;
}

nvmlReturn_t machine_nvmlDeviceGetMemoryInfo_v2(nvmlDevice_t device, nvmlMemory_v2_t *memory)
{
	const struct machine_device *d = machine_find(device);
	nvmlMemory_t m;

	if (!d || !memory)
		return NVML_ERROR_INVALID_ARGUMENT;
	if (memory->version != NVML_SIZED(nvmlMemory_v2_t, 2))
		return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
	memory_read(d, &m);
	memory->total = m.total;
	memory->reserved = 0; /* the software driver reserves nothing */
	memory->free = m.free;
	memory->used = m.used;
	return NVML_SUCCESS;
}

nvmlReturn_t machine_nvmlDeviceGetMemoryBusWidth(nvmlDevice_t device, unsigned *width)
{
	const struct machine_device *d = machine_find(device);

	if (!d || !width)
		return NVML_ERROR_INVALID_ARGUMENT;
	if (!d->info.memory_bits)
		return NVML_ERROR_NOT_SUPPORTED;
	*width = (unsigned)d->info.memory_bits;
	return NVML_SUCCESS;
}

/* ---- Utilisation in the past second, by all processes ---- */

struct utilisation {
	int physical;
	unsigned kernels, memory;
};

static bool utilisation_add(const struct usage_page *p, void *arg)
{
	struct utilisation *l = arg;

	l->kernels += usage_percent(&p->device[l->physical], USAGE_KERNELS);
	l->memory += usage_percent(&p->device[l->physical], USAGE_MEMORY);
	return true;
}

nvmlReturn_t machine_nvmlDeviceGetUtilizationRates(nvmlDevice_t device, nvmlUtilization_t *rates)
{
	const struct machine_device *d = machine_find(device);

	if (!d || !rates)
		return NVML_ERROR_INVALID_ARGUMENT;
	struct utilisation l = {.physical = d->physical};
	usage_each(machine.kind, utilisation_add, &l);
	rates->gpu = l.kernels < 100 ? l.kernels : 100;
	rates->memory = l.memory < 100 ? l.memory : 100;
	return NVML_SUCCESS;
}

/* ---- Clocks: only that of the CPU ---- */

static bool is_core_clock(nvmlClockType_t type)
{
	return type == NVML_CLOCK_GRAPHICS || type == NVML_CLOCK_SM;
}

static bool is_cpu_device(void)
{
	return !strcmp(machine.kind, "cpu");
}

static nvmlReturn_t return_clock(nvmlDevice_t device, nvmlClockType_t type, int khz, unsigned *mhz)
{
	if (!machine_find(device) || !mhz || (unsigned)type >= NVML_CLOCK_COUNT)
		return NVML_ERROR_INVALID_ARGUMENT;
	if (!is_core_clock(type) || !is_cpu_device() || khz <= 0)
		return NVML_ERROR_NOT_SUPPORTED;
	*mhz = (unsigned)khz / 1000;
	return NVML_SUCCESS;
}

nvmlReturn_t machine_nvmlDeviceGetClockInfo(nvmlDevice_t device, nvmlClockType_t type, unsigned *mhz)
{
	return return_clock(device, type, sensors_clock_khz(), mhz);
}

nvmlReturn_t machine_nvmlDeviceGetMaxClockInfo(nvmlDevice_t device, nvmlClockType_t type, unsigned *mhz)
{
	const struct machine_device *d = machine_find(device);

	return return_clock(device, type, d ? d->info.clock_khz : 0, mhz);
}

nvmlReturn_t machine_nvmlDeviceGetClock(nvmlDevice_t device, nvmlClockType_t type, nvmlClockId_t id, unsigned *mhz)
{
	if ((unsigned)id >= NVML_CLOCK_ID_COUNT)
		return NVML_ERROR_INVALID_ARGUMENT;
	return return_clock(device, type, id == NVML_CLOCK_ID_CURRENT ? sensors_clock_khz() : 0, mhz);
}

/* ---- Temperature ---- */

nvmlReturn_t machine_nvmlDeviceGetTemperature(nvmlDevice_t device, nvmlTemperatureSensors_t sensor, unsigned *celsius)
{
	if (!machine_find(device) || !celsius || sensor != NVML_TEMPERATURE_GPU)
		return NVML_ERROR_INVALID_ARGUMENT;
	int t = is_cpu_device() ? sensors_temperature() : 0;
	if (t <= 0)
		return NVML_ERROR_NOT_SUPPORTED;
	*celsius = (unsigned)t;
	return NVML_SUCCESS;
}

nvmlReturn_t machine_nvmlDeviceGetTemperatureV(nvmlDevice_t device, nvmlTemperature_t *t)
{
	unsigned celsius;

	if (!t)
		return NVML_ERROR_INVALID_ARGUMENT;
	if (t->version != NVML_SIZED(nvmlTemperature_t, 1))
		return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
	nvmlReturn_t r = machine_nvmlDeviceGetTemperature(device, t->sensorType, &celsius);
	if (!r)
		t->temperature = (int)celsius;
	return r;
}

/* ---- Constants ---- */

static nvmlReturn_t return_number(nvmlDevice_t device, unsigned *to, unsigned value)
{
	if (!machine_find(device) || !to)
		return NVML_ERROR_INVALID_ARGUMENT;
	*to = value;
	return NVML_SUCCESS;
}

nvmlReturn_t machine_nvmlDeviceGetCudaComputeCapability(nvmlDevice_t device, int *major, int *minor)
{
	const struct machine_device *d = machine_find(device);

	if (!d || !major || !minor)
		return NVML_ERROR_INVALID_ARGUMENT;
	*major = d->info.major;
	*minor = d->info.minor;
	return NVML_SUCCESS;
}

nvmlReturn_t machine_nvmlDeviceGetBrand(nvmlDevice_t device, nvmlBrandType_t *brand)
{
	return return_number(device, brand, 0); /* unknown */
}

nvmlReturn_t machine_nvmlDeviceGetArchitecture(nvmlDevice_t device, nvmlDeviceArchitecture_t *arch)
{
	return return_number(device, arch, NVML_DEVICE_ARCH_UNKNOWN);
}

nvmlReturn_t machine_nvmlDeviceGetComputeMode(nvmlDevice_t device, nvmlComputeMode_t *mode)
{
	return return_number(device, mode, NVML_COMPUTEMODE_DEFAULT);
}

nvmlReturn_t machine_nvmlDeviceIsMigDeviceHandle(nvmlDevice_t device, unsigned *is_mig)
{
	return return_number(device, is_mig, 0);
}

nvmlReturn_t machine_nvmlDeviceGetMaxMigDeviceCount(nvmlDevice_t device, unsigned *count)
{
	return return_number(device, count, 0);
}

nvmlReturn_t machine_nvmlUnitGetCount(unsigned *count)
{
	if (!count)
		return NVML_ERROR_INVALID_ARGUMENT;
	*count = 0;
	return NVML_SUCCESS;
}

nvmlReturn_t machine_nvmlGetExcludedDeviceCount(unsigned *count)
{
	return machine_nvmlUnitGetCount(count);
}

/* All devices share the machine's memory, as cuDeviceGetP2PAttribute says; no NVLink connects them. */
nvmlReturn_t machine_nvmlDeviceGetP2PStatus(
	nvmlDevice_t device, nvmlDevice_t other, nvmlGpuP2PCapsIndex_t index, nvmlGpuP2PStatus_t *status)
{
	bool shares_memory = index == NVML_P2P_CAPS_INDEX_READ || index == NVML_P2P_CAPS_INDEX_WRITE ||
			     index == NVML_P2P_CAPS_INDEX_ATOMICS;

	if (!machine_find(device) || !machine_find(other) || !status || (unsigned)index >= NVML_P2P_CAPS_INDEX_UNKNOWN)
		return NVML_ERROR_INVALID_ARGUMENT;
	*status = shares_memory && device != other ? NVML_P2P_STATUS_OK : NVML_P2P_STATUS_NOT_SUPPORTED;
	return NVML_SUCCESS;
}

/* Each value has its own result; the call itself succeeds. */
nvmlReturn_t machine_nvmlDeviceGetFieldValues(nvmlDevice_t device, int count, nvmlFieldValue_t *values)
{
	if (!machine_find(device) || !values || count <= 0)
		return NVML_ERROR_INVALID_ARGUMENT;
	for (int i = 0; i < count; i++)
		values[i].nvmlReturn = NVML_ERROR_NOT_SUPPORTED;
	return NVML_SUCCESS;
}
