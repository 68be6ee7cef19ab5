/*
 * process_list.h - lists of the processes on a device, in each of the formats of NVML.
 *
 * A backend fills a struct process_list.  These functions convert it and check the capacity of the caller's array.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "abi/nvml.h"

enum process_kind {
	PROCESS_COMPUTE,
	PROCESS_GRAPHICS,
	PROCESS_MPS,
	PROCESS_KINDS,
	PROCESS_LOAD = PROCESS_KINDS /* compute processes with their utilisation */
};

struct process {
	uint32_t pid;
	uint32_t instance, compute_instance; /* of a MIG device, plus one; 0: none */
	uint64_t memory;
	uint32_t kernels, copies; /* percent of the past second; only in a PROCESS_LOAD list */
};

#define PROCESSES 1024 /* a list ends here */

struct process_list {
	unsigned count;
	struct process process[PROCESSES];
};

bool process_list_add(struct process_list *list, struct process p); /* false: now full */
void process_list_sort(struct process_list *list);                  /* by process id */

/* Fills `list`, which is empty. */
typedef nvmlReturn_t (*process_source)(nvmlDevice_t device, enum process_kind kind, struct process_list *list);

nvmlReturn_t process_give_v1(nvmlDevice_t device, enum process_kind kind, unsigned *count, nvmlProcessInfo_v1_t *infos,
	process_source source);
nvmlReturn_t process_give(
	nvmlDevice_t device, enum process_kind kind, unsigned *count, nvmlProcessInfo_t *infos, process_source source);
nvmlReturn_t process_give_details(nvmlDevice_t device, nvmlProcessDetailList_t *list, process_source source);
nvmlReturn_t process_give_samples(nvmlDevice_t device, nvmlProcessUtilizationSample_t *samples, unsigned *count,
	unsigned long long last_seen, process_source source);

/* argv[0] of a process on this machine.  False: no such process. */
bool process_name(unsigned pid, char *name, size_t size);
