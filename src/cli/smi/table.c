/* The table of devices and processes, and -L. */
#include "cli/smi/smi.h"

#include <string.h>

#define LINE  "-----------------------------------------------------------------------------------------"
#define CELLS "-----------------------------------------+------------------------+----------------------"

/* A value with a suffix, or N/A. */
static const char *format_cell(const struct smi_gpu *g, const char *name, const char *suffix, char text[SMI_TEXT])
{
	if (field_text(field_find(name, strlen(name)), g, false, text))
		return strcpy(text, "N/A");
	strncat(text, suffix, SMI_TEXT - strlen(text) - 1);
	return text;
}

/* "Enabled" is shown as "On". */
static const char *format_on_off(const struct smi_gpu *g, const char *name, char text[SMI_TEXT])
{
	format_cell(g, name, "", text);
	return strcmp(text, "Enabled") ? strcmp(text, "Disabled") ? "N/A" : "Off" : "On";
}

/* Power without decimals. */
static const char *format_watts(const struct smi_gpu *g, const char *name, char text[SMI_TEXT])
{
	format_cell(g, name, "", text);
	if (!strcmp(text, "N/A"))
		return text;
	text[strcspn(text, ".")] = 0;
	return strcat(text, "W");
}

static const char *format_errors(const struct smi_gpu *g, char text[SMI_TEXT])
{
	const char *mode = format_on_off(g, "ecc.mode.current", text);

	return strcmp(mode, "On") ? mode : format_cell(g, "ecc.errors.uncorrected.volatile.total", "", text);
}

static const char *format_compute_mode(const struct smi_gpu *g, char text[SMI_TEXT])
{
	format_cell(g, "compute_mode", "", text);
	return strcmp(text, "Exclusive_Process") ? strcmp(text, "Exclusive_Thread") ? text : "E. Thread" : "E. Process";
}

static void print_device(struct smi *s, const struct smi_gpu *g)
{
	char a[SMI_TEXT], b[SMI_TEXT], c[SMI_TEXT], d[SMI_TEXT], e[SMI_TEXT], total[SMI_TEXT];

	fprintf(s->out, "| %3u  %-27.27s %5s  |   %16s %3s | %20s |\n", g->index, format_cell(g, "name", "", a),
		format_on_off(g, "persistence_mode", b), g->pci.busId, format_on_off(g, "display_active", c),
		format_errors(g, d));
	fprintf(s->out, "| %3s%6s%6s%16s / %5s |%11s / %9s |", format_cell(g, "fan.speed", "%", a),
		format_cell(g, "temperature.gpu", "C", b), format_cell(g, "pstate", "", c),
		format_watts(g, "power.draw", d), format_watts(g, "enforced.power.limit", e),
		format_cell(g, "memory.used", "MiB", (char[SMI_TEXT]){0}),
		format_cell(g, "memory.total", "MiB", total));
	fprintf(s->out, "%8s%13s |\n", format_cell(g, "utilization.gpu", "%", a), format_compute_mode(g, b));
	fprintf(s->out, "|%41s|%24s|%21s |\n", "", "", format_cell(g, "mig.mode.current", "", a));
	fprintf(s->out, "+" CELLS "+\n");
}

/* A long name is cut at its start, because its end is more telling. */
static void print_name(FILE *out, const char *name)
{
	size_t n = strlen(name);

	if (n > 36)
		fprintf(out, "...%-33s", name + n - 33);
	else
		fprintf(out, "%-36s", *name ? name : "[Not Found]");
}

static void print_instance(FILE *out, unsigned instance, int width)
{
	if (instance == ~0u)
		fprintf(out, "%*s", width, "N/A");
	else
		fprintf(out, "%*u", width, instance);
}

static void print_processes(struct smi *s)
{
	static struct smi_process list[SMI_PROCESSES];
	unsigned shown = 0;
	char memory[32];

	fprintf(s->out, "\n+" LINE "+\n| %-88s|\n", "Processes:");
	fprintf(s->out,
		"|  GPU   GI   CI              PID   Type   Process name                        GPU Memory |\n");
	fprintf(s->out,
		"|        ID   ID                                                               Usage      |\n");
	fprintf(s->out,
		"|=========================================================================================|\n");
	for (unsigned k = 0; k < s->count; k++) {
		unsigned n = process_all(&s->gpu[k], list);
		for (unsigned i = 0; i < n; i++, shown++) {
			const struct smi_process *p = &list[i];

			snprintf(memory, sizeof memory, p->memory_known ? "%lluMiB" : "N/A", value_mib(p->memory));
			fprintf(s->out, "|%5u", s->gpu[k].index);
			print_instance(s->out, p->instance, 6);
			print_instance(s->out, p->compute_instance, 5);
			fprintf(s->out, "%16u%7c   ", p->pid, p->type);
			print_name(s->out, p->name);
			fprintf(s->out, "%10s |\n", memory);
		}
	}
	if (!shown)
		fprintf(s->out, "| %-88s|\n", " No running processes found");
	fprintf(s->out, "+" LINE "+\n");
}

int table_print(struct smi *s)
{
	char now[64];

	smi_time(now, sizeof now);
	fprintf(s->out, "%s       \n+" LINE "+\n", now);
	fprintf(s->out, "| GANGWAY-SMI %-22sDriver Version: %-15sCUDA Version: %-9s|\n", s->driver, s->driver, s->cuda);
	fprintf(s->out, "+" CELLS "+\n");
	fprintf(s->out,
		"| GPU  Name                 Persistence-M | Bus-Id          Disp.A | Volatile Uncorr. ECC |\n");
	fprintf(s->out,
		"| Fan  Temp   Perf          Pwr:Usage/Cap |           Memory-Usage | GPU-Util  Compute M. |\n");
	fprintf(s->out,
		"|                                         |                        |               MIG M. |\n");
	fprintf(s->out,
		"|=========================================+========================+======================|\n");
	for (unsigned i = 0; i < s->count; i++)
		print_device(s, &s->gpu[i]);
	print_processes(s);
	return 0;
}

int table_list(struct smi *s)
{
	char name[SMI_TEXT], uuid[SMI_TEXT];

	for (unsigned i = 0; i < s->count; i++)
		fprintf(s->out, "GPU %u: %s (UUID: %s)\n", s->gpu[i].index, format_cell(&s->gpu[i], "name", "", name),
			format_cell(&s->gpu[i], "uuid", "", uuid));
	return 0;
}
