/*
 * A vendor's NVML with a private table as release 580 has it, to be served: what it does not say itself, the library
 * that it is linked with says, a copy of our own (vendor.sh).
 *
 * nvmlDeviceGetDriverModel_v2 and nvmlDeviceGetGpuOperationMode are as NVIDIA's: they take NULLs for what is not wanted.
 *
 * Its GPU is in a rack: of what is said of that, STANDIN_OLD knows the older versions alone.  STANDIN_ARCH: the GPU's
 * own generation; STANDIN_STATE and STANDIN_HEALTH: of its fabric.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "abi/nvml.h"

#pragma GCC diagnostic ignored "-Wmissing-prototypes"

static nvmlReturn_t number(nvmlDevice_t device, unsigned *value)
{
	if (!device || !value)
		return NVML_ERROR_INVALID_ARGUMENT;
	*value = 580;
	return NVML_SUCCESS;
}

static nvmlReturn_t no_number(nvmlDevice_t device, unsigned *value)
{
	return device && value ? NVML_ERROR_NOT_SUPPORTED : NVML_ERROR_INVALID_ARGUMENT;
}

static nvmlReturn_t part(nvmlDevice_t device, char *text, unsigned length)
{
	if (!device || length != 80)
		return NVML_ERROR_INVALID_ARGUMENT;
	snprintf(text, length, "2335-895-A1");
	return NVML_SUCCESS;
}

/* A text that fills its room, and has no end. */
static nvmlReturn_t field_unit(nvmlDevice_t device, char *text, unsigned length)
{
	if (!device || length != 20)
		return NVML_ERROR_INVALID_ARGUMENT;
	memset(text, 'F', length);
	return NVML_SUCCESS;
}

nvmlReturn_t nvmlInternalGetExportTable(const void **out, const void *id)
{
	static const void *table[270];

	(void)id;
	table[0] = (const void *)sizeof table;
	table[230] = no_number;
	table[231] = part;
	table[232] = table[249] = number;
	table[237] = field_unit;
	*out = table;
	return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetDriverModel_v2(nvmlDevice_t device, unsigned *current, unsigned *pending)
{
	return device && (current || pending) ? NVML_ERROR_NOT_SUPPORTED : NVML_ERROR_INVALID_ARGUMENT;
}

nvmlReturn_t nvmlDeviceGetGpuOperationMode(nvmlDevice_t device, unsigned *current, unsigned *pending)
{
	if (!device)
		return NVML_ERROR_INVALID_ARGUMENT;
	if (current)
		*current = 3;
	if (pending)
		*pending = 4;
	return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceValidateInforom(nvmlDevice_t device)
{
	return device ? NVML_SUCCESS : NVML_ERROR_INVALID_ARGUMENT;
}

nvmlReturn_t nvmlDeviceGetEnforcedPowerLimit(nvmlDevice_t device, unsigned *limit)
{
	if (!device || !limit)
		return NVML_ERROR_INVALID_ARGUMENT;
	*limit = 700000;
	return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetAccountingMode(nvmlDevice_t device, nvmlEnableState_t *mode)
{
	if (!device || !mode)
		return NVML_ERROR_INVALID_ARGUMENT;
	*mode = 0;
	return NVML_SUCCESS;
}

static unsigned setting(const char *name, unsigned otherwise)
{
	const char *text = getenv(name);

	return text ? (unsigned)strtoul(text, NULL, 0) : otherwise;
}

nvmlReturn_t nvmlDeviceGetArchitecture(nvmlDevice_t device, nvmlDeviceArchitecture_t *architecture)
{
	if (!device || !architecture)
		return NVML_ERROR_INVALID_ARGUMENT;
	*architecture = setting("STANDIN_ARCH", NVML_DEVICE_ARCH_BLACKWELL);
	return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetPlatformInfo(nvmlDevice_t device, nvmlPlatformInfo_t *info)
{
	const unsigned long long guid = 0x21ac5b6a528f7cf5;

	if (!device || !info)
		return NVML_ERROR_INVALID_ARGUMENT;
	if (info->version != NVML_SIZED(nvmlPlatformInfo_t, setting("STANDIN_OLD", 0) ? 1 : 2))
		return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
	memcpy(info->ibGuid, &guid, sizeof guid);
	memcpy(info->chassisSerialNumber, "1823825185529", 13);
	info->slotNumber = 5;
	info->trayIndex = 255;
	info->hostId = 1;
	info->peerType = 1;
	return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetGpuFabricInfoV(nvmlDevice_t device, nvmlGpuFabricInfoV_t *info)
{
	bool old = setting("STANDIN_OLD", 0);

	if (!device || !info)
		return NVML_ERROR_INVALID_ARGUMENT;
	if (info->version != (old ? NVML_SIZED(nvmlGpuFabricInfo_v2_t, 2) : NVML_SIZED(nvmlGpuFabricInfo_v3_t, 3)))
		return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
	memset(info->clusterUuid, 0xab, sizeof info->clusterUuid);
	info->status = NVML_ERROR_INSUFFICIENT_RESOURCES;
	info->cliqueId = 32766;
	info->state = (unsigned char)setting("STANDIN_STATE", NVML_GPU_FABRIC_STATE_COMPLETED);
	info->healthMask = setting("STANDIN_HEALTH", 0x24a6); /* each question another answer */
	if (!old)
		info->healthSummary = 3;
	return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetSupportedMemoryClocks(nvmlDevice_t device, unsigned *count, unsigned *clocks)
{
	unsigned room = count ? *count : 0;

	if (!device || !count || (room && !clocks))
		return NVML_ERROR_INVALID_ARGUMENT;
	if (room)
		*clocks = 3201;
	*count = 1;
	return room ? NVML_SUCCESS : NVML_ERROR_INSUFFICIENT_SIZE;
}

/* There are 110: those that do not fit are counted. */
nvmlReturn_t nvmlDeviceGetSupportedGraphicsClocks(
	nvmlDevice_t device, unsigned memory, unsigned *count, unsigned *clocks)
{
	unsigned room = count ? *count : 0;

	if (!device || memory != 3201 || !count)
		return NVML_ERROR_INVALID_ARGUMENT;
	for (unsigned i = 0; i < 110 && i < room; i++)
		clocks[i] = 1980 - 15 * i;
	*count = 110;
	return room < 110 ? NVML_ERROR_INSUFFICIENT_SIZE : NVML_SUCCESS;
}
