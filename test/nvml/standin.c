/*
 * A vendor's NVML with a private table as release 580 has it, to be served: what it does not say itself, the library
 * that it is linked with says, a copy of our own (vendor.sh).
 *
 * nvmlDeviceGetDriverModel_v2 and nvmlDeviceGetGpuOperationMode are as NVIDIA's: they take NULLs for what is not wanted.
 */
#include <stdint.h>
#include <stdio.h>
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

/* There are 110: those that do not fit are counted. */
nvmlReturn_t nvmlDeviceGetSupportedGraphicsClocks(nvmlDevice_t device, unsigned memory, unsigned *count, unsigned *clocks)
{
	unsigned room = count ? *count : 0;

	if (!device || memory != 3201 || !count)
		return NVML_ERROR_INVALID_ARGUMENT;
	for (unsigned i = 0; i < 110 && i < room; i++)
		clocks[i] = 1980 - 15 * i;
	*count = 110;
	return room < 110 ? NVML_ERROR_INSUFFICIENT_SIZE : NVML_SUCCESS;
}
