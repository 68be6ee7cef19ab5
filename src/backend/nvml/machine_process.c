/* Processes that use a device, as they say themselves. */
#include "backend/nvml/machine.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "backend/nvml/process.h"

struct collect {
	int physical;
	struct process_list *list;
};

static bool add_process(const struct usage_page *p, void *arg)
{
	struct collect *c = arg;
	const struct usage_device *d = &p->device[c->physical];

	if (!d->contexts && !d->memory)
		return true;
	return process_list_add(c->list, (struct process){
						 .pid = p->pid,
						 .memory = d->memory,
						 .kernels = usage_percent(d, USAGE_KERNELS),
						 .copies = usage_percent(d, USAGE_MEMORY),
					 });
}

/* Of programs that draw, and of those behind a multiplexer, there are none. */
static nvmlReturn_t list_processes(nvmlDevice_t device, enum process_kind kind, struct process_list *list)
{
	const struct machine_device *d = machine_find(device);

	if (!d)
		return NVML_ERROR_INVALID_ARGUMENT;
	struct collect c = {d->physical, list};
	if (kind == PROCESS_COMPUTE)
		usage_each(machine.kind, add_process, &c);
	process_list_sort(list);
	return NVML_SUCCESS;
}

#define ALL(name, kind)                                                                                                \
	nvmlReturn_t machine_nvmlDeviceGet##name##RunningProcesses(nvmlDevice_t device, unsigned *count,                \
		nvmlProcessInfo_v1_t *infos)                                                                           \
	{                                                                                                              \
		return process_give_v1(device, kind, count, infos, list_processes);                                    \
	}                                                                                                              \
	nvmlReturn_t machine_nvmlDeviceGet##name##RunningProcesses_v2(nvmlDevice_t device, unsigned *count,             \
		nvmlProcessInfo_v2_t *infos)                                                                           \
	{                                                                                                              \
		return process_give(device, kind, count, infos, list_processes);                                       \
	}                                                                                                              \
	nvmlReturn_t machine_nvmlDeviceGet##name##RunningProcesses_v3(nvmlDevice_t device, unsigned *count,             \
		nvmlProcessInfo_t *infos)                                                                              \
	{                                                                                                              \
		return process_give(device, kind, count, infos, list_processes);                                       \
	}

ALL(Compute, PROCESS_COMPUTE)
ALL(Graphics, PROCESS_GRAPHICS)
ALL(MPSCompute, PROCESS_MPS)

nvmlReturn_t machine_nvmlDeviceGetRunningProcessDetailList(nvmlDevice_t device, nvmlProcessDetailList_t *list)
{
	return process_give_details(device, list, list_processes);
}

nvmlReturn_t machine_nvmlDeviceGetProcessUtilization(nvmlDevice_t device, nvmlProcessUtilizationSample_t *samples,
	unsigned *count, unsigned long long last_seen)
{
	return process_give_samples(device, samples, count, last_seen, list_processes);
}
