/*
 * smi.h - gangway smi: what nvidia-smi prints, for machines that have none.
 *
 *	smi.c      words on the command line		value.c   one value of a device, by name
 *	open.c     NVML, and the devices meant		field.c   which values there are
 *	csv.c      --query-gpu, --query-compute-apps	table.c   the table, -L
 *	query.c    -q and -q -x, from one tree		place.c   values of a chassis and a fabric
 *	monitor.c  dmon, pmon
 *
 * The forms (names of fields, units, N/A, columns) are nvidia-smi's, release 580, so that scripts and exporters read
 * it; the values are NVML's, from our own libnvidia-ml.so.1, on whichever device it has.  Nothing is set.
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
	unsigned index, count; /* its own, and of all devices */
	nvmlPciInfo_t pci;
};

struct smi {
	struct nvml_ops f;
	char driver[80], cuda[16];
	unsigned all; /* devices there are */
	unsigned count;
	struct smi_gpu gpu[SMI_DEVICES]; /* those that are meant */
	FILE *out;
};

/* ---- open.c ---- */

/* Loads NVML and finds the devices in `ids` (a list of indices, UUIDs and bus addresses; NULL: all).  0 or the exit status. */
int smi_open(struct smi *s, const char *ids);

/* "Sun Nov 15 10:00:00 2026" */
void smi_time(char *text, size_t size);

/* ---- value.c: a value as text, without its unit ---- */

typedef nvmlReturn_t (*value_fn)(const struct smi_gpu *g, int what, char text[SMI_TEXT]);

/* What stands in place of a value that NVML does not give. */
const char *value_missing(nvmlReturn_t r);

unsigned long long value_mib(unsigned long long bytes);

/* ---- field.c ---- */

struct field {
	const char *name, *other; /* other: the older one, or NULL */
	const char *unit;         /* NULL: none */
	value_fn get;
	int what;
};

/* By either name; NULL: there is none.  Names that begin with a dot are for -q alone. */
const struct field *field_find(const char *name, size_t length);
const struct field *field_at(unsigned i); /* the i-th, or NULL */

/* With its unit, or what stands in its place (true: it is that). */
bool field_text(const struct field *f, const struct smi_gpu *g, bool units, char text[SMI_TEXT]);

/* ---- processes ---- */

struct smi_process {
	unsigned pid;
	char type; /* C, G */
	unsigned long long memory;
	bool memory_known;
	unsigned instance, compute_instance; /* ~0: none */
	char name[SMI_TEXT];
};

#define SMI_PROCESSES 256

unsigned process_all(const struct smi_gpu *g, struct smi_process *list);

/* ---- what is printed: each returns the exit status ---- */

int csv_devices(struct smi *s, const char *fields, const char *format);
int csv_processes(struct smi *s, const char *fields, const char *format);
int csv_help(bool processes);
int table_print(struct smi *s);
int table_list(struct smi *s);
int query_print(struct smi *s, bool xml, const char *sections);
int monitor_devices(struct smi *s, int argc, char **argv);
int monitor_processes(struct smi *s, int argc, char **argv);
