#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "cli/cli.h"
#include "cli/doctor/doctor.h"

static const char usage[] =
	"usage: gangway doctor [--json] [--root DIR]\n\n"
	"Says what a CUDA program would find here, and what is in its way. What is wrong comes first, each with\n"
	"the command that fixes it.\n\n"
	"  --json      for machines: one object, with the same findings in the same order\n"
	"  --root DIR  look at the system in DIR (a chroot, an image) instead of this one; nothing in it is started\n"
	"  --help      this text\n\n"
	"Exit status 0: nothing is wrong; 1: something is; 2: words that are not understood.\n";

/* In the order of causes: what stands above makes what stands below useless to know. */
static const struct probe probes[] = {
	{"install", ON_MACHINE, probe_install},
	{"stubs", ON_MACHINE, probe_stubs},
	{"preload", ON_MACHINE, probe_preload},
	{"cache", ON_MACHINE, probe_cache},
	{"libraries", ON_MACHINE, probe_libraries},
	{"server", ON_MACHINE, probe_server},
	{"vendor", ON_MACHINE, probe_vendor},
	{"device", ON_MACHINE, probe_device},
	{"folder", ON_MACHINE, probe_cache_folder},
	{"limits", ON_MACHINE, probe_limits},
	{"container", ON_MACHINE, probe_container},
	{"machine", ON_MACHINE, probe_virtual},
};

static void examine(struct doctor *d)
{
	for (size_t i = 0; i < sizeof probes / sizeof *probes; i++)
		if (probes[i].subjects & d->subject) {
			d->probe = probes[i].name;
			probes[i].look(d);
		}
}

int cmd_doctor(int argc, char **argv)
{
	static const struct option options[] = {
		{"json", no_argument, NULL, 'j'}, {"root", required_argument, NULL, 'r'}, {"help", no_argument, NULL, 'h'}, {0},
	};
	struct doctor d = {.subject = ON_MACHINE};
	const char *root = NULL;
	bool json = false;
	int c, err;

	opterr = 0;
	while ((c = getopt_long(argc, argv, "+:", options, NULL)) != -1) {
		switch (c) {
		case 'j':
			json = true;
			break;
		case 'r':
			root = optarg;
			break;
		case 'h':
			fputs(usage, stdout);
			return 0;
		case ':':
			return cli_usage("doctor", "%s needs a value", argv[optind - 1]);
		default:
			return cli_usage("doctor", "there is no option %s", argv[optind - 1]);
		}
	}
	if (optind < argc)
		return cli_usage("doctor", "what is %s for?", argv[optind]);
	err = world_init(&d.world, root);
	if (err)
		return cli_usage("doctor", "--root %s: %s", root, strerror(-err));
	if (!cli_library_dir(d.ours, sizeof d.ours))
		d.ours[0] = 0;
	examine(&d);
	(json ? print_json : print_text)(&d);
	c = doctor_is_wrong(&d) ? 1 : 0;
	doctor_free_findings(&d);
	world_finish(&d.world);
	return c;
}
