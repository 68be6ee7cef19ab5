/* The devices cpu and null in NVML: the list of devices, their names, and finding one. */
#include "backend/nvml/machine.h"

#include <stdio.h>
#include <string.h>

#include "backend/cpu/cpu.h"
#include "backend/null/null.h"
#include "backend/soft/core/describe.h"
#include "gen/version.h"
#include "host/pci.h"
#include "cuda/uuid.h"
#include "cuda/visible.h"

#include "gen/nvml_machine.inc"

struct machine machine;

_Static_assert(NVML_DEVICES_MAX == MAX_DEVICES, "as many devices as the software driver may have");
_Static_assert(USAGE_DEVICES == MAX_DEVICES, "as many devices as the software driver may have");

nvmlReturn_t machine_open(const char *kind, const char *visible, char *why, size_t size)
{
	bool cpu = !strcmp(kind, "cpu");
	struct describe_settings s;
	unsigned char uuids[NVML_DEVICES_MAX][16];
	int physical[NVML_DEVICES_MAX], major, minor;
	struct machine m = {0};

	if (!describe_settings(&s, why, size))
		return NVML_ERROR_DRIVER_NOT_LOADED;
	if (cpu && !cpu_capability(&major, &minor)) {
		cpu_capability_explain(why, size);
		return NVML_ERROR_DRIVER_NOT_LOADED;
	}
	snprintf(m.kind, sizeof m.kind, "%s", kind);
	m.count = s.devices ? s.devices : 1;
	for (int i = 0; i < m.count; i++)
		describe_uuid(kind, i, uuids[i]);
	m.count = visible_devices(visible, m.count, uuids, physical);
	for (int i = 0; i < m.count; i++) {
		struct machine_device *d = &m.device[i];

		d->physical = physical[i];
		memcpy(d->uuid, uuids[physical[i]], sizeof d->uuid);
		d->memory = describe_memory(s.memory);
		describe_device(cpu ? cpu_describe : null_describe, d->physical, &d->info);
	}
	if (memcmp(&machine, &m, sizeof m)) /* a late call may still read it: written only if it differs */
		machine = m;
	return NVML_SUCCESS;
}

static nvmlReturn_t open_machine(const char *device, struct nvml_ops *table, char *why, size_t size)
{
	nvmlReturn_t r = machine_open(strcmp(device, "null") ? "cpu" : "null", NULL, why, size);

	if (!r)
		*table = machine_ops;
	return r;
}

const struct nvml_backend nvml_machine_backend = {.open = open_machine};

const struct machine_device *machine_find(nvmlDevice_t handle)
{
	int i = nvml_handle_index(handle, machine.count);

	return i < 0 ? NULL : &machine.device[i];
}

/* ---- Finding a device ---- */

nvmlReturn_t machine_nvmlDeviceGetCount_v2(unsigned *count)
{
	if (!count)
		return NVML_ERROR_INVALID_ARGUMENT;
	*count = (unsigned)machine.count;
	return NVML_SUCCESS;
}

nvmlReturn_t machine_nvmlDeviceGetHandleByIndex_v2(unsigned index, nvmlDevice_t *device)
{
	if (!device || index >= (unsigned)machine.count)
		return NVML_ERROR_INVALID_ARGUMENT;
	*device = NVML_HANDLE(index);
	return NVML_SUCCESS;
}

nvmlReturn_t machine_nvmlDeviceGetHandleByUUID(const char *uuid, nvmlDevice_t *device)
{
	char text[UUID_TEXT];

	if (!uuid || !device)
		return NVML_ERROR_INVALID_ARGUMENT;
	for (int i = 0; i < machine.count; i++) {
		uuid_text(machine.device[i].uuid, text);
		if (strcasecmp(text, uuid))
			continue;
		*device = NVML_HANDLE(i);
		return NVML_SUCCESS;
	}
	return NVML_ERROR_NOT_FOUND;
}

nvmlReturn_t machine_nvmlDeviceGetHandleByPciBusId_v2(const char *id, nvmlDevice_t *device)
{
	struct pci_address a;

	if (!id || !device || !pci_parse(id, &a))
		return NVML_ERROR_INVALID_ARGUMENT;
	for (int i = 0; i < machine.count; i++) {
		if (a.domain || a.device || a.function || a.bus != describe_bus(machine.device[i].physical))
			continue;
		*device = NVML_HANDLE(i);
		return NVML_SUCCESS;
	}
	return NVML_ERROR_NOT_FOUND;
}

/* ---- Identity ---- */

nvmlReturn_t machine_nvmlDeviceGetIndex(nvmlDevice_t device, unsigned *index)
{
	int i = nvml_handle_index(device, machine.count);

	if (i < 0 || !index)
		return NVML_ERROR_INVALID_ARGUMENT;
	*index = (unsigned)i;
	return NVML_SUCCESS;
}

nvmlReturn_t machine_nvmlDeviceGetName(nvmlDevice_t device, char *name, unsigned length)
{
	const struct machine_device *d = machine_find(device);

	return d ? nvml_copy_text(d->info.name, name, length) : NVML_ERROR_INVALID_ARGUMENT;
}

nvmlReturn_t machine_nvmlDeviceGetUUID(nvmlDevice_t device, char *uuid, unsigned length)
{
	const struct machine_device *d = machine_find(device);
	char text[UUID_TEXT];

	if (!d)
		return NVML_ERROR_INVALID_ARGUMENT;
	uuid_text(d->uuid, text);
	return nvml_copy_text(text, uuid, length);
}

/* The bus number that libcuda reports.  No such device is on the PCI bus, so vendor and device ids are 0. */
nvmlReturn_t machine_nvmlDeviceGetPciInfo_v3(nvmlDevice_t device, nvmlPciInfo_t *pci)
{
	const struct machine_device *d = machine_find(device);

	if (!d || !pci)
		return NVML_ERROR_INVALID_ARGUMENT;
	memset(pci, 0, sizeof *pci);
	pci->bus = describe_bus(d->physical);
	snprintf(pci->busIdLegacy, sizeof pci->busIdLegacy, "0000:%02X:00.0", pci->bus);
	snprintf(pci->busId, sizeof pci->busId, "00000000:%02X:00.0", pci->bus);
	return NVML_SUCCESS;
}

nvmlReturn_t machine_nvmlSystemGetDriverVersion(char *version, unsigned length)
{
	return nvml_copy_text(GANGWAY_DRIVER_VERSION, version, length);
}
