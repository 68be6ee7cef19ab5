/* --query-gpu and --query-compute-apps: comma-separated values. */
#include "cli/smi/smi.h"

#include <string.h>
#include "cli/cli.h"

#define COLUMNS 512

struct csv_format {
	bool header, units;
};

/* Parse csv[,noheader][,nounits], in any order. */
static bool parse_format(const char *text, struct csv_format *f)
{
	bool csv = false;

	*f = (struct csv_format){true, true};
	while (text && *text) {
		size_t n = strcspn(text, ",");
		if (n == 3 && !strncmp(text, "csv", n))
			csv = true;
		else if (n == 8 && !strncmp(text, "noheader", n))
			f->header = false;
		else if (n == 7 && !strncmp(text, "nounits", n))
			f->units = false;
		else
			return false;
		text += n + (text[n] == ',');
	}
	return csv;
}

static int report_wrong_format(void)
{
	fprintf(stderr, "gangway: --format must be csv, optionally with noheader and nounits: --format=csv,noheader\n");
	return 2;
}

static int report_wrong_field(const char *name, int n, const char *help)
{
	printf("Field \"%.*s\" is not a valid field to query.\n\n", n, name);
	fprintf(stderr, "See: gangway smi %s\n", help);
	return 2;
}

/* ---- devices ---- */

static int parse_fields(const char *text, const struct field **list, unsigned *count)
{
	*count = 0;
	while (*text) {
		size_t n = strcspn(text, ","), start = strspn(text, " ");
		const struct field *f = n > start ? field_find(text + start, n - start) : NULL;
		if (!f || *f->name == '.')
			return report_wrong_field(text, (int)n, "--help-query-gpu");
		if (*count < COLUMNS)
			list[(*count)++] = f;
		text += n + (text[n] == ',');
	}
	return 0;
}

static void print_header(FILE *out, const char *name, const char *unit, bool last)
{
	fprintf(out, unit ? "%s [%s]" : "%s", name, unit);
	fputs(last ? "\n" : ", ", out);
}

int csv_devices(struct smi *s, const char *names, const char *format)
{
	const struct field *list[COLUMNS];
	char text[SMI_TEXT];
	struct csv_format form;
	unsigned n;
	int r = parse_fields(names, list, &n);

	if (r)
		return r;
	if (!parse_format(format, &form))
		return report_wrong_format();
	for (unsigned i = 0; form.header && i < n; i++)
		print_header(s->out, list[i]->name, list[i]->unit, i + 1 == n);
	for (unsigned k = 0; k < s->count; k++)
		for (unsigned i = 0; i < n; i++) {
			bool missing = field_text(list[i], &s->gpu[k], form.units, text);
			fprintf(s->out, missing ? "[%s]%s" : "%s%s", text, i + 1 == n ? "\n" : ", ");
		}
	return 0;
}

/* ---- processes ---- */

static const struct {
	const char *name, *other, *unit;
	const char *field; /* field of the device; NULL for a value of the process */
} columns[] = {
	{"timestamp", NULL, NULL, "timestamp"},
	{"gpu_name", NULL, NULL, "name"},
	{"gpu_bus_id", NULL, NULL, "pci.bus_id"},
	{"gpu_serial", NULL, NULL, "serial"},
	{"gpu_uuid", NULL, NULL, "uuid"},
	{"pid", NULL, NULL, NULL},
	{"process_name", "name", NULL, NULL},
	{"used_gpu_memory", "used_memory", "MiB", NULL},
};

enum { PID = 5, NAME, MEMORY, NCOLUMNS };

static int find_column(const char *text, size_t n)
{
	for (int i = 0; i < NCOLUMNS; i++) {
		const char *name = columns[i].name, *other = columns[i].other;
		if ((strlen(name) == n && !strncmp(name, text, n)) ||
			(other && strlen(other) == n && !strncmp(other, text, n)))
			return i;
	}
	return -1;
}

static int parse_columns(const char *text, int *list, unsigned *count)
{
	*count = 0;
	while (*text) {
		size_t n = strcspn(text, ","), start = strspn(text, " ");
		int c = n > start ? find_column(text + start, n - start) : -1;
		if (c < 0)
			return report_wrong_field(text, (int)n, "--help-query-compute-apps");
		if (*count < COLUMNS)
			list[(*count)++] = c;
		text += n + (text[n] == ',');
	}
	return 0;
}

static void print_cell(FILE *out, const struct smi_gpu *g, const struct smi_process *p, int column, bool units)
{
	char text[SMI_TEXT];

	switch (column) {
	case PID:
		fprintf(out, "%u", p->pid);
		break;
	case NAME:
		fprintf(out, "%s", *p->name ? p->name : "[Not Found]");
		break;
	case MEMORY:
		if (p->memory_known)
			fprintf(out, "%llu%s", value_mib(p->memory), units ? " MiB" : "");
		else
			fprintf(out, "[N/A]");
		break;
	default: {
		const char *name = columns[column].field;
		bool missing = field_text(field_find(name, strlen(name)), g, units, text);
		fprintf(out, missing ? "[%s]" : "%s", text);
	}
	}
}

int csv_processes(struct smi *s, const char *names, const char *format)
{
	static struct smi_process list[SMI_PROCESSES];
	int wanted[COLUMNS];
	struct csv_format form;
	unsigned n;
	int r = parse_columns(names, wanted, &n);

	if (r)
		return r;
	if (!parse_format(format, &form))
		return report_wrong_format();
	for (unsigned i = 0; form.header && i < n; i++)
		print_header(s->out, columns[wanted[i]].name, columns[wanted[i]].unit, i + 1 == n);
	for (unsigned k = 0; k < s->count; k++) {
		unsigned processes = process_all(&s->gpu[k], list);
		for (unsigned p = 0; p < processes; p++) {
			for (unsigned i = 0; list[p].type == 'C' && i < n; i++) {
				print_cell(s->out, &s->gpu[k], &list[p], wanted[i], form.units);
				fputs(i + 1 == n ? "\n" : ", ", s->out);
			}
		}
	}
	return 0;
}

/* ---- help ---- */

static void print_name(const char *name, const char *other, const char *unit)
{
	printf(other ? "\"%s\" or \"%s\"\n" : "\"%s\"\n", name, other);
	printf(unit ? "In %s.\n\n" : "\n", unit);
}

int csv_help(bool processes)
{
	const struct field *f;

	printf("List of valid properties to query for the switch \"--query-%s\":\n\n",
		processes ? "compute-apps" : "gpu");
	for (int i = 0; processes && i < NCOLUMNS; i++)
		print_name(columns[i].name, columns[i].other, columns[i].unit);
	for (unsigned i = 0; !processes && (f = field_at(i)); i++)
		if (*f->name != '.')
			print_name(f->name, f->other, f->unit);
	return 0;
}
