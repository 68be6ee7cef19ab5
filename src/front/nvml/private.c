/*
 * nvmlInternalGetExportTable: a private table of functions that NVIDIA's own nvidia-smi asks for.
 *
 * An array of words; the first is its size in bytes.  Which places a tool of release 580 calls, and with what, was seen
 * by running it (doc/private-tables.md).  Every place is callable: those that nobody was seen to use say their number
 * in the trace, and answer NVML_ERROR_NOT_SUPPORTED.  A vendor's library underneath hands out its own table.
 */
#include <string.h>
#include "backend/nvml/process.h"
#include "front/nvml/front.h"
#include "wire/nvml.h"
#include "wire/trace.h"

#define WORDS 270 /* of release 580 */

/* One process, as this table has them. */
struct entry {
	nvmlProcessDetail_v1_t detail;
	char name[4096];
};

/* ---- places that are not known: one function each, by its number and 1000, so that none begins with a 0 ---- */

static nvmlReturn_t unknown(unsigned place)
{
	trace_note("place %u of NVML's private table is not known here: NVML_ERROR_NOT_SUPPORTED", place);
	return NVML_ERROR_NOT_SUPPORTED;
}

#define TEN(f, n)     f(n##0) f(n##1) f(n##2) f(n##3) f(n##4) f(n##5) f(n##6) f(n##7) f(n##8) f(n##9)
#define SEVENTY(f, n) TEN(f, n##0) TEN(f, n##1) TEN(f, n##2) TEN(f, n##3) TEN(f, n##4) TEN(f, n##5) TEN(f, n##6)
#define HUNDRED(f, n) SEVENTY(f, n) TEN(f, n##7) TEN(f, n##8) TEN(f, n##9)
#define ALL(f)        HUNDRED(f, 10) HUNDRED(f, 11) SEVENTY(f, 12)

#define PLACE(n) \
	static nvmlReturn_t place_##n(void) \
	{ \
		return unknown(n - 1000); \
	}
ALL(PLACE)

/* ---- those that are ---- */

/* The tool's own record of what it prints: there is none here to add to, and nobody is told otherwise. */
static nvmlReturn_t record_output(const char *format, const char *stream, const char *text, ...)
{
	(void)format, (void)stream, (void)text;
	return NVML_SUCCESS;
}

static nvmlReturn_t give_text(const char *text, char *to, unsigned length)
{
	if (!to)
		return NVML_ERROR_INVALID_ARGUMENT;
	if (strlen(text) >= length)
		return NVML_ERROR_INSUFFICIENT_SIZE;
	strcpy(to, text);
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
	return r ? r : give_text(pci.busIdLegacy, id, length);
}

static nvmlReturn_t enforced_power_limit(nvmlDevice_t device, unsigned *milliwatts)
{
	return nvml_device()->nvmlDeviceGetEnforcedPowerLimit(device, milliwatts);
}

/* *count is the room, and becomes the number of entries. */
static nvmlReturn_t give_list(nvmlReturn_t (*list)(nvmlDevice_t, unsigned *, nvmlProcessInfo_t *), nvmlDevice_t device,
	unsigned *count, struct entry *entries)
{
	nvmlProcessInfo_t p[PROCESSES];
	unsigned n = PROCESSES, room;

	if (!count || !entries)
		return NVML_ERROR_INVALID_ARGUMENT;
	room = *count;
	nvmlReturn_t r = list(device, &n, p);
	if (r)
		return r;
	for (unsigned i = 0; i < n && i < room; i++) {
		entries[i].detail = (nvmlProcessDetail_v1_t){
			p[i].pid, p[i].usedGpuMemory, p[i].gpuInstanceId, p[i].computeInstanceId, 0};
		if (!process_name(p[i].pid, entries[i].name, sizeof entries[i].name))
			strcpy(entries[i].name, "-"); /* of a process that we may not look at */
	}
	*count = n < room ? n : room;
	return n > room ? NVML_ERROR_INSUFFICIENT_SIZE : NVML_SUCCESS;
}

static nvmlReturn_t compute_list(nvmlDevice_t device, unsigned *count, struct entry *entries)
{
	return give_list(nvml_device()->nvmlDeviceGetComputeRunningProcesses_v3, device, count, entries);
}

static nvmlReturn_t graphics_list(nvmlDevice_t device, unsigned *count, struct entry *entries)
{
	return give_list(nvml_device()->nvmlDeviceGetGraphicsRunningProcesses_v3, device, count, entries);
}

static nvmlReturn_t mps_list(nvmlDevice_t device, unsigned *count, struct entry *entries)
{
	return give_list(nvml_device()->nvmlDeviceGetMPSComputeRunningProcesses_v3, device, count, entries);
}

/* Values that only the vendor's library under a server has. */

static nvmlReturn_t hidden_number(unsigned place, nvmlDevice_t device, unsigned *value)
{
	struct wire_nvml_hidden h;
	nvmlReturn_t r = value ? nvml_hidden(device, place, &h) : NVML_ERROR_INVALID_ARGUMENT;

	if (!r)
		*value = h.number;
	return r;
}

static nvmlReturn_t hidden_text(unsigned place, nvmlDevice_t device, char *text, unsigned length)
{
	struct wire_nvml_hidden h;
	nvmlReturn_t r = text ? nvml_hidden(device, place, &h) : NVML_ERROR_INVALID_ARGUMENT;

	return r ? r : give_text(h.text, text, length);
}

static nvmlReturn_t host_link_generation(nvmlDevice_t device, unsigned *value)
{
	return hidden_number(230, device, value);
}

static nvmlReturn_t gpu_part_number(nvmlDevice_t device, char *text, unsigned length)
{
	return hidden_text(231, device, text, length);
}

static nvmlReturn_t deferred_memory_clock(nvmlDevice_t device, unsigned *value)
{
	return hidden_number(232, device, value);
}

static nvmlReturn_t fru_part_number(nvmlDevice_t device, char *text, unsigned length)
{
	return hidden_text(237, device, text, length);
}

static nvmlReturn_t sparse_mode(nvmlDevice_t device, unsigned *value)
{
	return hidden_number(249, device, value);
}

#define ENTRY(n) [n - 1000] = place_##n,

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Woverride-init" /* first all, then the known ones */
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
		trace_note("an unknown private table of NVML was asked for");
		return NVML_ERROR_FUNCTION_NOT_FOUND;
	}
	*out = table;
	return NVML_SUCCESS;
}
