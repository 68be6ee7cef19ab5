/* Options and common steps of gangway install and gangway uninstall. */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "cli/cli.h"
#include "cli/install/site.h"

int site_open(struct site *s, int argc, char **argv, const char *usage, bool takes_system)
{
	static const struct option options[] = {
		{"system", no_argument, NULL, 's'},
		{"yes", no_argument, NULL, 'y'},
		{"root", required_argument, NULL, 'r'},
		{"help", no_argument, NULL, 'h'},
		{0},
	};
	const char *root = "/", *command = argv[0];
	int c;

	opterr = 0;
	while ((c = getopt_long(argc, argv, ":", takes_system ? options : options + 1, NULL)) != -1) {
		switch (c) {
		case 's':
			s->system = true;
			break;
		case 'y':
			s->yes = true;
			break;
		case 'r':
			root = optarg;
			break;
		case 'h':
			fputs(usage, stdout);
			return 0;
		default:
			return cli_bad_option(command, c, argv, takes_system ? options : options + 1);
		}
	}
	if (optind < argc)
		return cli_usage(command, "unexpected argument %s", argv[optind]);
	if (takes_system && !s->system)
		return cli_usage(command, "--system is required: it installs Gangway for all programs of the machine. "
					  "For one program, use gangway run");
	if (!realpath(root, s->root) || tree_open(&s->tree, s->root))
		return cli_fail("%s: %s", root, strerror(errno));
	return -1;
}

void site_close(struct site *s)
{
	tree_close(&s->tree);
}

bool site_is_this_machine(const struct site *s)
{
	return !strcmp(s->root, "/");
}

int site_read_manifest(struct site *s)
{
	int r = manifest_read(&s->tree, &s->manifest);

	if (r == -EINVAL)
		return cli_fail("%s is not a list written by gangway install, so nothing was changed. Check it, and "
				"remove it if "
				"it is not needed",
			MANIFEST_FILE);
	return r && r != -ENOENT ? site_fail(s, MANIFEST_FILE, r) : r;
}

void site_show_run(const struct site *s, const char *more)
{
	bool here = site_is_this_machine(s);

	printf("  %-8s ldconfig -X%s%s%s\n", "run", here ? "" : " -r ", here ? "" : s->root, more);
}

int site_apply(struct site *s, int (*apply)(struct site *s))
{
	int r;

	if (!s->yes) {
		puts("\nNothing was changed. Repeat the command with --yes to make these changes.");
		return 0;
	}
	r = tree_lock(&s->tree);
	return r ? cli_fail("another gangway install or uninstall is running: %s", strerror(-r)) : apply(s);
}

int site_fail(const struct site *s, const char *path, int error)
{
	char why[PATH_MAX + 128];

	return cli_fail("%s%s", tree_error_text(&s->tree, path, error, why, sizeof why),
		error == -EACCES ? "; run the command as root" : "");
}
