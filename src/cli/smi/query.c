/* -q: all values of a device as text or XML, from one tree (tree.def). */
#include "cli/smi/smi.h"

#include <string.h>
#include <strings.h>
#include "cli/cli.h"

enum {
	XML_PLAIN = 1, /* hexadecimal without its 0x */
	XML_UP = 2,    /* stands one level higher than in the text */
	XML_PAGES = 4, /* a count, and the list of what was counted */
	XML_NONE = 8,  /* says None where there is nothing */
	SECTION_MEMORY = 0x100,
	SECTION_UTILIZATION = 0x200,
	SECTION_ECC = 0x400,
	SECTION_TEMPERATURE = 0x800,
	SECTION_POWER = 0x1000,
	SECTION_CLOCK = 0x2000,
	SECTION_COMPUTE = 0x4000,
	SECTION_PERFORMANCE = 0x8000,
	SECTION_PIDS = 0x10000,
};

static const struct tree_row {
	int depth;
	const char *label, *element, *value, *suffix;
	unsigned flags;
} rows[] = {
#define TREE_ROW(depth, label, element, value, suffix, flags) {depth, label, element, value, suffix, flags},
#include "cli/smi/tree.def"
#undef TREE_ROW
};

#define COUNT (sizeof rows / sizeof *rows)

/* Parse the sections of -d. Returns 0 for an unknown section. */
static unsigned parse_sections(const char *text)
{
	static const struct {
		const char *name;
		unsigned flag;
	} known[] = {
		{"MEMORY", SECTION_MEMORY},
		{"UTILIZATION", SECTION_UTILIZATION},
		{"ECC", SECTION_ECC},
		{"TEMPERATURE", SECTION_TEMPERATURE},
		{"POWER", SECTION_POWER},
		{"CLOCK", SECTION_CLOCK},
		{"COMPUTE", SECTION_COMPUTE},
		{"PERFORMANCE", SECTION_PERFORMANCE},
		{"PIDS", SECTION_PIDS},
	};
	unsigned all = 0;

	while (*text) {
		size_t n = strcspn(text, ","), i = 0;
		while (i < sizeof known / sizeof *known &&
			(strlen(known[i].name) != n || strncasecmp(known[i].name, text, n)))
			i++;
		if (i == sizeof known / sizeof *known)
			return 0;
		all |= known[i].flag;
		text += n + (text[n] == ',');
	}
	return all;
}

/* The value with unit and suffix, or N/A. */
static void get_value(const struct tree_row *row, const struct smi_gpu *g, char text[SMI_TEXT])
{
	const struct field *f = field_find(row->value, strlen(row->value));

	if (!field_text(f, g, true, text))
		strncat(text, row->suffix, SMI_TEXT - strlen(text) - 1);
}

/* The value behind the processes. */
static void get_capability(const struct smi_gpu *g, char text[SMI_TEXT])
{
	field_text(field_find(".egm", 4), g, true, text);
}

/* ---- text ---- */

static void print_text(FILE *out, int depth, const char *label, const char *value)
{
	fprintf(out, "%*s%-*s: %s\n", 4 * depth, "", 55 - 4 * depth, label, value);
}

static void print_label(FILE *out, int depth, const char *label)
{
	fprintf(out, "%*s%s\n", 4 * depth, "", label);
}

static void print_text_instance(FILE *out, const char *label, unsigned instance)
{
	fprintf(out, "        %-34s: ", label);
	fprintf(out, instance == ~0u ? "N/A\n" : "%u\n", instance);
}

static void print_text_processes(FILE *out, const struct smi_gpu *g)
{
	static struct smi_process list[SMI_PROCESSES];
	unsigned n = process_all(g, list);

	if (!n) {
		print_text(out, 1, "Processes", "None");
		return;
	}
	print_label(out, 1, "Processes");
	for (unsigned i = 0; i < n; i++) {
		const struct smi_process *p = &list[i];

		print_text_instance(out, "GPU instance ID", p->instance);
		print_text_instance(out, "Compute instance ID", p->compute_instance);
		fprintf(out, "        %-34s: %u\n            %-30s: %c\n", "Process ID", p->pid, "Type", p->type);
		fprintf(out, "            %-30s: %s\n", "Name", p->name);
		fprintf(out, "            %-30s: ", "Used GPU Memory");
		fprintf(out, p->memory_known ? "%llu MiB\n" : "N/A\n", value_mib(p->memory));
	}
}

static void print_text_device(FILE *out, const struct smi_gpu *g, unsigned sections)
{
	char value[SMI_TEXT];
	unsigned within = 0;

	fprintf(out, "GPU %s\n", g->pci.busId);
	for (size_t i = 0; i < COUNT; i++) {
		const struct tree_row *r = &rows[i];

		if (r->depth == 1)
			within = r->flags;
		if ((sections && !(within & sections)) || !*r->label)
			continue;
		if (!r->value) {
			print_label(out, r->depth, r->label);
			continue;
		}
		get_value(r, g, value);
		print_text(out, r->depth, r->label, value);
	}
	if (!sections || sections & SECTION_PIDS)
		print_text_processes(out, g);
	if (!sections) {
		get_capability(g, value);
		print_label(out, 1, "Capabilities");
		print_text(out, 2, "EGM", value);
	}
	fprintf(out, "\n");
}

/* ---- XML ---- */

static void print_escaped(FILE *out, const char *text)
{
	for (; *text; text++) {
		switch (*text) {
		case '&':
			fputs("&amp;", out);
			break;
		case '<':
			fputs("&lt;", out);
			break;
		case '>':
			fputs("&gt;", out);
			break;
		default: /* no control character may stand in XML, and what is no UTF-8 would not be read */
			fputc((unsigned char)*text < 32 || (unsigned char)*text > 126 ? '?' : *text, out);
		}
	}
}

static void print_indent(FILE *out, int depth)
{
	for (int i = 0; i < depth; i++)
		fputc('\t', out);
}

static void print_element(FILE *out, int depth, const char *name, const char *text)
{
	print_indent(out, depth);
	fprintf(out, "<%s>", name);
	print_escaped(out, text);
	fprintf(out, "</%s>\n", name);
}

static void print_tag(FILE *out, int depth, const char *name, bool closing)
{
	print_indent(out, depth);
	fprintf(out, "<%s%s>\n", closing ? "/" : "", name);
}

static void print_xml_value(FILE *out, const struct tree_row *r, const struct smi_gpu *g)
{
	int depth = r->depth + 1 - !!(r->flags & XML_UP);
	char value[SMI_TEXT];

	if (r->flags & XML_NONE) {
		print_tag(out, depth, r->element, false);
		print_indent(out, depth + 1);
		fprintf(out, "None\n");
		print_tag(out, depth, r->element, true);
		return;
	}
	get_value(r, g, value);
	if (r->flags & XML_PAGES) {
		print_tag(out, depth, r->element, false);
		print_element(out, depth + 1, "retired_count", value);
		print_element(out, depth + 1, "retired_pagelist", "N/A");
		print_tag(out, depth, r->element, true);
		return;
	}
	print_element(out, depth, r->element, r->flags & XML_PLAIN && !strncmp(value, "0x", 2) ? value + 2 : value);
}

#define CLOCKS 512

static void print_clock_element(FILE *out, int depth, const char *name, unsigned mhz)
{
	char text[32];

	snprintf(text, sizeof text, "%u MHz", mhz);
	print_element(out, depth, name, text);
}

/* Limit a count reported by NVML to the size of our array. */
static unsigned limit_count(nvmlReturn_t r, unsigned n)
{
	return r ? 0 : n < CLOCKS ? n : CLOCKS;
}

static void print_xml_clocks(FILE *out, const struct smi_gpu *g)
{
	unsigned memory[CLOCKS], graphics[CLOCKS], n = CLOCKS;
	nvmlReturn_t r = g->f->nvmlDeviceGetSupportedMemoryClocks(g->device, &n, memory);

	n = limit_count(r, n);
	if (!n) {
		print_element(out, 2, "supported_clocks", value_missing(r));
		return;
	}
	print_tag(out, 2, "supported_clocks", false);
	for (unsigned i = 0; i < n; i++) {
		unsigned m = CLOCKS;
		r = g->f->nvmlDeviceGetSupportedGraphicsClocks(g->device, memory[i], &m, graphics);
		m = limit_count(r, m);
		print_tag(out, 3, "supported_mem_clock", false);
		print_clock_element(out, 4, "value", memory[i]);
		for (unsigned k = 0; k < m; k++)
			print_clock_element(out, 4, "supported_graphics_clock", graphics[k]);
		print_tag(out, 3, "supported_mem_clock", true);
	}
	print_tag(out, 2, "supported_clocks", true);
}

static void print_xml_processes(FILE *out, const struct smi_gpu *g)
{
	static struct smi_process list[SMI_PROCESSES];
	unsigned n = process_all(g, list);
	char text[64];

	print_tag(out, 2, "processes", false);
	for (unsigned i = 0; i < n; i++) {
		const struct smi_process *p = &list[i];

		print_tag(out, 3, "process_info", false);
		snprintf(text, sizeof text, p->instance == ~0u ? "N/A" : "%u", p->instance);
		print_element(out, 4, "gpu_instance_id", text);
		snprintf(text, sizeof text, p->compute_instance == ~0u ? "N/A" : "%u", p->compute_instance);
		print_element(out, 4, "compute_instance_id", text);
		snprintf(text, sizeof text, "%u", p->pid);
		print_element(out, 4, "pid", text);
		print_element(out, 4, "type", p->type == 'C' ? "C" : "G");
		print_element(out, 4, "process_name", p->name);
		snprintf(text, sizeof text, p->memory_known ? "%llu MiB" : "N/A", value_mib(p->memory));
		print_element(out, 4, "used_memory", text);
		print_tag(out, 3, "process_info", true);
	}
	print_tag(out, 2, "processes", true);
	print_tag(out, 2, "accounted_processes", false);
	print_tag(out, 2, "accounted_processes", true);
}

static void print_xml_device(FILE *out, const struct smi_gpu *g)
{
	const char *open[8] = {NULL};
	char value[SMI_TEXT];

	fprintf(out, "\t<gpu id=\"%s\">\n", g->pci.busId);
	for (size_t i = 0; i < COUNT; i++) {
		const struct tree_row *r = &rows[i];
		int depth = r->depth - !!(r->flags & XML_UP);

		for (int d = 7; d >= depth; d--)
			if (open[d]) {
				print_tag(out, d + 1, open[d], true);
				open[d] = NULL;
			}
		if (r->value) {
			print_xml_value(out, r, g);
		} else {
			print_tag(out, r->depth + 1, r->element, false);
			open[r->depth] = r->element;
		}
	}
	for (int d = 7; d >= 1; d--)
		if (open[d])
			print_tag(out, d + 1, open[d], true);
	print_xml_clocks(out, g);
	print_xml_processes(out, g);
	get_capability(g, value);
	print_tag(out, 2, "capabilities", false);
	print_element(out, 3, "egm", value);
	print_tag(out, 2, "capabilities", true);
	fprintf(out, "\t</gpu>\n\n");
}

static void print_xml(struct smi *s, const char *now)
{
	char count[16];

	fprintf(s->out, "<?xml version=\"1.0\" ?>\n<!DOCTYPE nvidia_smi_log SYSTEM "
			"\"nvsmi_device_v13.dtd\">\n<nvidia_smi_log>\n");
	snprintf(count, sizeof count, "%u", s->all);
	print_element(s->out, 1, "timestamp", now);
	print_element(s->out, 1, "driver_version", s->driver);
	print_element(s->out, 1, "cuda_version", s->cuda);
	print_element(s->out, 1, "attached_gpus", count);
	for (unsigned i = 0; i < s->count; i++)
		print_xml_device(s->out, &s->gpu[i]);
	fprintf(s->out, "</nvidia_smi_log>\n");
}

int query_print(struct smi *s, bool xml, const char *names)
{
	unsigned sections = names ? parse_sections(names) : 0;
	char now[64], count[16];

	if (names && !sections) {
		cli_usage("smi",
			"-d %s: it knows MEMORY, UTILIZATION, ECC, TEMPERATURE, POWER, CLOCK, COMPUTE, PIDS, "
			"PERFORMANCE",
			names);
		return 2;
	}
	smi_time(now, sizeof now);
	if (xml) {
		print_xml(s, now);
		return 0;
	}
	snprintf(count, sizeof count, "%u", s->all);
	fprintf(s->out, "\n==============NVSMI LOG==============\n\n");
	print_text(s->out, 0, "Timestamp", now);
	print_text(s->out, 0, "Driver Version", s->driver);
	print_text(s->out, 0, "CUDA Version", s->cuda);
	fprintf(s->out, "\n");
	print_text(s->out, 0, "Attached GPUs", count);
	for (unsigned i = 0; i < s->count; i++)
		print_text_device(s->out, &s->gpu[i], sections);
	return 0;
}
