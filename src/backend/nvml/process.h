/*
 * process.h - lists of processes, in each of the shapes that NVML has for them.
 *
 * Who knows the processes fills a list; what follows is the same for all: how much room the caller has, and what it
 * is told when that is too little.
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
	PROCESS_LOAD = PROCESS_KINDS /* those that compute, and how much of the device each of them keeps busy */
};

struct process {
	uint32_t pid;
	uint32_t instance, compute_instance; /* of a part of the device, and one more; 0: it is whole */
	uint64_t memory;
	uint32_t kernels, copies; /* percent of the past second, where that was asked for */
};

#define PROCESSES 1024 /* more are not told */

struct process_list {
	unsigned count;
	struct process process[PROCESSES];
};

bool process_list_add(struct process_list *list, struct process p); /* false: it is full */
void process_list_sort(struct process_list *list);                  /* by number */

/* Who knows: fills `list`, which is empty. */
typedef nvmlReturn_t (*process_source)(nvmlDevice_t device, enum process_kind kind, struct process_list *list);

nvmlReturn_t process_give_v1(nvmlDevice_t device, enum process_kind kind, unsigned *count, nvmlProcessInfo_v1_t *infos,
	process_source source);
nvmlReturn_t process_give(
	nvmlDevice_t device, enum process_kind kind, unsigned *count, nvmlProcessInfo_t *infos, process_source source);
nvmlReturn_t process_give_details(nvmlDevice_t device, nvmlProcessDetailList_t *list, process_source source);
nvmlReturn_t process_give_samples(nvmlDevice_t device, nvmlProcessUtilizationSample_t *samples, unsigned *count,
	unsigned long long last_seen, process_source source);

/* What a process was started as, of this machine: false if there is none. */
bool process_name(unsigned pid, char *name, size_t size);
