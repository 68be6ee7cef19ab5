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
#include "transport/transport.h"

static const char usage[] =
	"usage: gangway run [--on DEVICE] [--trace[=FILE]] [--] PROGRAM [ARGUMENTS]\n\n"
	"Starts PROGRAM so that it finds Gangway's libcuda.so.1, and becomes it: its exit status, signals\n"
	"and terminal are the program's own.\n\n"
	"  --on DEVICE     nvidia   the GPU driver of this machine, passed through\n"
	"                  cpu      this machine's processor: kernels are run from their PTX\n"
	"                  null     a test double: real memory, copies and streams; kernels are recorded,\n"
	"                           not run (GANGWAY_NULL_LOG=FILE lists them)\n"
	"                  unix:PATH, tcp://HOST:PORT   a device that gangway serve offers there\n"
	"                  Without it: $GANGWAY_DEVICE; else a gangway serve that runs here for this user or for\n"
	"                  all; else this machine's GPU; else cpu.\n"
	"  --trace[=FILE]  print every CUDA call with arguments, result and microseconds\n"
	"                  (GANGWAY_TRACE=1, 2 or FILE)\n"
	"  --help          this text\n\n"
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
	bool prefix;			  /* the name is only how it begins */
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
		if (!strcmp(device, devices[i].name) || (devices[i].prefix && !strncmp(device, devices[i].name, strlen(devices[i].name))))
			return devices[i].check ? devices[i].check(device) : 0;
	return cli_usage("run", "there is no device called %s", device);
}

/* Ours comes first, what was there stays behind it. */
static int put_first(const char *variable, const char *dir)
{
	const char *old = getenv(variable);
	char *list;

	if (asprintf(&list, old && *old ? "%s:%s" : "%s", dir, old) < 0)
		return -1;
	return setenv(variable, list, 1);
}

static bool on_path(const char *program)
{
	const char *list = getenv("PATH");
	char file[PATH_MAX];

	while (list && *list) {
		size_t n = strcspn(list, ":");
		if (n && snprintf(file, sizeof file, "%.*s/%s", (int)n, list, program) < (int)sizeof file && !access(file, X_OK))
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
	return setenv("PATH", list, 1);
}

static int start(char **argv)
{
	char dir[PATH_MAX];

	if (!cli_library_dir(dir, sizeof dir))
		return cli_fail("no ../lib/gangway beside this program: is the installation complete?");
	if (put_first("LD_LIBRARY_PATH", dir) || offer_smi(dir) || setenv("GANGWAY_EXPLAIN", "1", 0))
		return cli_fail("out of memory");
	execvp(argv[0], argv);
	int e = errno;
	cli_fail("cannot start %s: %s", argv[0], strerror(e));
	return e == ENOENT ? 127 : 126;
}

int cmd_run(int argc, char **argv)
{
	static const struct option options[] = {
		{"on", required_argument, NULL, 'o'}, {"trace", optional_argument, NULL, 't'}, {"help", no_argument, NULL, 'h'}, {0},
	};
	const char *device = getenv("GANGWAY_DEVICE");
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
	if (device && *device) {
		r = check_device(device);
		if (r)
			return r;
		setenv("GANGWAY_DEVICE", device, 1);
	}
	return start(argv + optind);
}
