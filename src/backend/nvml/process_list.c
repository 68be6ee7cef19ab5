/* Converts lists of processes into the formats of NVML. */
#include "backend/nvml/process_list.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define NO_INSTANCE (~0u) /* not a MIG device */

bool process_list_add(struct process_list *list, struct process p)
{
	if (list->count < PROCESSES)
		list->process[list->count++] = p;
	return list->count < PROCESSES;
}

static int compare_pids(const void *a, const void *b)
{
	const struct process *x = a, *y = b;

	return (x->pid > y->pid) - (x->pid < y->pid);
}

void process_list_sort(struct process_list *list)
{
	qsort(list->process, list->count, sizeof *list->process, compare_pids);
}

/*
 * Makes a list, which the caller frees also after an error.  *count is the capacity of the array `to`, and becomes the
 * number of processes.
 */
static nvmlReturn_t process_list_create(nvmlDevice_t device, enum process_kind kind, unsigned *count, const void *to,
	process_source source, struct process_list **list)
{
	*list = NULL;
	if (!count || (*count && !to))
		return NVML_ERROR_INVALID_ARGUMENT;
	*list = calloc(1, sizeof **list);
	if (!*list)
		return NVML_ERROR_MEMORY;
	nvmlReturn_t r = source(device, kind, *list);
	if (r)
		return r;
	unsigned capacity = *count;
	*count = (*list)->count;
	return capacity < *count ? NVML_ERROR_INSUFFICIENT_SIZE : NVML_SUCCESS;
}

static unsigned instance_id(uint32_t p)
{
	return p ? p - 1 : NO_INSTANCE;
}

nvmlReturn_t process_give_v1(nvmlDevice_t device, enum process_kind kind, unsigned *count, nvmlProcessInfo_v1_t *infos,
	process_source source)
{
	struct process_list *l;
	nvmlReturn_t r = process_list_create(device, kind, count, infos, source, &l);

	for (unsigned i = 0; !r && i < l->count; i++)
		infos[i] = (nvmlProcessInfo_v1_t){l->process[i].pid, l->process[i].memory};
	free(l);
	return r;
}

nvmlReturn_t process_give(
	nvmlDevice_t device, enum process_kind kind, unsigned *count, nvmlProcessInfo_t *infos, process_source source)
{
	struct process_list *l;
	nvmlReturn_t r = process_list_create(device, kind, count, infos, source, &l);

	for (unsigned i = 0; !r && i < l->count; i++) {
		const struct process *p = &l->process[i];
		infos[i] = (nvmlProcessInfo_t){
			p->pid, p->memory, instance_id(p->instance), instance_id(p->compute_instance)};
	}
	free(l);
	return r;
}

nvmlReturn_t process_give_details(nvmlDevice_t device, nvmlProcessDetailList_t *list, process_source source)
{
	struct process_list *l;

	if (!list)
		return NVML_ERROR_INVALID_ARGUMENT;
	if (list->version != NVML_SIZED(nvmlProcessDetailList_t, 1))
		return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
	if (list->mode >= PROCESS_KINDS)
		return NVML_ERROR_INVALID_ARGUMENT;
	nvmlReturn_t r =
		process_list_create(device, list->mode, &list->numProcArrayEntries, list->procArray, source, &l);
	for (unsigned i = 0; !r && i < l->count; i++) {
		const struct process *p = &l->process[i];
		list->procArray[i] = (nvmlProcessDetail_v1_t){
			p->pid, p->memory, instance_id(p->instance), instance_id(p->compute_instance), 0};
	}
	free(l);
	return r;
}

static unsigned long long now_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	return (unsigned long long)t.tv_sec * 1000000 + (unsigned long long)t.tv_nsec / 1000;
}

/* One sample for each process, taken now.  An empty list is NVML_ERROR_NOT_FOUND. */
nvmlReturn_t process_give_samples(nvmlDevice_t device, nvmlProcessUtilizationSample_t *samples, unsigned *count,
	unsigned long long last_seen, process_source source)
{
	unsigned long long time = now_us();
	struct process_list *l;
	unsigned capacity = count && samples ? *count : 0;

	if (count)
		*count = capacity;
	nvmlReturn_t r = process_list_create(device, PROCESS_LOAD, count, samples, source, &l);
	if (!r && (!l->count || last_seen >= time)) {
		*count = 0;
		r = NVML_ERROR_NOT_FOUND;
	}
	for (unsigned i = 0; !r && i < l->count; i++) {
		const struct process *p = &l->process[i];
		samples[i] = (nvmlProcessUtilizationSample_t){
			.pid = p->pid, .timeStamp = time, .smUtil = p->kernels, .memUtil = p->copies};
	}
	free(l);
	return r;
}

bool process_name(unsigned pid, char *name, size_t size)
{
	char path[32];
	ssize_t n;

	snprintf(path, sizeof path, "/proc/%u/cmdline", pid);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	n = read(fd, name, size - 1);
	close(fd);
	name[n > 0 ? n : 0] = 0; /* argv[0]: the arguments are NUL-terminated */
	return n > 0;
}
