/* Limits the memory that NVML reports to the client's quota. */
#include "server/nvml/nvml_quota.h"

#include "server/nvml/nvml.h"
#include "server/nvml/nvml_processes.h"
#include "server/quota/quota.h"

/* The number of a device with a quota.  False: no quota, or a part of a device, which has none of its own. */
static bool quota_device_find(const struct nvml_state *n, nvmlDevice_t device, unsigned *number)
{
	for (*number = 0; *number < n->ndevices; ++*number)
		if (n->devices[*number] == device)
			return quota_limit(worker_account(), *number) != 0;
	return false;
}

static void memory_limit(const struct nvml_state *n, unsigned device, unsigned long long *total,
	unsigned long long *free, unsigned long long *used)
{
	struct account *a = worker_account();
	uint64_t quota = quota_limit(a, device), held = nvml_client_held(n, device);
	uint64_t left = held < quota ? quota - held : 0;

	quota_device_used(a, device, *used);
	*total = quota < *total ? quota : *total;
	*free = left < *free ? left : *free;
	*used = *total - *free;
}

static nvmlReturn_t memory_info(nvmlDevice_t device, nvmlMemory_t *m)
{
	struct nvml_state *n = worker_session->nvml;
	nvmlReturn_t r = n->memory_info(device, m);
	unsigned number;

	if (!r && quota_device_find(n, device, &number))
		memory_limit(n, number, &m->total, &m->free, &m->used);
	return r;
}

/* Memory that the driver reserves for itself is no part of the quota. */
static nvmlReturn_t memory_info_v2(nvmlDevice_t device, nvmlMemory_v2_t *m)
{
	struct nvml_state *n = worker_session->nvml;
	nvmlReturn_t r = n->memory_info_v2(device, m);
	unsigned number;

	if (r || !quota_device_find(n, device, &number))
		return r;
	m->used += m->reserved;
	m->reserved = 0;
	memory_limit(n, number, &m->total, &m->free, &m->used);
	return r;
}

void nvml_quota_wrap(struct nvml_state *n)
{
	if (!n->ndevices || !quota_limit(worker_account(), 0))
		return;
	n->memory_info = n->ops.nvmlDeviceGetMemoryInfo;
	n->memory_info_v2 = n->ops.nvmlDeviceGetMemoryInfo_v2;
	n->ops.nvmlDeviceGetMemoryInfo = memory_info;
	n->ops.nvmlDeviceGetMemoryInfo_v2 = memory_info_v2;
}
