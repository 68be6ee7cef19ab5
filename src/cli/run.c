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
#include "cli/follow/follow.h"
#include "loader/program.h"
#include "cli/environment.h"
#include "transport/transport.h"

static const char usage[] =
	"usage: gangway run [--on DEVICE] [--trace[=FILE]] [--follow-all] [--] PROGRAM [ARGUMENTS]\n\n"
	"Starts PROGRAM so that it finds Gangway's libcuda.so.1, and becomes it: its exit status, signals\n"
	"and terminal are the program's own. Also found is it by programs and libraries that bundle another\n"
	"one, name it by path or look elsewhere first, and by programs that PROGRAM starts.\n\n"
	"  --on DEVICE     nvidia   the GPU driver of this machine, passed through\n"
	"                  cpu      this machine's processor: kernels are run from their PTX\n"
	"                  null     a test double: real memory, copies and streams; kernels are recorded,\n"
	"                           not run (GANGWAY_NULL_LOG=FILE lists them)\n"
	"                  unix:PATH, tcp://HOST:PORT   a device that gangway serve offers there\n"
	"                  Without it: $GANGWAY_DEVICE; else a gangway serve that runs here for this user or for\n"
	"                  all; else this machine's GPU; else cpu.\n"
	"  --trace[=FILE]  print every CUDA call with arguments, result and microseconds\n"
	"                  (GANGWAY_TRACE=1, 2 or FILE)\n"
	"  --follow-all    stay, and lead there also what is started past the C library with an environment made anew\n"
	"                  (children of Go programs; see gangway-run(1) for what that costs)\n"
	"  --help          this text\n\n"
	"GANGWAY_KEEP=libcudart:... leaves a runtime library to the program; GANGWAY_FOLLOW=0 leaves children\n"
	"to their environment; GANGWAY_AUDIT_LOG=FILE lists every library that is asked for.\n"
	"Programs that are linked statically or set-uid cannot be given libraries; they start, and it is said.\n\n"
	"Exit status 127: PROGRAM was not found; 126: it could not be started.\n";

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

static const struct device {
	const char *name;
	int (*check)(const char *device); /* 0, or what is missing has been said */
	bool prefix;                      /* the name is only how it begins */
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
	return cli_usage("run", "there is no device called %s", device);
}

/* Such programs cannot be started, or not with our libraries; 0: it may go on. */
static int refuse(const struct program *p, const char *name)
{
	switch (p->kind) {
	case PROGRAM_MISSING:
		cli_fail("cannot start %s: %s", name, strerror(p->error));
		return p->error == ENOENT ? 127 : 126;
	case PROGRAM_NO_LOADER:
		cli_fail("cannot start %s: its %s %s is not here", p->path, *p->script ? "interpreter" : "loader",
			p->loader);
		return 126;
	case PROGRAM_FOREIGN:
		cli_fail("%s is a program for %s: Gangway's libraries are for this machine, 64 bits", p->path,
			p->bits == 64 ? "another processor" : "32 bits");
		return 126;
	default:
		return 0;
	}
}

/* Programs that start, but that the loader gives no library of ours, or not all. */
static void warn(const struct program *p)
{
	const char *quiet = getenv("GANGWAY_EXPLAIN");

	if (quiet && !strcmp(quiet, "0"))
		return;
	if (p->kind == PROGRAM_STATIC)
		cli_fail("%s is linked statically and loads no library: it cannot use Gangway. Programs that it starts "
			 "can",
			p->path);
	else if (p->secure)
		cli_fail("%s is set-uid, set-gid or has capabilities: the loader gives it no library by its "
			 "environment. Start "
			 "gangway run inside of it (sudo gangway run ...), or let all programs have it: gangway "
			 "install --system",
			p->path);
	else if (p->kind == PROGRAM_MUSL)
		cli_fail("%s is started by musl's loader, which knows no LD_AUDIT: only LD_LIBRARY_PATH leads it to "
			 "Gangway, whose "
			 "libraries are made for glibc",
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

/* Scripts that call nvidia-smi find ours where there is no other: behind all that is on the path. */
static int offer_smi(const char *dir)
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

static int start(char **argv, bool follow)
{
	struct program program;
	char dir[PATH_MAX];

	if (!cli_library_dir(dir, sizeof dir))
		return cli_fail("no ../lib/gangway beside this program: is the installation complete?");
	program_inspect(argv[0], &program);
	int r = refuse(&program, argv[0]);
	if (r)
		return r;
	warn(&program);
	r = surround(dir, &program);
	if (r)
		return r;
	if (offer_smi(dir))
		return cli_fail("out of memory");
	if (follow)
		return follow_all(argv);
	execvp(argv[0], argv);
	int e = errno;
	cli_fail("cannot start %s: %s", argv[0], strerror(e));
	return e == ENOENT ? 127 : 126;
}

int cmd_run(int argc, char **argv)
{
	static const struct option options[] = {
		{"on", required_argument, NULL, 'o'},
		{"trace", optional_argument, NULL, 't'},
		{"follow-all", no_argument, NULL, 'f'},
		{"help", no_argument, NULL, 'h'},
		{0},
	};
	const char *device = getenv("GANGWAY_DEVICE");
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
		case 'f':
			follow = true;
			break;
		case 'h':
			fputs(usage, stdout);
			return 0;
		case ':':
			return cli_usage("run", "%s needs a value", argv[optind - 1]);
		default:
			return cli_usage("run", "there is no option %s", argv[optind - 1]);
		}
	}
	if (optind == argc)
		return cli_usage("run", "which program?");
	if (!device || !*device)
		device = surround_device();
	if (device) {
		r = check_device(device);
		if (r)
			return r;
		setenv("GANGWAY_DEVICE", device, 1);
	}
	return start(argv + optind, follow);
}
