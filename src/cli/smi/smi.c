/* gangway smi: the words on the command line, which are nvidia-smi's. */
#include "cli/smi/smi.h"

#include <errno.h>
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

struct wish {
	const char *ids, *file, *fields, *apps, *format, *sections;
	bool list, query, xml, version;
	unsigned loop_ms;
	int rest; /* where dmon or pmon stands in argv; 0: nowhere */
};

/* An option that wants a value: "-i 0", "--id 0", "--id=0".  Its value, or NULL if it is another option. */
static const char *value_of(int argc, char **argv, int *i, const char *brief, const char *full)
{
	const char *word = argv[*i];
	size_t n = strlen(full);

	if (!strncmp(word, full, n) && word[n] == '=')
		return word + n + 1;
	if ((*brief && !strcmp(word, brief)) || !strcmp(word, full))
		return *i + 1 < argc ? argv[++*i] : "";
	return NULL;
}

static int read_loop(const char *text, unsigned unit, unsigned *ms)
{
	char *end;
	unsigned long n = strtoul(text, &end, 10);

	if (!*text) /* -l alone: every five seconds */
		n = 5, end = "";
	*ms = (unsigned)n * unit;
	return *end || !n || n > 1000000 ? cli_usage("smi", "how long is %s?", text) : 0;
}

static int read_flag(const char *word, struct wish *w)
{
	if (!strcmp(word, "-L") || !strcmp(word, "--list-gpus"))
		w->list = true;
	else if (!strcmp(word, "-q") || !strcmp(word, "--query") || !strcmp(word, "-a"))
		w->query = true;
	else if (!strcmp(word, "-x") || !strcmp(word, "--xml-format"))
		w->xml = true;
	else if (!strcmp(word, "--version"))
		w->version = true;
	else
		return cli_usage("smi", "unknown option %s", word);
	return 0;
}

/* One word, and its value if it has one; 0 or the exit status. */
static int read_word(int argc, char **argv, int *i, struct wish *w)
{
	const char *v;

	if ((v = value_of(argc, argv, i, "", "--on")))
		return setenv("GANGWAY_DEVICE", v, 1);
	if ((v = value_of(argc, argv, i, "-i", "--id")))
		return w->ids = v, 0;
	if ((v = value_of(argc, argv, i, "-f", "--filename")))
		return w->file = v, 0;
	if ((v = value_of(argc, argv, i, "-lms", "--loop-ms")))
		return read_loop(v, 1, &w->loop_ms);
	if ((v = value_of(argc, argv, i, "-l", "--loop")))
		return read_loop(v, 1000, &w->loop_ms);
	if ((v = value_of(argc, argv, i, "-d", "--display")))
		return w->sections = v, 0;
	if ((v = value_of(argc, argv, i, "", "--query-gpu")))
		return w->fields = v, 0;
	if ((v = value_of(argc, argv, i, "", "--query-compute-apps")))
		return w->apps = v, 0;
	if ((v = value_of(argc, argv, i, "", "--format")))
		return w->format = v, 0;
	if (!strcmp(argv[*i], "dmon") || !strcmp(argv[*i], "pmon"))
		return w->rest = *i, *i = argc, 0;
	return read_flag(argv[*i], w);
}

static int print_version(struct smi *s)
{
	char nvml[80];

	if (s->f.nvmlSystemGetNVMLVersion(nvml, sizeof nvml))
		snprintf(nvml, sizeof nvml, "N/A");
	const char *dot = strchr(nvml, '.'); /* CUDA's stands before it */
	fprintf(s->out, "%-20s: %s\n%-20s: %s\n%-20s: %s\n%-20s: %s\n", "GANGWAY-SMI version", s->driver,
		"NVML version", dot ? dot + 1 : nvml, "DRIVER version", s->driver, "CUDA Version", s->cuda);
	return 0;
}

static int print(struct smi *s, const struct wish *w, int argc, char **argv)
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

/* For as long as it is wanted: the header of a CSV comes once. */
static int repeat(struct smi *s, struct wish *w, int argc, char **argv)
{
	struct timespec t = {.tv_sec = w->loop_ms / 1000, .tv_nsec = w->loop_ms % 1000 * 1000000L};
	int r;

	while (!(r = print(s, w, argc, argv)) && w->loop_ms && !ferror(s->out)) {
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
	struct wish w = {0};
	int r;

	for (int i = 1; i < argc; i++) {
		if (!strcmp(argv[i], "-h") || !strcmp(argv[i], "--help")) {
			fputs(usage, stdout);
			return 0;
		}
		if (!strcmp(argv[i], "--help-query-gpu") || !strcmp(argv[i], "--help-query-compute-apps"))
			return csv_help(strstr(argv[i], "apps"));
		if ((r = read_word(argc, argv, &i, &w)))
			return r;
	}
	s.out = w.file ? fopen(w.file, "we") : stdout;
	if (!s.out)
		return cli_fail("cannot write to %s: %s", w.file, strerror(errno));
	r = smi_open(&s, w.ids);
	return r ? r : repeat(&s, &w, argc, argv);
}
