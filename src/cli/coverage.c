/* gangway coverage: which entry points do their work on which device. The table is made while building. */
#include <getopt.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include "cli/cli.h"

static const char usage[] =
	"usage: gangway coverage [--missing DEVICE] [--totals] [NAME...]\n\n"
	"Lists the entry points of each library and where they do their work: nvidia (this machine's driver,\n"
	"passed through), cpu (the devices we drive ourselves, cpu and null), served (goes to a server, where it\n"
	"does what the server's device does). Elsewhere they answer that they are not supported.\n\n"
	"  NAME              only names that contain this\n"
	"  --missing DEVICE  only those that do not work on cpu, or on served\n"
	"  --totals          only how many there are\n"
	"  --help            this text\n";

enum library {
#define LIBRARY(name, soname, link) LIBRARY_##name,
#include "gen/libraries.def"
#undef LIBRARY
	LIBRARIES
};

static const char *const sonames[] = {
#define LIBRARY(name, soname, link) soname,
#include "gen/libraries.def"
#undef LIBRARY
};

static const struct row {
	enum library library;
	const char *name, *class;
	int since; /* 1000 * major + 10 * minor, or 0 */
	bool cpu, served;
} rows[] = {
#define ENTRY(library, name, class, since, cpu, served) {LIBRARY_##library, name, class, since, cpu, served},
#include "gen/coverage.inc"
#undef ENTRY
};

struct filter {
	const char *missing;
	char **names;
	int count;
};

static bool wanted(const struct row *r, const struct filter *f)
{
	if (f->missing && (!strcmp(f->missing, "cpu") ? r->cpu : r->served))
		return false;
	for (int i = 0; i < f->count; i++)
		if (strstr(r->name, f->names[i]))
			return true;
	return !f->count;
}

static void print_row(const struct row *r)
{
	char since[16] = "-";

	if (r->since)
		snprintf(since, sizeof since, "%d.%d", r->since / 1000, r->since % 1000 / 10);
	printf("%-56s %-12s %5s  nvidia%s%s\n", r->name, r->class, since, r->cpu ? " cpu" : "    ",
		r->served ? " served" : "");
}

static int print_library(enum library library, const struct filter *f, bool totals)
{
	int count = 0, cpu = 0, served = 0;

	for (const struct row *r = rows; r < rows + sizeof rows / sizeof *rows; r++) {
		if (r->library != library || !wanted(r, f))
			continue;
		if (!totals)
			print_row(r);
		count++;
		cpu += r->cpu;
		served += r->served;
	}
	if (count)
		printf("%s: %d names; nvidia %d, cpu %d, served %d\n", sonames[library], count, count, cpu, served);
	return count;
}

int cmd_coverage(int argc, char **argv)
{
	static const struct option options[] = {
		{"missing", required_argument, NULL, 'm'},
		{"totals", no_argument, NULL, 't'},
		{"help", no_argument, NULL, 'h'},
		{0},
	};
	struct filter f = {0};
	bool totals = false;
	int c, n = 0;

	opterr = 0;
	while ((c = getopt_long(argc, argv, ":", options, NULL)) != -1) {
		switch (c) {
		case 'm':
			f.missing = optarg;
			if (strcmp(optarg, "cpu") && strcmp(optarg, "served"))
				return cli_usage("coverage", "--missing is about cpu or served, not %s", optarg);
			break;
		case 't':
			totals = true;
			break;
		case 'h':
			fputs(usage, stdout);
			return 0;
		case ':':
			return cli_usage("coverage", "%s needs a value", argv[optind - 1]);
		default:
			return cli_usage("coverage", "there is no option %s", argv[optind - 1]);
		}
	}
	f.names = argv + optind;
	f.count = argc - optind;
	for (int i = 0; i < LIBRARIES; i++)
		n += print_library(i, &f, totals);
	return n || f.missing ? 0 : cli_fail("no name has %s in it", argv[optind]);
}
