/*
 * nvmlInternalGetExportTable: a private table of functions that NVIDIA's own nvidia-smi requests.
 *
 * The table is an array of words; the first is its size in bytes.  The slots that nvidia-smi of release 580 calls, and
 * their arguments, are known from observing it (doc/private-tables.md).  Every slot is callable: an unknown one notes
 * its number in the trace and returns NVML_ERROR_NOT_SUPPORTED.  A vendor's library returns its own table.
 */
#include <string.h>
#include "backend/nvml/process_list.h"
#include "front/nvml/front.h"
#include "wire/nvml.h"
#include "wire/trace.h"

#define WORDS 270 /* of release 580 */

/* One process, as the functions of this table return it. */
struct process_entry {
	nvmlProcessDetail_v1_t detail;
	char name[4096];
};

/* ---- Unknown slots: one function each, named 1000 + slot, so that no number begins with a 0 (octal) ---- */

static nvmlReturn_t unknown_slot(unsigned slot)
{
	trace_note(
		"the program called slot %u of NVML's private table, which is unknown: NVML_ERROR_NOT_SUPPORTED", slot);
	return NVML_ERROR_NOT_SUPPORTED;
}

#define TEN(f, n)     f(n##0) f(n##1) f(n##2) f(n##3) f(n##4) f(n##5) f(n##6) f(n##7) f(n##8) f(n##9)
#define SEVENTY(f, n) TEN(f, n##0) TEN(f, n##1) TEN(f, n##2) TEN(f, n##3) TEN(f, n##4) TEN(f, n##5) TEN(f, n##6)
#define HUNDRED(f, n) SEVENTY(f, n) TEN(f, n##7) TEN(f, n##8) TEN(f, n##9)
#define ALL(f)        HUNDRED(f, 10) HUNDRED(f, 11) SEVENTY(f, 12)

#define SLOT(n) \
	static nvmlReturn_t slot_##n(void) \
	{ \
		return unknown_slot(n - 1000); \
	}
ALL(SLOT)

/* ---- Known slots ---- */

/* nvidia-smi passes each line that it prints, for a log of its own.  There is no such log here. */
static nvmlReturn_t record_output(const char *format, const char *stream, const char *text, ...)
{
	(void)format, (void)stream, (void)text;
	return NVML_SUCCESS;
}

/* "0000:00:06.0" */
static nvmlReturn_t pci_by_index(unsigned index, char *id, unsigned length)
{
	const struct nvml_ops *f = nvml_device();
	nvmlDevice_t device;
	nvmlPciInfo_t pci;
	nvmlReturn_t r = f->nvmlDeviceGetHandleByIndex_v2(index, &device);

	if (!r)
		r = f->nvmlDeviceGetPciInfo_v3(device, &pci);
	return r ? r : nvml_copy_text(pci.busIdLegacy, id, length);
}

static nvmlReturn_t enforced_power_limit(nvmlDevice_t device, unsigned *milliwatts)
{
	return nvml_device()->nvmlDeviceGetEnforcedPowerLimit(device, milliwatts);
}

/* *count is the capacity of `entries`, and becomes their number. */
static nvmlReturn_t copy_process_list(nvmlReturn_t (*list)(nvmlDevice_t, unsigned *, nvmlProcessInfo_t *),
	nvmlDevice_t device, unsigned *count, struct process_entry *entries)
{
	nvmlProcessInfo_t p[PROCESSES];
	unsigned n = PROCESSES, capacity;

	if (!count || !entries)
		return NVML_ERROR_INVALID_ARGUMENT;
	capacity = *count;
	nvmlReturn_t r = list(device, &n, p);
	if (r)
		return r;
	for (unsigned i = 0; i < n && i < capacity; i++) {
		entries[i].detail = (nvmlProcessDetail_v1_t){
			p[i].pid, p[i].usedGpuMemory, p[i].gpuInstanceId, p[i].computeInstanceId, 0};
		if (!process_name(p[i].pid, entries[i].name, sizeof entries[i].name))
			strcpy(entries[i].name, "-"); /* a process of another user */
	}
	*count = n < capacity ? n : capacity;
	return n > capacity ? NVML_ERROR_INSUFFICIENT_SIZE : NVML_SUCCESS;
}

static nvmlReturn_t compute_list(nvmlDevice_t device, unsigned *count, struct process_entry *entries)
{
	return copy_process_list(nvml_device()->nvmlDeviceGetComputeRunningProcesses_v3, device, count, entries);
}

static nvmlReturn_t graphics_list(nvmlDevice_t device, unsigned *count, struct process_entry *entries)
{
	return copy_process_list(nvml_device()->nvmlDeviceGetGraphicsRunningProcesses_v3, device, count, entries);
}

static nvmlReturn_t mps_list(nvmlDevice_t device, unsigned *count, struct process_entry *entries)
{
	return copy_process_list(nvml_device()->nvmlDeviceGetMPSComputeRunningProcesses_v3, device, count, entries);
}

/* Values of the vendor's private table behind a server. */

static nvmlReturn_t private_number(unsigned slot, nvmlDevice_t device, unsigned *value)
{
	struct wire_nvml_hidden v;
	nvmlReturn_t r = value ? nvml_private_value(device, slot, &v) : NVML_ERROR_INVALID_ARGUMENT;

	if (!r)
		*value = v.number;
	return r;
}

static nvmlReturn_t private_text(unsigned slot, nvmlDevice_t device, char *text, unsigned length)
{
	struct wire_nvml_hidden v;
	nvmlReturn_t r = text ? nvml_private_value(device, slot, &v) : NVML_ERROR_INVALID_ARGUMENT;

	return r ? r : nvml_copy_text(v.text, text, length);
}

static nvmlReturn_t host_link_generation(nvmlDevice_t device, unsigned *value)
{
	return private_number(230, device, value);
}

static nvmlReturn_t gpu_part_number(nvmlDevice_t device, char *text, unsigned length)
{
	return private_text(231, device, text, length);
}

static nvmlReturn_t deferred_memory_clock(nvmlDevice_t device, unsigned *value)
{
	return private_number(232, device, value);
}

static nvmlReturn_t fru_part_number(nvmlDevice_t device, char *text, unsigned length)
{
	return private_text(237, device, text, length);
}

static nvmlReturn_t sparse_mode(nvmlDevice_t device, unsigned *value)
{
	return private_number(249, device, value);
}

#define ENTRY(n) [n - 1000] = slot_##n,

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Woverride-init" /* known slots replace unknown ones */
static const void *const table[WORDS] = {
	ALL(ENTRY)[0] = (const void *)(WORDS * sizeof(void *)),
	[26] = record_output,
	[81] = pci_by_index,
	[108] = enforced_power_limit,
	[213] = compute_list,
	[214] = graphics_list,
	[215] = mps_list,
	[230] = host_link_generation,
	[231] = gpu_part_number,
	[232] = deferred_memory_clock,
	[237] = fru_part_number,
	[249] = sparse_mode,
};
#pragma GCC diagnostic pop

nvmlReturn_t ml_nvmlInternalGetExportTable(const void **out, const void *id)
{
	static const unsigned char known[16] = "\xc4\xfe\x3e\x6c\xc9\x8f\x6c\x4e\xa3\x27\xee\x69\x6e\x12\xf7\xc4";

	if (!out || !id)
		return NVML_ERROR_INVALID_ARGUMENT;
	*out = NULL;
	if (memcmp(id, known, sizeof known)) {
		trace_note("the program requested an unknown private table of NVML");
		return NVML_ERROR_FUNCTION_NOT_FOUND;
	}
	*out = table;
	return NVML_SUCCESS;
}
