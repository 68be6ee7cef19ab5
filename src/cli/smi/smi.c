/* gangway smi: parses the command line, which is that of nvidia-smi. */
#include "cli/smi/smi.h"

#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "cli/cli.h"
#include "cuda/nvml_errors.h"

static const char usage[] =
	"usage: gangway smi [--on DEVICE] [-i IDS] [-l SECONDS] [-f FILE] [WHAT]\n\n"
	"Show devices in the format of nvidia-smi. gangway smi changes no settings.\n\n"
	"  (no WHAT)                  a table of devices and processes\n"
	"  -L, --list-gpus            one line per device\n"
	"  -q, --query                all values; -x, --xml-format: as XML; -d, --display=SECTIONS: some sections\n"
	"                             (MEMORY, UTILIZATION, ECC, TEMPERATURE, POWER, CLOCK, COMPUTE, PIDS,\n"
	"                             PERFORMANCE)\n"
	"  --query-gpu=FIELDS --format=csv[,noheader][,nounits]\n"
	"                             comma-separated values of devices; --help-query-gpu lists the fields\n"
	"  --query-compute-apps=FIELDS --format=csv[,noheader][,nounits]\n"
	"                             the same of processes; --help-query-compute-apps lists the fields\n"
	"  dmon [-s pucm] [-d SECONDS] [-c COUNT]    one line per device, every second\n"
	"  pmon [-d SECONDS] [-c COUNT]              one line per process, every second\n"
	"  --version                  the versions of the driver, NVML and CUDA\n\n"
	"  --on DEVICE                the device; see gangway run --help\n"
	"  -i, --id=IDS               show only these devices: indices, UUIDs or PCI addresses, comma-separated\n"
	"  -l, --loop=SECONDS         repeat at this interval; -lms, --loop-ms=MILLISECONDS\n"
	"  -f, --filename=FILE        write to FILE\n"
	"  -h, --help                 show this text\n\n"
	"Exit status: 0; 2 for invalid arguments; 6 if -i names no device; 9 if there is no device at all.\n";

struct smi_options {
	const char *ids, *file, *fields, *apps, *format, *sections;
	bool list, query, xml, version;
	unsigned loop_ms;
	int rest; /* index of dmon or pmon in argv; 0 if absent */
};

/* Returns the value of an option ("-i 0", "--id 0", "--id=0"), or NULL if this is another option. */
static const char *option_value(int argc, char **argv, int *i, const char *brief, const char *full)
{
	const char *word = argv[*i];
	size_t n = strlen(full);

	if (!strncmp(word, full, n) && word[n] == '=')
		return word + n + 1;
	if ((*brief && !strcmp(word, brief)) || !strcmp(word, full))
		return *i + 1 < argc ? argv[++*i] : "";
	return NULL;
}

static int parse_interval(const char *text, unsigned unit, unsigned *ms)
{
	char *end;
	unsigned long n = strtoul(text, &end, 10);

	if (!*text) /* -l without a value: five seconds */
		n = 5, end = "";
	*ms = (unsigned)n * unit;
	return *end || !n || n > 1000000 ? cli_usage("smi", "the interval %s is not a number from 1 to 1000000", text)
					 : 0;
}

static int parse_flag(const char *word, struct smi_options *w)
{
	static const struct option names[] = {{"on", 0, NULL, 0}, {"id", 0, NULL, 0}, {"list-gpus", 0, NULL, 0},
		{"query", 0, NULL, 0}, {"xml-format", 0, NULL, 0}, {"display", 0, NULL, 0}, {"query-gpu", 0, NULL, 0},
		{"query-compute-apps", 0, NULL, 0}, {"format", 0, NULL, 0}, {"loop", 0, NULL, 0},
		{"loop-ms", 0, NULL, 0}, {"filename", 0, NULL, 0}, {"version", 0, NULL, 0}, {"help", 0, NULL, 0}, {0}};

	if (!strcmp(word, "-L") || !strcmp(word, "--list-gpus"))
		w->list = true;
	else if (!strcmp(word, "-q") || !strcmp(word, "--query") || !strcmp(word, "-a"))
		w->query = true;
	else if (!strcmp(word, "-x") || !strcmp(word, "--xml-format"))
		w->xml = true;
	else if (!strcmp(word, "--version"))
		w->version = true;
	else
		return *word == '-' ? cli_unknown_option("smi", word, names) : cli_unexpected("smi", word);
	return 0;
}

/* Parse one option and its value. Returns 0 or the exit status. */
static int parse_option(int argc, char **argv, int *i, struct smi_options *w)
{
	const char *v;

	if ((v = option_value(argc, argv, i, "", "--on")))
		return cli_check_device("smi", v) || setenv("GANGWAY_DEVICE", v, 1) ? 2 : 0;
	if ((v = option_value(argc, argv, i, "-i", "--id")))
		return w->ids = v, 0;
	if ((v = option_value(argc, argv, i, "-f", "--filename")))
		return w->file = v, 0;
	if ((v = option_value(argc, argv, i, "-lms", "--loop-ms")))
		return parse_interval(v, 1, &w->loop_ms);
	if ((v = option_value(argc, argv, i, "-l", "--loop")))
		return parse_interval(v, 1000, &w->loop_ms);
	if ((v = option_value(argc, argv, i, "-d", "--display")))
		return w->sections = v, 0;
	if ((v = option_value(argc, argv, i, "", "--query-gpu")))
		return w->fields = v, 0;
	if ((v = option_value(argc, argv, i, "", "--query-compute-apps")))
		return w->apps = v, 0;
	if ((v = option_value(argc, argv, i, "", "--format")))
		return w->format = v, 0;
	if (!strcmp(argv[*i], "dmon") || !strcmp(argv[*i], "pmon"))
		return w->rest = *i, *i = argc, 0;
	return parse_flag(argv[*i], w);
}

static int print_version(struct smi *s)
{
	char nvml[80];

	if (s->f.nvmlSystemGetNVMLVersion(nvml, sizeof nvml))
		snprintf(nvml, sizeof nvml, "N/A");
	const char *dot = strchr(nvml, '.'); /* the part before it is CUDA's major version */
	fprintf(s->out, "%-20s: %s\n%-20s: %s\n%-20s: %s\n%-20s: %s\n", "GANGWAY-SMI version", s->driver,
		"NVML version", dot ? dot + 1 : nvml, "DRIVER version", s->driver, "CUDA Version", s->cuda);
	return 0;
}

static int print_output(struct smi *s, const struct smi_options *w, int argc, char **argv)
{
	if (w->rest)
		return !strcmp(argv[w->rest], "dmon") ? monitor_devices(s, argc - w->rest, argv + w->rest)
						      : monitor_processes(s, argc - w->rest, argv + w->rest);
	if (w->fields)
		return csv_devices(s, w->fields, w->format);
	if (w->apps)
		return csv_processes(s, w->apps, w->format);
	if (w->version)
		return print_version(s);
	if (w->list)
		return table_list(s);
	return w->query ? query_print(s, w->xml, w->sections) : table_print(s);
}

/* Print once, or repeatedly with --loop. The header of CSV is printed once. */
static int print_repeatedly(struct smi *s, struct smi_options *w, int argc, char **argv)
{
	struct timespec t = {.tv_sec = w->loop_ms / 1000, .tv_nsec = w->loop_ms % 1000 * 1000000L};
	int r;

	while (!(r = print_output(s, w, argc, argv)) && w->loop_ms && !ferror(s->out)) {
		fflush(s->out);
		if (w->format)
			w->format = strstr(w->format, "nounits") ? "csv,noheader,nounits" : "csv,noheader";
		nanosleep(&t, NULL);
	}
	return r;
}

int cmd_smi(int argc, char **argv)
{
	static struct smi s;
	struct smi_options w = {0};
	int r;

	for (int i = 1; i < argc; i++) {
		if (!strcmp(argv[i], "-h") || !strcmp(argv[i], "--help")) {
			fputs(usage, stdout);
			return 0;
		}
		if (!strcmp(argv[i], "--help-query-gpu") || !strcmp(argv[i], "--help-query-compute-apps"))
			return csv_help(strstr(argv[i], "apps"));
		if ((r = parse_option(argc, argv, &i, &w)))
			return r;
	}
	s.out = w.file ? fopen(w.file, "we") : stdout;
	if (!s.out)
		return cli_fail("cannot write to %s: %s", w.file, strerror(errno));
	r = smi_open(&s, w.ids);
	return r ? r : print_repeatedly(&s, &w, argc, argv);
}
