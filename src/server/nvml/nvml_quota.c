#include "server/nvml/nvml_quota.h"

#include "server/nvml/nvml_processes.h"
#include "server/quota/quota.h"

static nvmlReturn_t (*real_memory)(nvmlDevice_t device, nvmlMemory_t *memory);
static nvmlReturn_t (*real_memory_v2)(nvmlDevice_t device, nvmlMemory_v2_t *memory);
static const nvmlDevice_t *devices;
static unsigned ndevices;

/* False: a part of a device, which has no quota of its own. */
static bool find(nvmlDevice_t device, unsigned *number)
{
	for (*number = 0; *number < ndevices; ++*number)
		if (devices[*number] == device)
			return quota_limit(*number) != 0;
	return false;
}

/* Whoever cannot have more sees no more. */
static void limit(unsigned device, unsigned long long *total, unsigned long long *free, unsigned long long *used)
{
	uint64_t quota = quota_limit(device), held = nvml_list_held(device), left = held < quota ? quota - held : 0;

	quota_device_used(device, *used);
	*total = quota < *total ? quota : *total;
	*free = left < *free ? left : *free;
	*used = *total - *free;
}

static nvmlReturn_t memory(nvmlDevice_t device, nvmlMemory_t *m)
{
	nvmlReturn_t r = real_memory(device, m);
	unsigned number;

	if (!r && find(device, &number))
		limit(number, &m->total, &m->free, &m->used);
	return r;
}

/* What the driver keeps for itself is none of the quota. */
static nvmlReturn_t memory_v2(nvmlDevice_t device, nvmlMemory_v2_t *m)
{
	nvmlReturn_t r = real_memory_v2(device, m);
	unsigned number;

	if (r || !find(device, &number))
		return r;
	m->used += m->reserved;
	m->reserved = 0;
	limit(number, &m->total, &m->free, &m->used);
	return r;
}

void nvml_quota_wrap(struct nvml_ops *table, const nvmlDevice_t *all, unsigned count)
{
	devices = all;
	ndevices = count;
	if (!count || !quota_limit(0))
		return;
	real_memory = table->nvmlDeviceGetMemoryInfo;
	real_memory_v2 = table->nvmlDeviceGetMemoryInfo_v2;
	table->nvmlDeviceGetMemoryInfo = memory;
	table->nvmlDeviceGetMemoryInfo_v2 = memory_v2;
}
