/* The gangway command: finds the subcommand and runs it. */
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
	{"cdi", cmd_cdi, "print a device specification for container engines"},
	{"config", cmd_config, "print compiler and linker flags"},
	{"coverage", cmd_coverage, "list the calls that work on each device"},
	{"doctor", cmd_doctor, "find out why a CUDA program does not work here"},
	{"install", cmd_install, "make Gangway this machine's CUDA driver"},
	{"run", cmd_run, "run a CUDA program on a device of your choice"},
	{"serve", cmd_serve, "share this machine's device with others"},
	{"smi", cmd_smi, "show devices, in the format of nvidia-smi"},
	{"top", cmd_top, "show the clients of a server"},
	{"uninstall", cmd_uninstall, "undo gangway install"},
	{"version", cmd_version, "print version, build and library paths"},
};

#define COMMANDS (sizeof commands / sizeof *commands)

static void print_error(const char *format, va_list args)
{
	fputs("gangway: ", stderr);
	vfprintf(stderr, format, args);
	fputc('\n', stderr);
}

int cli_fail(const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	print_error(format, ap);
	va_end(ap);
	return 1;
}

int cli_usage(const char *command, const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	print_error(format, ap);
	va_end(ap);
	fprintf(stderr, "See: gangway %s%s--help\n", command, *command ? " " : "");
	return 2;
}

bool cli_library_dir(char *dir, size_t size)
{
	char exe[PATH_MAX], real[PATH_MAX], lib[PATH_MAX + 32];
	ssize_t n = readlink("/proc/self/exe", exe, sizeof exe - 1);

	if (n < 0)
		return false;
	exe[n] = 0;
	char *slash = strrchr(exe, '/');
	if (slash)
		*slash = 0;
	snprintf(lib, sizeof lib, "%s/../lib/gangway", exe);
	if (!realpath(lib, real))
		return false;
	return snprintf(dir, size, "%s", real) < (int)size;
}

int cli_require_libraries(char *dir, size_t size)
{
	if (cli_library_dir(dir, size))
		return 0;
	return cli_fail(
		"cannot find ../lib/gangway next to this program: the installation is incomplete; reinstall Gangway");
}

static const struct command *command_find(const char *name)
{
	for (size_t i = 0; i < COMMANDS; i++)
		if (!strcmp(name, commands[i].name))
			return &commands[i];
	return NULL;
}

static int unknown_command(const char *name)
{
	for (size_t i = 0; i < COMMANDS; i++)
		if (cli_words_similar(name, strlen(name), commands[i].name))
			return cli_usage("", "unknown command %s; did you mean gangway %s?", name, commands[i].name);
	if (*name == '-')
		return cli_usage("", "option %s must follow a command: gangway COMMAND %s ...", name, name);
	return cli_usage("", "unknown command %s", name);
}

static int print_help(void)
{
	puts("usage: gangway COMMAND [ARGUMENTS]\n\n"
	     "Run unmodified CUDA programs on a device that this machine may not have.\n");
	for (size_t i = 0; i < COMMANDS; i++)
		printf("  %-10s %s\n", commands[i].name, commands[i].help);
	puts("\nRun gangway COMMAND --help, or gangway help COMMAND, for the options of a command.");
	return 0;
}

/* gangway help COMMAND */
static int print_command_help(const char *name)
{
	const struct command *c = command_find(name);
	char *argv[] = {(char *)name, "--help", NULL};

	return c ? c->run(2, argv) : unknown_command(name);
}

/* The programs that are links to this one in our folders (gangway-run(1)). */
static const struct applet {
	const char *name;
	int (*run)(int argc, char **argv);
} applets[] = {
	{"nvidia-smi", cmd_smi},
	{"ptxas", cmd_ptxas},
	{"ptxas-blackwell", cmd_ptxas},
};

static const struct applet *applet_find(const char *program)
{
	const char *slash = strrchr(program, '/');

	for (size_t i = 0; i < sizeof applets / sizeof *applets; i++)
		if (!strcmp(slash ? slash + 1 : program, applets[i].name))
			return &applets[i];
	return NULL;
}

int main(int argc, char **argv)
{
	const struct applet *applet = argc > 0 ? applet_find(argv[0]) : NULL;

	if (applet)
		return applet->run(argc, argv);
	if (argc < 2)
		return cli_usage("", "no command given");
	if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h") || !strcmp(argv[1], "help"))
		return argc > 2 ? print_command_help(argv[2]) : print_help();
	if (!strcmp(argv[1], "--version"))
		argv[1] = "version";
	if (!strcmp(argv[1], "worker"))
		return cmd_worker(argc - 1, argv + 1);
	const struct command *c = command_find(argv[1]);
	return c ? c->run(argc - 1, argv + 1) : unknown_command(argv[1]);
}
