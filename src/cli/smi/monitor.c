/* dmon and pmon: one line per device or process, every second. */
#include "cli/smi/smi.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "cli/cli.h"

struct column {
	char group; /* letter of -s */
	const char *title, *unit, *field;
};

static const struct column columns[] = {
	{'p', "pwr", "W", "power.draw"},
	{'p', "gtemp", "C", "temperature.gpu"},
	{'p', "mtemp", "C", "temperature.memory"},
	{'u', "sm", "%", "utilization.gpu"},
	{'u', "mem", "%", "utilization.memory"},
	{'u', "enc", "%", "utilization.encoder"},
	{'u', "dec", "%", "utilization.decoder"},
	{'u', "jpg", "%", "utilization.jpeg"},
	{'u', "ofa", "%", "utilization.ofa"},
	{'c', "mclk", "MHz", "clocks.current.memory"},
	{'c', "pclk", "MHz", "clocks.current.sm"},
	{'m', "fb", "MB", "memory.used"},
	{'m', "bar1", "MB", ".bar1.used"},
	{'m', "ccpm", "MB", "protected_memory.used"},
};

#define COLUMNS (sizeof columns / sizeof *columns)

struct monitor_options {
	const char *groups;
	unsigned delay;
	long count; /* -1: without end */
};

/* Parse -d SECONDS, -c COUNT and -s GROUPS. Returns 0 or the exit status. */
static int parse_monitor_options(int argc, char **argv, const char *what, const char *groups, struct monitor_options *p)
{
	*p = (struct monitor_options){groups, 1, -1};
	for (int i = 1; i < argc; i += 2) {
		const char *value = i + 1 < argc ? argv[i + 1] : NULL;

		if (value && !strcmp(argv[i], "-d") && atoi(value) > 0)
			p->delay = (unsigned)atoi(value);
		else if (value && !strcmp(argv[i], "-c") && atoi(value) > 0)
			p->count = atol(value);
		else if (value && !strcmp(argv[i], "-s") && value[strspn(value, "pucm")] == 0 && *value && *groups)
			p->groups = value;
		else
			return cli_usage("smi", "%s takes -d SECONDS, -c COUNT%s, not %s%s%s", what,
				*groups ? " and -s with p, u, c, m" : "", argv[i], value ? " " : "",
				value ? value : "");
	}
	return 0;
}

static void sleep_seconds(unsigned seconds)
{
	struct timespec t = {.tv_sec = seconds};

	nanosleep(&t, NULL);
}

/* A value as a whole number, or a dash. */
static const char *format_number(const struct smi_gpu *g, const char *name, char text[SMI_TEXT])
{
	if (field_text(field_find(name, strlen(name)), g, false, text))
		return "-";
	text[strcspn(text, ".")] = 0;
	return text;
}

static void print_heads(FILE *out, const char *groups)
{
	fprintf(out, "# gpu");
	for (size_t i = 0; i < COLUMNS; i++)
		if (strchr(groups, columns[i].group))
			fprintf(out, "%7s", columns[i].title);
	fprintf(out, " \n# Idx");
	for (size_t i = 0; i < COLUMNS; i++)
		if (strchr(groups, columns[i].group))
			fprintf(out, "%7s", columns[i].unit);
	fprintf(out, " \n");
}

int monitor_devices(struct smi *s, int argc, char **argv)
{
	char text[SMI_TEXT];
	struct monitor_options p;
	int r = parse_monitor_options(argc, argv, "dmon", "puc", &p);

	for (long line = 0; !r && p.count; line++, p.count -= p.count > 0) {
		if (line)
			sleep_seconds(p.delay);
		if (line % 20 == 0)
			print_heads(s->out, p.groups);
		for (unsigned k = 0; k < s->count; k++) {
			fprintf(s->out, "%5u", s->gpu[k].index);
			for (size_t i = 0; i < COLUMNS; i++)
				if (strchr(p.groups, columns[i].group))
					fprintf(s->out, "%7s", format_number(&s->gpu[k], columns[i].field, text));
			fprintf(s->out, " \n");
		}
		fflush(s->out);
	}
	return r;
}

/* ---- processes ---- */

static void print_load(FILE *out, unsigned percent, bool known)
{
	if (known && percent)
		fprintf(out, "%7u", percent);
	else
		fprintf(out, "%7s", "-");
}

static void print_process(struct smi *s, const struct smi_gpu *g, const struct smi_process *p,
	const nvmlProcessUtilizationSample_t *samples, unsigned n)
{
	const char *name = strrchr(p->name, '/');
	unsigned i = 0;

	while (i < n && samples[i].pid != p->pid)
		i++;
	fprintf(s->out, "%5u %10u %5c", g->index, p->pid, p->type);
	print_load(s->out, i < n ? samples[i].smUtil : 0, i < n);
	print_load(s->out, i < n ? samples[i].memUtil : 0, i < n);
	fprintf(s->out, "%7s%7s%7s%7s    %-15.15s\n", "-", "-", "-", "-", name ? name + 1 : p->name);
}

static void print_processes(struct smi *s, const struct smi_gpu *g)
{
	static struct smi_process list[SMI_PROCESSES];
	static nvmlProcessUtilizationSample_t samples[SMI_PROCESSES];
	unsigned n = process_all(g, list), nsamples = SMI_PROCESSES;

	if (!n)
		fprintf(s->out, "%5u %10s %5s%7s%7s%7s%7s%7s%7s    %-15s\n", g->index, "-", "-", "-", "-", "-", "-",
			"-", "-", "-");
	if (g->f->nvmlDeviceGetProcessUtilization(g->device, samples, &nsamples, 0))
		nsamples = 0;
	for (unsigned i = 0; i < n; i++)
		print_process(s, g, &list[i], samples, nsamples);
}

int monitor_processes(struct smi *s, int argc, char **argv)
{
	struct monitor_options p;
	int r = parse_monitor_options(argc, argv, "pmon", "", &p);

	for (long line = 0; !r && p.count; line++, p.count -= p.count > 0) {
		if (line)
			sleep_seconds(p.delay);
		if (line % 20 == 0)
			fprintf(s->out,
				"# gpu         pid   type     sm    mem    enc    dec    jpg    ofa    command \n"
				"# Idx           #    C/G      %%      %%      %%      %%      %%      %%    name \n");
		for (unsigned k = 0; k < s->count; k++)
			print_processes(s, &s->gpu[k]);
		fflush(s->out);
	}
	return r;
}
