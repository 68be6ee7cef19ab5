/*
 * smi.h - gangway smi: the output of nvidia-smi, for machines without it.
 *
 *	smi.c      command line			value.c   single values of a device
 *	open.c     NVML and the selected devices	field.c   the table of fields
 *	csv.c      --query-gpu, --query-compute-apps	table.c   the table, -L
 *	query.c    -q and -q -x, from one tree		place.c   chassis and fabric
 *	monitor.c  dmon, pmon
 *
 * Field names, units, N/A and columns are those of nvidia-smi 580, so that scripts and exporters can read the output. The
 * values come from our libnvidia-ml.so.1. No settings are changed.
 */
#pragma once

#include <stdbool.h>
#include <stdio.h>
#include "abi/nvml.h"
#include "gen/nvml_ops.h"

#define SMI_DEVICES 64
#define SMI_TEXT    256

struct smi_gpu {
	const struct nvml_ops *f;
	nvmlDevice_t device;
	unsigned index, count; /* its index, and the number of all devices */
	nvmlPciInfo_t pci;
};

struct smi {
	struct nvml_ops f;
	char driver[80], cuda[16];
	unsigned all; /* number of devices */
	unsigned count;
	struct smi_gpu gpu[SMI_DEVICES]; /* the selected devices */
	FILE *out;
};

/* ---- open.c ---- */

/* Load NVML and select the devices in `ids`, a list of indices, UUIDs and PCI addresses (NULL: all). Returns 0 or the exit status. */
int smi_open(struct smi *s, const char *ids);

/* "Sun Nov 15 10:00:00 2026" */
void smi_time(char *text, size_t size);

/* ---- value.c: a value as text, without its unit ---- */

typedef nvmlReturn_t (*value_fn)(const struct smi_gpu *g, int what, char text[SMI_TEXT]);

/* The text for a value that NVML does not provide. */
const char *value_missing(nvmlReturn_t r);

unsigned long long value_mib(unsigned long long bytes);

/* ---- field.c ---- */

struct field {
	const char *name, *other; /* other: the older name, or NULL */
	const char *unit;         /* or NULL */
	value_fn get;
	int what;
};

/* Find a field by either name, or return NULL. Names that start with a dot are for -q only. */
const struct field *field_find(const char *name, size_t length);
const struct field *field_at(unsigned i); /* the i-th, or NULL */

/* Format the value with its unit. Returns true if the value is missing; `text` is then its replacement. */
bool field_text(const struct field *f, const struct smi_gpu *g, bool units, char text[SMI_TEXT]);

/* ---- processes ---- */

struct smi_process {
	unsigned pid;
	char type; /* C, G */
	unsigned long long memory;
	bool memory_known;
	unsigned instance, compute_instance; /* ~0 if none */
	char name[SMI_TEXT];
};

#define SMI_PROCESSES 256

unsigned process_all(const struct smi_gpu *g, struct smi_process *list);

/* ---- output; each function returns the exit status ---- */

int csv_devices(struct smi *s, const char *fields, const char *format);
int csv_processes(struct smi *s, const char *fields, const char *format);
int csv_help(bool processes);
int table_print(struct smi *s);
int table_list(struct smi *s);
int query_print(struct smi *s, bool xml, const char *sections);
int monitor_devices(struct smi *s, int argc, char **argv);
int monitor_processes(struct smi *s, int argc, char **argv);
