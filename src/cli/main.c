#include <limits.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "cli/cli.h"

static const struct command {
	const char *name;
	int (*run)(int argc, char **argv);
	const char *help;
} commands[] = {
	{"cdi", cmd_cdi, "describe the device to container engines"},
	{"config", cmd_config, "print what a build needs to link"},
	{"coverage", cmd_coverage, "list which calls do their work, and where"},
	{"doctor", cmd_doctor, "say what a program would find here, and what is in its way"},
	{"install", cmd_install, "make it this machine's CUDA driver"},
	{"run", cmd_run, "run a CUDA program on a device of your choice"},
	{"serve", cmd_serve, "offer this machine's device to others"},
	{"smi", cmd_smi, "show devices, as nvidia-smi does"},
	{"top", cmd_top, "show what a server's clients do"},
	{"uninstall", cmd_uninstall, "take back what install did"},
	{"version", cmd_version, "print version, build and paths"},
};

#define COUNT (sizeof commands / sizeof *commands)

static void say(const char *format, va_list args)
{
	fputs("gangway: ", stderr);
	vfprintf(stderr, format, args);
	fputc('\n', stderr);
}

int cli_fail(const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	say(format, ap);
	va_end(ap);
	return 1;
}

int cli_usage(const char *command, const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	say(format, ap);
	va_end(ap);
	fprintf(stderr, "See: gangway %s%s--help\n", command, *command ? " " : "");
	return 2;
}

int cli_library_dir(char *dir, size_t size)
{
	char exe[PATH_MAX], real[PATH_MAX], lib[PATH_MAX + 32];
	ssize_t n = readlink("/proc/self/exe", exe, sizeof exe - 1);

	if (n < 0)
		return 0;
	exe[n] = 0;
	char *slash = strrchr(exe, '/');
	if (slash)
		*slash = 0;
	snprintf(lib, sizeof lib, "%s/../lib/gangway", exe);
	if (!realpath(lib, real))
		return 0;
	return snprintf(dir, size, "%s", real) < (int)size;
}

static int help(void)
{
	puts("usage: gangway COMMAND [ARGUMENTS]\n\n"
	     "Runs unmodified CUDA programs on a device that this machine may not have.\n");
	for (size_t i = 0; i < COUNT; i++)
		printf("  %-10s %s\n", commands[i].name, commands[i].help);
	puts("\ngangway COMMAND --help says more about one of them.");
	return 0;
}

/* By the name of the vendor's tool: a link in our own folder (gangway-run(1)). */
static bool is_smi(const char *name)
{
	const char *slash = strrchr(name, '/');

	return !strcmp(slash ? slash + 1 : name, "nvidia-smi");
}

int main(int argc, char **argv)
{
	if (argc > 0 && is_smi(argv[0]))
		return cmd_smi(argc, argv);
	if (argc < 2)
		return cli_usage("", "which command?");
	if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h") || !strcmp(argv[1], "help"))
		return help();
	if (!strcmp(argv[1], "--version"))
		argv[1] = "version";
	for (size_t i = 0; i < COUNT; i++)
		if (!strcmp(argv[1], commands[i].name))
			return commands[i].run(argc - 1, argv + 1);
	return cli_usage("", "there is no command %s", argv[1]);
}
