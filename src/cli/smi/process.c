/* List the processes of a device: compute processes, then graphics processes; each process once. */
#include "cli/smi/smi.h"

#include <string.h>

static void process_add(
	const struct smi_gpu *g, const nvmlProcessInfo_t *p, char type, struct smi_process *list, unsigned *n)
{
	struct smi_process *to = &list[*n];

	for (unsigned i = 0; i < *n; i++)
		if (list[i].pid == p->pid)
			return;
	*to = (struct smi_process){p->pid, type, p->usedGpuMemory,
		p->usedGpuMemory != (unsigned long long)NVML_VALUE_NOT_AVAILABLE, p->gpuInstanceId,
		p->computeInstanceId, ""};
	if (g->f->nvmlSystemGetProcessName(p->pid, to->name, sizeof to->name))
		to->name[0] = 0;
	(*n)++;
}

unsigned process_all(const struct smi_gpu *g, struct smi_process *list)
{
	nvmlProcessInfo_t infos[SMI_PROCESSES];
	unsigned n = 0, found = SMI_PROCESSES;

	if (!g->f->nvmlDeviceGetComputeRunningProcesses_v3(g->device, &found, infos))
		for (unsigned i = 0; i < found && n < SMI_PROCESSES; i++)
			process_add(g, &infos[i], 'C', list, &n);
	found = SMI_PROCESSES;
	if (!g->f->nvmlDeviceGetGraphicsRunningProcesses_v3(g->device, &found, infos))
		for (unsigned i = 0; i < found && n < SMI_PROCESSES; i++)
			process_add(g, &infos[i], 'G', list, &n);
	return n;
}
