/*
 * A fake NVML of a vendor with a private table like that of release 580, for a server.  Functions that are not
 * defined here come from the library that this one is linked with, a copy of our own (vendor.sh).
 *
 * nvmlDeviceGetDriverModel_v2 and nvmlDeviceGetGpuOperationMode accept NULL for unwanted values, as NVIDIA's do.
 *
 * The GPU is in a rack.  STANDIN_OLD: only older versions of the structs about that are known.  STANDIN_ARCH: the
 * generation of the GPU; STANDIN_STATE and STANDIN_HEALTH: of its fabric.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "abi/nvml.h"

#pragma GCC diagnostic ignored "-Wmissing-prototypes"

static nvmlReturn_t number_slot(nvmlDevice_t device, unsigned *value)
{
	if (!device || !value)
		return NVML_ERROR_INVALID_ARGUMENT;
	*value = 580;
	return NVML_SUCCESS;
}

static nvmlReturn_t unsupported_slot(nvmlDevice_t device, unsigned *value)
{
	return device && value ? NVML_ERROR_NOT_SUPPORTED : NVML_ERROR_INVALID_ARGUMENT;
}

static nvmlReturn_t part_number_slot(nvmlDevice_t device, char *text, unsigned length)
{
	if (!device || length != 80)
		return NVML_ERROR_INVALID_ARGUMENT;
	snprintf(text, length, "2335-895-A1");
	return NVML_SUCCESS;
}

/* A text that fills its buffer, without a NUL. */
static nvmlReturn_t field_unit_slot(nvmlDevice_t device, char *text, unsigned length)
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
	table[230] = unsupported_slot;
	table[231] = part_number_slot;
	table[232] = table[249] = number_slot;
	table[237] = field_unit_slot;
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

static unsigned environment_number(const char *name, unsigned otherwise)
{
	const char *text = getenv(name);

	return text ? (unsigned)strtoul(text, NULL, 0) : otherwise;
}

nvmlReturn_t nvmlDeviceGetArchitecture(nvmlDevice_t device, nvmlDeviceArchitecture_t *architecture)
{
	if (!device || !architecture)
		return NVML_ERROR_INVALID_ARGUMENT;
	*architecture = environment_number("STANDIN_ARCH", NVML_DEVICE_ARCH_BLACKWELL);
	return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetPlatformInfo(nvmlDevice_t device, nvmlPlatformInfo_t *info)
{
	const unsigned long long guid = 0x21ac5b6a528f7cf5;

	if (!device || !info)
		return NVML_ERROR_INVALID_ARGUMENT;
	if (info->version != NVML_SIZED(nvmlPlatformInfo_t, environment_number("STANDIN_OLD", 0) ? 1 : 2))
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
	bool old = environment_number("STANDIN_OLD", 0);

	if (!device || !info)
		return NVML_ERROR_INVALID_ARGUMENT;
	if (info->version != (old ? NVML_SIZED(nvmlGpuFabricInfo_v2_t, 2) : NVML_SIZED(nvmlGpuFabricInfo_v3_t, 3)))
		return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
	memset(info->clusterUuid, 0xab, sizeof info->clusterUuid);
	info->status = NVML_ERROR_INSUFFICIENT_RESOURCES;
	info->cliqueId = 32766;
	info->state = (unsigned char)environment_number("STANDIN_STATE", NVML_GPU_FABRIC_STATE_COMPLETED);
	info->healthMask = environment_number("STANDIN_HEALTH", 0x24a6); /* a different value in each field */
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

/* There are 110 clocks; *count reports that even if they do not fit. */
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
