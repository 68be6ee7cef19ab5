/* gangway doctor: reads the options, runs the probes and prints their findings. */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "cli/cli.h"
#include "cli/doctor/command.h"
#include "cli/doctor/doctor.h"
#include "cli/doctor/ollama/ollama.h"
#include "cli/environment.h"

#define DEFAULT_SECONDS 20

extern char **environ;

static const char usage[] =
	"usage: gangway doctor [OPTIONS]                           check this machine\n"
	"       gangway doctor [OPTIONS] [--] PROGRAM [ARGUMENTS]  check a program; starts it\n"
	"       gangway doctor [OPTIONS] --pid N                   check a running process\n"
	"       gangway doctor [OPTIONS] ollama                    find out why Ollama reports library=cpu\n\n"
	"Show which CUDA driver and device a program gets, and what is wrong. Problems come first, each with the\n"
	"command that fixes it.\n\n"
	"  --on DEVICE   check with this device; see gangway run --help\n"
	"  --no-start    inspect PROGRAM, but do not start it\n"
	"  --seconds N   end PROGRAM after N seconds (default %d)\n"
	"  --json        print one JSON object with the same findings in the same order\n"
	"  --root DIR    inspect the system in DIR (a chroot, an image) instead of this one; starts nothing in it\n"
	"  --help        show this text\n\n"
	"The output of PROGRAM goes to standard error.\n\n"
	"Exit status: 0 if nothing is wrong; 1 if something is wrong; 2 for invalid arguments.\n";

#define ANY (ON_MACHINE | ON_PROGRAM | ON_PROCESS | ON_OLLAMA)

/* Sorted by cause: a problem found by one probe makes those below it pointless. */
static const struct probe probes[] = {
	{"process", ON_PROCESS, 0, probe_process},
	{"program", ON_PROGRAM | ON_PROCESS, 0, probe_program},
	{"install", ANY, ON_PROGRAM | ON_PROCESS, probe_install},
	{"ollama", ON_OLLAMA, 0, probe_ollama},
	{"stubs", ON_MACHINE, 0, probe_stubs},
	{"preload", ON_MACHINE | ON_PROGRAM | ON_PROCESS, 0, probe_preload},
	{"cache", ON_MACHINE, 0, probe_cache},
	{"needs", ON_PROGRAM, 0, probe_needs},
	{"libraries", ON_MACHINE, 0, probe_libraries},
	{"server", ANY, ON_PROGRAM | ON_PROCESS | ON_OLLAMA, probe_server},
	{"vendor", ON_MACHINE | ON_PROGRAM | ON_OLLAMA, ON_PROGRAM | ON_OLLAMA, probe_vendor},
	{"device", ANY, 0, probe_device},
	{"code", ON_PROGRAM | ON_PROCESS, 0, probe_code},
	{"ollama", ON_OLLAMA, 0, probe_ollama_device},
	{"start", ON_PROGRAM, 0, probe_start},
	{"folder", ON_MACHINE, 0, probe_cache_folder},
	{"limits", ON_MACHINE | ON_PROGRAM | ON_PROCESS, ON_PROGRAM, probe_limits},
	{"container", ANY, ON_PROGRAM | ON_PROCESS | ON_OLLAMA, probe_container},
	{"machine", ON_MACHINE, 0, probe_virtual},
};

static void run_probes(struct doctor *d)
{
	for (size_t i = 0; i < sizeof probes / sizeof *probes; i++)
		if (probes[i].subjects & d->subject) {
			size_t before = d->nfindings;

			d->probe = probes[i].name;
			probes[i].check(d);
			if (probes[i].brief & d->subject)
				doctor_drop_facts(d, before);
		}
}

/* ---- the subject ---- */

struct doctor_options {
	const char *root, *device;
	long pid;
	bool json, no_start;
	unsigned seconds;
	char **argv; /* PROGRAM and its arguments, or NULL */
	bool ollama;
};

static bool use_colour(void)
{
	const char *no = getenv("NO_COLOR"), *term = getenv("TERM");

	return isatty(STDOUT_FILENO) && !(no && *no) && !(term && !strcmp(term, "dumb"));
}

static int set_subject(struct doctor *d, const struct doctor_options *w)
{
	if (w->pid) {
		d->subject = ON_PROCESS;
	} else if (w->ollama) {
		d->subject = ON_OLLAMA;
		d->ollama = calloc(1, sizeof *d->ollama);
		if (!d->ollama)
			return cli_fail("out of memory");
		ollama_find(d);
	} else if (w->argv) {
		d->subject = ON_PROGRAM;
		d->argv = w->argv;
		d->may_start = !w->no_start && !w->root;
		d->seconds = w->seconds;
		snprintf(d->program, sizeof d->program, "%s", w->argv[0]);
	}
	return 0;
}

static bool process_exists(long pid)
{
	char path[64];

	snprintf(path, sizeof path, "/proc/%ld", pid);
	return !access(path, F_OK);
}

static void report_unreadable(long pid, int err)
{
	if (err == -EACCES)
		cli_fail("this user may not read process %ld. Run sudo %s doctor --pid %ld", pid,
			program_invocation_name, pid);
	else
		cli_fail(process_exists(pid) ? "process %ld has ended (it is a zombie)" : "there is no process %ld",
			pid);
}

static int doctor_init(struct doctor *d, const struct doctor_options *w)
{
	const char *device = w->device, *theirs = getenv("GANGWAY_DEVICE");
	int err;

	if (device && cli_check_device("doctor", device))
		return 2;
	if (!device && w->argv && !w->ollama && !w->pid && !w->root && !(theirs && *theirs))
		device = environment_default_device(); /* as gangway run */
	if (device && setenv("GANGWAY_DEVICE", device, 1))
		return cli_fail("out of memory");
	err = w->pid ? sysroot_init_process(&d->sysroot, (pid_t)w->pid) : sysroot_init(&d->sysroot, w->root);
	if (err && w->pid) {
		report_unreadable(w->pid, err);
		return 2;
	}
	if (err)
		return cli_usage("doctor", "--root %s: %s", w->root, strerror(-err));
	if (!cli_library_dir(d->library_dir, sizeof d->library_dir))
		d->library_dir[0] = 0;
	d->colour = use_colour();
	return set_subject(d, w);
}

static void doctor_finish(struct doctor *d)
{
	doctor_free_findings(d);
	closure_finish(&d->closure);
	ollama_finish(d);
	free(d->ollama);
	sysroot_finish(&d->sysroot);
}

/* Make the fix commands work in the user's shell: see command_resolve_names. */
static void resolve_fix_names(struct doctor *d)
{
	char text[COMMAND_MAX];

	for (size_t i = 0; i < d->nfindings; i++)
		if (d->findings[i].fix) {
			command_resolve_names(d->findings[i].fix, text);
			finding_fix(&d->findings[i], "%s", text);
		}
}

static int run_doctor(const struct doctor_options *w)
{
	struct doctor d = {.subject = ON_MACHINE};
	char **own = environ;
	int r = doctor_init(&d, w);

	if (r) {
		doctor_finish(&d);
		return r;
	}
	environ = d.sysroot.environment; /* getenv now reads the examined environment */
	run_probes(&d);
	environ = own;
	if (!w->root)
		resolve_fix_names(&d);
	(w->json ? doctor_print_json : doctor_print_text)(&d);
	r = doctor_is_wrong(&d) ? 1 : 0;
	doctor_finish(&d);
	return r;
}

static bool parse_number(const char *text, long most, long *n)
{
	char *end;

	*n = strtol(text, &end, 10);
	return *text >= '0' && *text <= '9' && !*end && *n > 0 && *n <= most;
}

int cmd_doctor(int argc, char **argv)
{
	static const struct option options[] = {
		{"on", required_argument, NULL, 'o'},
		{"pid", required_argument, NULL, 'p'},
		{"no-start", no_argument, NULL, 'n'},
		{"seconds", required_argument, NULL, 's'},
		{"json", no_argument, NULL, 'j'},
		{"root", required_argument, NULL, 'r'},
		{"help", no_argument, NULL, 'h'},
		{0},
	};
	struct doctor_options w = {.seconds = DEFAULT_SECONDS};
	long n;
	int c;

	opterr = 0;
	while ((c = getopt_long(argc, argv, "+:", options, NULL)) != -1) {
		switch (c) {
		case 'o':
			w.device = optarg;
			break;
		case 'p':
			if (!parse_number(optarg, 1L << 30, &w.pid))
				return cli_usage("doctor", "--pid %s: not a process number", optarg);
			break;
		case 'n':
			w.no_start = true;
			break;
		case 's':
			if (!parse_number(optarg, 86400, &n))
				return cli_usage("doctor", "--seconds %s: not a number from 1 to 86400", optarg);
			w.seconds = (unsigned)n;
			break;
		case 'j':
			w.json = true;
			break;
		case 'r':
			w.root = optarg;
			break;
		case 'h':
			printf(usage, DEFAULT_SECONDS);
			return 0;
		default:
			return cli_bad_option("doctor", c, argv, options);
		}
	}
	w.ollama = optind + 1 == argc && !strcmp(argv[optind], "ollama") && strcmp(argv[optind - 1], "--");
	if (optind < argc && !w.ollama)
		w.argv = argv + optind;
	if (w.pid && (optind < argc || w.root))
		return cli_usage("doctor", "--pid cannot be combined with PROGRAM or --root");
	return run_doctor(&w);
}
