/* The NVML calls of a client that are written by hand: values known since the link was made, lists, the local machine. */
#include "backend/nvml/remote.h"

#include <string.h>
#include "backend/nvml/process_list.h"
#include "host/pci.h"

/* ---- Values that the server sent when the link was made ---- */

nvmlReturn_t remote_nvmlSystemGetDriverVersion(char *version, unsigned length)
{
	struct wire_nvml_devices all;

	return remote_devices(&all) ? nvml_copy_text(all.driver, version, length) : NVML_ERROR_UNINITIALIZED;
}

nvmlReturn_t remote_nvmlDeviceGetCount_v2(unsigned *count)
{
	struct wire_nvml_devices all;

	if (!count)
		return NVML_ERROR_INVALID_ARGUMENT;
	if (!remote_devices(&all))
		return NVML_ERROR_UNINITIALIZED;
	*count = all.count;
	return NVML_SUCCESS;
}

nvmlReturn_t remote_nvmlDeviceGetHandleByIndex_v2(unsigned index, nvmlDevice_t *device)
{
	struct wire_nvml_device d;

	if (!device || index >= WIRE_NVML_DEVICES_MAX || !remote_device(NVML_HANDLE(index), &d))
		return NVML_ERROR_INVALID_ARGUMENT;
	*device = NVML_HANDLE(index);
	return NVML_SUCCESS;
}

nvmlReturn_t remote_nvmlDeviceGetHandleByUUID(const char *uuid, nvmlDevice_t *device)
{
	struct wire_nvml_devices all;

	if (!uuid || !device)
		return NVML_ERROR_INVALID_ARGUMENT;
	if (!remote_devices(&all))
		return NVML_ERROR_UNINITIALIZED;
	for (unsigned i = 0; i < all.count; i++) {
		if (strcasecmp(all.device[i].uuid, uuid))
			continue;
		*device = NVML_HANDLE(i);
		return NVML_SUCCESS;
	}
	return NVML_ERROR_NOT_FOUND;
}

nvmlReturn_t remote_nvmlDeviceGetHandleByPciBusId_v2(const char *id, nvmlDevice_t *device)
{
	struct wire_nvml_devices all;
	struct pci_address a;

	if (!id || !device || !pci_parse(id, &a))
		return NVML_ERROR_INVALID_ARGUMENT;
	if (!remote_devices(&all))
		return NVML_ERROR_UNINITIALIZED;
	for (unsigned i = 0; i < all.count; i++) {
		const nvmlPciInfo_t *p = &all.device[i].pci;
		if (p->domain != a.domain || p->bus != a.bus || p->device != a.device || a.function)
			continue;
		*device = NVML_HANDLE(i);
		return NVML_SUCCESS;
	}
	return NVML_ERROR_NOT_FOUND;
}

nvmlReturn_t remote_nvmlDeviceGetIndex(nvmlDevice_t device, unsigned *index)
{
	struct wire_nvml_device d;

	if (!index || !remote_device(device, &d))
		return NVML_ERROR_INVALID_ARGUMENT;
	*index = (unsigned)nvml_handle_index(device, WIRE_NVML_DEVICES_MAX);
	return NVML_SUCCESS;
}

/* A MIG device is not in that list: the server is asked. */
nvmlReturn_t remote_nvmlDeviceGetName(nvmlDevice_t device, char *name, unsigned length)
{
	struct wire_nvml_device d;

	return remote_device(device, &d) ? nvml_copy_text(d.name, name, length)
					 : call_nvmlDeviceGetName(device, name, length);
}

nvmlReturn_t remote_nvmlDeviceGetUUID(nvmlDevice_t device, char *uuid, unsigned length)
{
	struct wire_nvml_device d;

	return remote_device(device, &d) ? nvml_copy_text(d.uuid, uuid, length)
					 : call_nvmlDeviceGetUUID(device, uuid, length);
}

nvmlReturn_t remote_nvmlDeviceGetPciInfo_v3(nvmlDevice_t device, nvmlPciInfo_t *pci)
{
	struct wire_nvml_device d;

	if (!pci)
		return NVML_ERROR_INVALID_ARGUMENT;
	if (!remote_device(device, &d)) {
		nvmlReturn_t r = call_nvmlDeviceGetPciInfo_v3(device, pci);
		pci->busId[sizeof pci->busId - 1] = pci->busIdLegacy[sizeof pci->busIdLegacy - 1] = 0;
		return r;
	}
	*pci = d.pci;
	return NVML_SUCCESS;
}

/* ---- Strings inside structs: ended with a NUL, whatever the server sent ---- */

nvmlReturn_t remote_nvmlDeviceGetPciInfoExt(nvmlDevice_t device, nvmlPciInfoExt_t *pci)
{
	size_t size = pci ? wire_sized(pci, sizeof *pci) : 0; /* before the call: the reply overwrites the version */
	nvmlReturn_t r = call_nvmlDeviceGetPciInfoExt(device, pci);

	if (!r && size >= sizeof *pci)
		pci->busId[sizeof pci->busId - 1] = 0;
	return r;
}

nvmlReturn_t remote_nvmlSystemGetDriverBranch(nvmlSystemDriverBranchInfo_t *info, unsigned length)
{
	size_t size = info ? wire_sized(info, sizeof *info) : 0;
	nvmlReturn_t r = call_nvmlSystemGetDriverBranch(info, length);

	if (!r && size >= sizeof *info)
		info->branch[sizeof info->branch - 1] = 0;
	return r;
}

/* ---- Processes that the server shows to this client ---- */

/* Adds one page to the list; returns the number of processes on it. */
static unsigned process_page_add(const struct wire_nvml_processes *page, struct process_list *list)
{
	unsigned n = page->here < WIRE_NVML_PAGE ? page->here : WIRE_NVML_PAGE;

	for (unsigned i = 0; i < n; i++) {
		const struct wire_nvml_process *p = &page->process[i];
		process_list_add(list, (struct process){.pid = p->pid,
					       .memory = p->memory,
					       .instance = p->instance,
					       .compute_instance = p->compute_instance,
					       .kernels = p->kernels,
					       .copies = p->copies});
	}
	return n;
}

static nvmlReturn_t list_processes(nvmlDevice_t device, enum process_kind kind, struct process_list *list)
{
	struct wire_nvml_ask ask = {(uintptr_t)device, kind, 0};
	struct wire_nvml_processes page;
	const struct wire_piece out = {&page, sizeof page};
	unsigned added;
	nvmlReturn_t r;

	do {
		r = remote_ask(WIRE_NVML_PROCESSES, &ask, sizeof ask, NULL, 0, &out, 1);
		added = r ? 0 : process_page_add(&page, list);
		ask.first += added;
	} while (added && ask.first < page.count && ask.first < WIRE_NVML_PROCESSES_MAX);
	process_list_sort(list);
	return r;
}

#define PROCESSES_OF remote
#include "backend/nvml/process_calls.inc"

/* The list of past processes is not shown to clients.  Without accounting it is known to be empty. */
nvmlReturn_t remote_nvmlDeviceGetAccountingPids(nvmlDevice_t device, unsigned *count, unsigned *pids)
{
	nvmlEnableState_t on = 0;
	nvmlReturn_t r = count ? call_nvmlDeviceGetAccountingMode(device, &on) : NVML_ERROR_INVALID_ARGUMENT;

	(void)pids;
	if (r || on)
		return r ? r : NVML_ERROR_NOT_SUPPORTED;
	*count = 0;
	return NVML_SUCCESS;
}

/* ---- Processors and memory nodes of the server's machine: useless on another machine ---- */

nvmlReturn_t remote_nvmlDeviceGetCpuAffinity(nvmlDevice_t device, unsigned size, unsigned long *set)
{
	return remote_is_local() ? call_nvmlDeviceGetCpuAffinity(device, size, set) : NVML_ERROR_NOT_SUPPORTED;
}

nvmlReturn_t remote_nvmlDeviceGetCpuAffinityWithinScope(
	nvmlDevice_t device, unsigned size, unsigned long *set, nvmlAffinityScope_t scope)
{
	return remote_is_local() ? call_nvmlDeviceGetCpuAffinityWithinScope(device, size, set, scope)
				 : NVML_ERROR_NOT_SUPPORTED;
}

nvmlReturn_t remote_nvmlDeviceGetMemoryAffinity(
	nvmlDevice_t device, unsigned size, unsigned long *set, nvmlAffinityScope_t scope)
{
	return remote_is_local() ? call_nvmlDeviceGetMemoryAffinity(device, size, set, scope)
				 : NVML_ERROR_NOT_SUPPORTED;
}

/* ---- Private table ---- */

nvmlReturn_t remote_private_value(nvmlDevice_t device, unsigned slot, struct wire_nvml_hidden *value)
{
	const struct wire_nvml_ask ask = {(uintptr_t)device, slot, 0};
	const struct wire_piece out = {value, sizeof *value};
	nvmlReturn_t r = remote_ask(WIRE_NVML_HIDDEN, &ask, sizeof ask, NULL, 0, &out, 1);

	value->text[sizeof value->text - 1] = 0;
	return r;
}
