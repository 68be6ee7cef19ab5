/* Processes on the devices cpu and null, from their usage pages. */
#include "backend/nvml/machine.h"

#include "backend/nvml/process_list.h"

struct process_collector {
	int physical;
	struct process_list *list;
};

static bool process_collect(const struct usage_page *p, void *arg)
{
	struct process_collector *c = arg;
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

/* These devices have no graphics and no MPS processes. */
static nvmlReturn_t list_processes(nvmlDevice_t device, enum process_kind kind, struct process_list *list)
{
	const struct machine_device *d = machine_find(device);

	if (!d)
		return NVML_ERROR_INVALID_ARGUMENT;
	struct process_collector c = {d->physical, list};
	if (kind == PROCESS_COMPUTE || kind == PROCESS_LOAD)
		usage_each(machine.kind, process_collect, &c);
	process_list_sort(list);
	return NVML_SUCCESS;
}

#define PROCESSES_OF machine
#include "backend/nvml/process_calls.inc"
