/* Calls of class local that give the same answer on every device of ours; and the table of all calls of that class. */
#include <stdio.h>
#include <string.h>
#include "backend/nvml/process_list.h"
#include "front/nvml/front.h"
#include "gen/version.h"
#include "cuda/uuid.h"

#include "gen/nvml_ml.inc"

nvmlReturn_t ml_nvmlSystemGetCudaDriverVersion_v2(int *version)
{
	if (!version)
		return NVML_ERROR_INVALID_ARGUMENT;
	*version = GANGWAY_CUDA_VERSION;
	return NVML_SUCCESS;
}

nvmlReturn_t ml_nvmlSystemGetCudaDriverVersion(int *version)
{
	return ml_nvmlSystemGetCudaDriverVersion_v2(version);
}

/* "13.580.159.03" */
nvmlReturn_t ml_nvmlSystemGetNVMLVersion(char *version, unsigned length)
{
	char text[80];

	if (!version)
		return NVML_ERROR_INVALID_ARGUMENT;
	snprintf(text, sizeof text, "%d." GANGWAY_DRIVER_VERSION, GANGWAY_CUDA_VERSION / 1000);
	if (strlen(text) >= length)
		return NVML_ERROR_INSUFFICIENT_SIZE;
	strcpy(version, text);
	return NVML_SUCCESS;
}

/* Process ids of all our devices are those of this machine: a server translates them for its clients. */
nvmlReturn_t ml_nvmlSystemGetProcessName(unsigned pid, char *name, unsigned length)
{
	char text[4096];

	if (!name || !length || !pid)
		return NVML_ERROR_INVALID_ARGUMENT;
	if (!process_name(pid, text, sizeof text))
		return NVML_ERROR_NOT_FOUND;
	snprintf(name, length, "%s", text);
	return NVML_SUCCESS;
}

/* ---- Older versions of nvmlDeviceGetPciInfo_v3, whose structs are shorter ---- */

struct pci_v1 {
	char id[NVML_DEVICE_PCI_BUS_ID_BUFFER_V2_SIZE];
	unsigned domain, bus, device, ids;
};

struct pci_v2 {
	struct pci_v1 v1;
	unsigned subsystem, reserved[4];
};

nvmlReturn_t ml_nvmlDeviceGetPciInfo_v2(nvmlDevice_t device, nvmlPciInfo_t *pci)
{
	struct pci_v2 *to = (struct pci_v2 *)pci;
	nvmlPciInfo_t full;
	nvmlReturn_t r = pci ? nvml_device()->nvmlDeviceGetPciInfo_v3(device, &full) : NVML_ERROR_INVALID_ARGUMENT;

	if (r)
		return r;
	*to = (struct pci_v2){{.domain = full.domain, .bus = full.bus, .device = full.device, .ids = full.pciDeviceId},
		full.pciSubSystemId, {0}};
	memcpy(to->v1.id, full.busIdLegacy, sizeof to->v1.id);
	return NVML_SUCCESS;
}

nvmlReturn_t ml_nvmlDeviceGetPciInfo(nvmlDevice_t device, nvmlPciInfo_t *pci)
{
	struct pci_v2 v2;
	nvmlReturn_t r = pci ? ml_nvmlDeviceGetPciInfo_v2(device, (nvmlPciInfo_t *)&v2) : NVML_ERROR_INVALID_ARGUMENT;

	if (!r)
		memcpy(pci, &v2.v1, sizeof v2.v1);
	return r;
}

/* ---- A newer version of nvmlDeviceGetHandleByUUID ---- */

nvmlReturn_t ml_nvmlDeviceGetHandleByUUIDV(const nvmlUUID_t *uuid, nvmlDevice_t *device)
{
	char text[NVML_DEVICE_UUID_BUFFER_SIZE];

	if (!uuid || !device)
		return NVML_ERROR_INVALID_ARGUMENT;
	if (uuid->version != NVML_SIZED(nvmlUUID_t, 1))
		return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
	if (uuid->type == NVML_UUID_TYPE_ASCII)
		snprintf(text, sizeof text, "%.41s", uuid->value.str);
	else if (uuid->type == NVML_UUID_TYPE_BINARY)
		uuid_text(uuid->value.bytes, text);
	else
		return NVML_ERROR_INVALID_ARGUMENT;
	return nvml_device()->nvmlDeviceGetHandleByUUID(text, device);
}
