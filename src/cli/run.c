/* gangway run: start a program so that it loads our libraries. */
#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "backend/vendor.h"
#include "cli/cli.h"
#include "cli/compilers.h"
#include "cli/follow/follow.h"
#include "loader/program.h"
#include "cli/environment.h"
#include "transport/default_socket.h"
#include "transport/transport.h"
#include "util/build_note.h"
#include "wire/protocol.h"

static const char usage[] =
	"usage: gangway run [--on DEVICE] [--trace[=FILE]] [--profile[=FILE]] [--check[=LIST]] [--follow-all] [--]\n"
	"       PROGRAM [ARGUMENTS]\n\n"
	"Run PROGRAM with Gangway's libcuda.so.1 as its CUDA driver. gangway run replaces itself with PROGRAM, so\n"
	"exit status, signals and terminal are those of PROGRAM. Programs that bundle their own driver, or load\n"
	"one by its path, get Gangway's, too; so do the programs that PROGRAM starts.\n\n"
	"  --on DEVICE     the device to use:\n"
	"                    nvidia           this machine's GPU, through its vendor's driver\n"
	"                    cpu              this machine's processor; runs kernels from their PTX\n"
	"                    null             a test double: memory, copies and streams work, kernels are\n"
	"                                     recorded but not run (GANGWAY_NULL_LOG=FILE lists them)\n"
	"                    unix:PATH        a device that gangway serve shares on this machine\n"
	"                    tcp://HOST:PORT  a device that gangway serve shares over the network\n"
	"                  Default: $GANGWAY_DEVICE; if unset, a gangway serve of this user or of the system,\n"
	"                  then this machine's GPU, then cpu.\n"
	"  --trace[=FILE]  print every CUDA call with arguments, result and duration in microseconds, to\n"
	"                  standard error or to FILE (same as GANGWAY_TRACE=1 or GANGWAY_TRACE=FILE)\n"
	"  --check[=LIST]  run kernels on the device cpu and report their errors: invalid and misaligned accesses,\n"
	"                  use of freed or uninitialized memory, races in shared memory. The exit status is 86\n"
	"                  if there were errors and PROGRAM ended with 0. LIST limits or extends the checks:\n"
	"                  memory,init,race is the default, leaks adds memory that was not freed\n"
	"                  (same as GANGWAY_DEVICE=cpu GANGWAY_CHECK=LIST)\n"
	"  --profile[=FILE]\n"
	"                  list the kernels that ran on the device cpu, with their time and whether they were\n"
	"                  compiled, on standard error or at the end of FILE (same as GANGWAY_PROFILE)\n"
	"  --follow-all    also reach programs that are started without the C library and with a new\n"
	"                  environment, as Go programs can do. gangway run then stays as a supervisor;\n"
	"                  gangway-run(1) lists the costs\n"
	"  --help          show this text\n\n"
	"Environment variables:\n"
	"  GANGWAY_CPU_CC=8.0          compute capability of the device cpu, from 5.0 to 12.1; the default is 8.0\n"
	"  GANGWAY_CPU_THREADS=N       processors that kernels use on the device cpu; the default is all that are "
	"allowed\n"
	"  GANGWAY_CPU_TIER=interp     interpret kernels on the device cpu, and compile none\n"
	"  GANGWAY_KEEP=libcudart:...  do not replace these libraries\n"
	"  GANGWAY_FOLLOW=0            do not add Gangway to the new environments of child processes\n"
	"  GANGWAY_AUDIT_LOG=FILE      log every library that is requested or loaded\n\n"
	"Statically linked and set-uid programs cannot use Gangway; gangway run starts them with a warning.\n\n"
	"Exit status: that of PROGRAM; 127 if PROGRAM was not found; 126 if it could not be started.\n";

static int check_nvidia(const char *device)
{
	char path[PATH_MAX], why[512];

	(void)device;
	return vendor_find(path, sizeof path, why, sizeof why) ? 0 : cli_fail("%s", why);
}

static int check_server(const char *device)
{
	char error[LINK_ERROR_TEXT];

	return link_probe(device, error) ? cli_fail("%s", error) : 0;
}

static const struct run_device {
	const char *name;
	int (*check)(const char *device); /* 0, or an exit status after printing an error */
	bool prefix;                      /* `name` is a prefix */
} devices[] = {
	{"nvidia", check_nvidia},
	{"cpu", NULL},
	{"null", NULL},
	{"unix:", check_server, true},
	{"tcp://", check_server, true},
};

static int check_device(const char *device)
{
	for (size_t i = 0; i < sizeof devices / sizeof *devices; i++)
		if (!strcmp(device, devices[i].name) ||
			(devices[i].prefix && !strncmp(device, devices[i].name, strlen(devices[i].name))))
			return devices[i].check ? devices[i].check(device) : 0;
	return cli_check_device("run", device);
}

static bool has_ending(const char *name, const char *ending)
{
	size_t n = strlen(name), m = strlen(ending);

	return n > m && !strcmp(name + n - m, ending);
}

/* Returns a hint about a file that cannot be started, for the end of an error message; "" if there is none. */
static const char *start_hint(const char *name, char text[PATH_MAX + 64])
{
	bool exists = !access(name, F_OK);

	*text = 0;
	if (!exists && strchr(name, ' '))
		snprintf(text, PATH_MAX + 64, "; give the program and its arguments as separate words");
	else if (exists && has_ending(name, ".py"))
		snprintf(text, PATH_MAX + 64, "; use gangway run python3 %s", name);
	else if (exists && has_ending(name, ".cu"))
		snprintf(text, PATH_MAX + 64, "; it is source code: compile it with nvcc first");
	else if (exists && !strchr(name, '/'))
		snprintf(text, PATH_MAX + 64, "; use gangway run ./%s", name);
	return text;
}

/* Returns 0 if the program can be started, or an exit status after printing an error. */
static int check_program(const struct program *p, const char *name)
{
	char hint[PATH_MAX + 64];

	switch (p->kind) {
	case PROGRAM_MISSING:
		cli_fail("cannot start %s: %s%s", name, strerror(p->error), start_hint(name, hint));
		return p->error == ENOENT ? 127 : 126;
	case PROGRAM_NO_LOADER:
		cli_fail("cannot start %s: its %s %s does not exist", p->path, *p->script ? "interpreter" : "loader",
			p->loader);
		return 126;
	case PROGRAM_FOREIGN:
		cli_fail("cannot start %s: it is %s, and Gangway's libraries are 64-bit and for this processor",
			p->path, p->bits == 64 ? "for another processor" : "a 32-bit program");
		return 126;
	default:
		return 0;
	}
}

/* Warn about a program that starts, but does not load our libraries. */
static void warn_unreachable(const struct program *p)
{
	const char *quiet = getenv("GANGWAY_EXPLAIN");

	if (quiet && !strcmp(quiet, "0"))
		return;
	if (p->kind == PROGRAM_STATIC)
		cli_fail("warning: %s is linked statically: it loads no libraries and cannot use Gangway. Programs "
			 "that it "
			 "starts can",
			p->path);
	else if (p->secure)
		cli_fail("warning: %s is set-uid, set-gid or has capabilities: the loader ignores its environment, so "
			 "it "
			 "cannot use Gangway. Start gangway run inside it (sudo gangway run ...), or make Gangway the "
			 "driver of all programs (gangway install --system)",
			p->path);
	else if (p->kind == PROGRAM_MUSL)
		cli_fail("warning: %s uses musl's loader, which ignores LD_AUDIT: it finds Gangway's libraries only by "
			 "name, "
			 "and they are built for glibc",
			p->path);
}

static bool on_path(const char *program)
{
	const char *list = getenv("PATH");
	char file[PATH_MAX];

	while (list && *list) {
		size_t n = strcspn(list, ":");
		if (n && snprintf(file, sizeof file, "%.*s/%s", (int)n, list, program) < (int)sizeof file &&
			!access(file, X_OK))
			return true;
		list += n + (list[n] == ':');
	}
	return false;
}

/* If PATH has no nvidia-smi, append the folder with gangway smi under that name. */
static int path_add_smi(const char *dir)
{
	const char *old = getenv("PATH");
	char *list;

	if (!old || !*old || on_path("nvidia-smi"))
		return 0;
	if (asprintf(&list, "%s:%s/bin", old, dir) < 0)
		return -1;
	int r = setenv("PATH", list, 1);
	free(list);
	return r;
}

/*
 * Whether the program gets a server's CPU device; NULL: the driver's choice. The answer decides only which libraries and
 * compilers the program gets, so a server that lies harms its own clients only.
 */
static bool served_by_cpu(const char *device)
{
	char server[PATH_MAX + 16], name[LINK_DEVICE_TEXT], error[LINK_ERROR_TEXT];
	struct link_config config = link_defaults(false);

	if (!device && default_socket_find(server, sizeof server))
		device = server;
	if (!device || !strchr(device, ':'))
		return false;
	config.build = build_note_text;
	config.protocol = wire_protocol();
	return !link_ask_device(device, &config, name, error) && !strcmp(name, "cpu");
}

/*
 * A CPU device needs libraries (audit/names.h) and compilers of its own. For one behind a server, GANGWAY_SERVED says so to
 * our audit libraries; GANGWAY_DEVICE says it for one of this process.
 */
static int prepare_cpu_device(const char *dir, const char *device)
{
	bool served = served_by_cpu(device);

	if (served ? setenv("GANGWAY_SERVED", "cpu", 1) : unsetenv("GANGWAY_SERVED"))
		return -1;
	if ((!served && (!device || strcmp(device, "cpu"))) || compilers_kept())
		return 0;
	return compilers_set(dir);
}

static int run_program(char **argv, const char *device, bool follow)
{
	struct program program;
	char dir[PATH_MAX], hint[PATH_MAX + 64];

	if (cli_require_libraries(dir, sizeof dir))
		return 1;
	if (path_add_smi(dir) || prepare_cpu_device(dir, device))
		return cli_fail("out of memory");
	program_inspect(argv[0], &program);
	int r = check_program(&program, argv[0]);
	if (r)
		return r;
	warn_unreachable(&program);
	r = environment_set(dir, &program);
	if (r)
		return r;
	if (follow)
		return follow_all(argv);
	execvp(argv[0], argv);
	int e = errno;
	cli_fail("cannot start %s: %s%s", argv[0], strerror(e), start_hint(argv[0], hint));
	return e == ENOENT ? 127 : 126;
}

int cmd_run(int argc, char **argv)
{
	static const struct option options[] = {
		{"on", required_argument, NULL, 'o'},
		{"trace", optional_argument, NULL, 't'},
		{"check", optional_argument, NULL, 'c'},
		{"profile", optional_argument, NULL, 'p'},
		{"follow-all", no_argument, NULL, 'f'},
		{"help", no_argument, NULL, 'h'},
		{0},
	};
	const char *device = getenv("GANGWAY_DEVICE"), *check = NULL;
	bool follow = false;
	int c, r;

	opterr = 0;
	while ((c = getopt_long(argc, argv, "+:", options, NULL)) != -1) {
		switch (c) {
		case 'o':
			device = optarg;
			break;
		case 't':
			setenv("GANGWAY_TRACE", optarg ? optarg : "1", 1);
			break;
		case 'c':
			check = optarg ? optarg : "1";
			break;
		case 'p':
			setenv("GANGWAY_PROFILE", optarg ? optarg : "1", 1);
			break;
		case 'f':
			follow = true;
			break;
		case 'h':
			fputs(usage, stdout);
			return 0;
		default:
			return cli_bad_option("run", c, argv, options);
		}
	}
	if (optind == argc)
		return cli_usage("run", "no program given");
	if (check) {
		if (device && *device && strcmp(device, "cpu"))
			return cli_fail(
				"--check needs the device cpu, which runs kernels from their PTX; the device is %s",
				device);
		device = "cpu";
		setenv("GANGWAY_CHECK", check, 1);
	}
	if (!device || !*device)
		device = environment_default_device();
	if (device) {
		r = check_device(device);
		if (r)
			return r;
		setenv("GANGWAY_DEVICE", device, 1);
	}
	if (isatty(STDERR_FILENO))
		setenv("GANGWAY_PROGRESS", "1", 0);
	return run_program(argv + optind, device, follow);
}
