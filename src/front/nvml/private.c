/*
 * nvmlInternalGetExportTable: a private table of functions that NVIDIA's own nvidia-smi asks for.
 *
 * An array of words; the first is its size in bytes.  What is known of it was published by others who watched which
 * places a tool of release 580 calls, and with what (doc/private-tables.md).  Every place is callable: those nobody was
 * seen to use answer NVML_ERROR_NOT_SUPPORTED.  A vendor's library underneath hands out its own table.
 */
#include <string.h>
#include "backend/nvml/process.h"
#include "front/nvml/front.h"
#include "wire/trace.h"

#define WORDS 512

/* One process, as this table has them. */
struct entry {
	nvmlProcessDetail_v1_t detail;
	char name[4096];
};

#define ENTRIES 256 /* of a list, at most */

static nvmlReturn_t unknown(void)
{
	trace_note("a place of NVML's private table was called that nobody was seen to use: NVML_ERROR_NOT_SUPPORTED");
	return NVML_ERROR_NOT_SUPPORTED;
}

/* The third argument is always the same, and means nothing to us. */
static nvmlReturn_t handle_by_index(unsigned index, nvmlDevice_t *device, unsigned flags)
{
	(void)flags;
	return nvml_device()->nvmlDeviceGetHandleByIndex_v2(index, device);
}

/* *count is the room, and becomes the number of entries. */
static nvmlReturn_t give_list(nvmlReturn_t (*list)(nvmlDevice_t, unsigned *, nvmlProcessInfo_t *), nvmlDevice_t device,
	unsigned *count, struct entry *entries)
{
	nvmlProcessInfo_t p[ENTRIES];
	unsigned n = ENTRIES, room;

	if (!count || !entries)
		return NVML_ERROR_INVALID_ARGUMENT;
	room = *count;
	nvmlReturn_t r = list(device, &n, p);
	if (r)
		return r;
	for (unsigned i = 0; i < n && i < room; i++) {
		entries[i].detail = (nvmlProcessDetail_v1_t){p[i].pid, p[i].usedGpuMemory, p[i].gpuInstanceId, p[i].computeInstanceId, 0};
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

static nvmlReturn_t host_link_generation(nvmlDevice_t device, unsigned *value)
{
	return nvml_hidden(device, 230, value);
}

static nvmlReturn_t sparse_mode(nvmlDevice_t device, unsigned *value)
{
	return nvml_hidden(device, 249, value);
}

static const void *const table[WORDS] = {
	[0] = (const void *)(WORDS * sizeof(void *)),
	[1 ... 80] = unknown,
	[81] = handle_by_index,
	[82 ... 212] = unknown,
	[213] = compute_list,
	[214] = graphics_list,
	[215] = mps_list,
	[216 ... 229] = unknown,
	[230] = host_link_generation,
	[231 ... 248] = unknown,
	[249] = sparse_mode,
	[250 ... WORDS - 1] = unknown,
};

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
