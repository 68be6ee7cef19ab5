/*
 * Start the program as gangway run does, with a log of its library requests and a trace of its CUDA calls, and report
 * the result. The output of the program goes to our standard error, because standard output is for the report.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "cli/doctor/command.h"
#include "cli/doctor/doctor.h"
#include "cli/doctor/program/loader_log.h"
#include "cli/doctor/program/package.h"
#include "cli/environment.h"

#define KILL_DELAY 3 /* seconds between SIGTERM and SIGKILL */

struct program_run {
	char dir[64], log[96], trace[96];
	int status;
	bool late; /* it was still running and was ended */
	struct loader_events events;
	struct call_summary calls;
};

/* ---- starting the program ---- */

__attribute__((noreturn)) static void exec_program(const struct doctor *d, const struct program_run *r)
{
	struct program program;
	sigset_t none;
	int null;

	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	setpgid(0, 0);
	if (isatty(STDIN_FILENO) && (null = open("/dev/null", O_RDONLY)) >= 0)
		dup2(null, STDIN_FILENO); /* a background process that reads the terminal is stopped */
	dup2(STDERR_FILENO, STDOUT_FILENO);
	setenv("GANGWAY_AUDIT_LOG", r->log, 1);
	setenv("GANGWAY_TRACE", r->trace, 1);
	program_inspect(d->argv[0], &program);
	if (environment_set(d->library_dir, &program))
		_exit(126);
	execvp(d->argv[0], d->argv);
	_exit(errno == ENOENT ? 127 : 126);
}

/* Wait for the child; SIGCHLD is blocked. Returns false on timeout. */
static bool wait_with_timeout(pid_t child, int *status, unsigned seconds)
{
	struct timespec now, end, left;
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	clock_gettime(CLOCK_MONOTONIC, &end);
	end.tv_sec += seconds;
	for (;;) {
		if (waitpid(child, status, WNOHANG) == child)
			return true;
		clock_gettime(CLOCK_MONOTONIC, &now);
		left = (struct timespec){end.tv_sec - now.tv_sec, end.tv_nsec - now.tv_nsec};
		if (left.tv_nsec < 0)
			left.tv_sec--, left.tv_nsec += 1000000000;
		if (left.tv_sec < 0)
			return false;
		sigtimedwait(&set, NULL, &left);
	}
}

static void wait_for_program(const struct doctor *d, pid_t child, struct program_run *r)
{
	if (wait_with_timeout(child, &r->status, d->seconds))
		return;
	r->late = true;
	kill(-child, SIGTERM);
	if (!wait_with_timeout(child, &r->status, KILL_DELAY)) {
		kill(-child, SIGKILL);
		waitpid(child, &r->status, 0);
	}
	kill(-child, SIGKILL); /* its remaining children */
}

static int start_program(const struct doctor *d, struct program_run *r)
{
	sigset_t set, old;

	snprintf(r->dir, sizeof r->dir, "/tmp/gangway-doctor.XXXXXX");
	if (!mkdtemp(r->dir))
		return -errno;
	snprintf(r->log, sizeof r->log, "%s/asked", r->dir);
	snprintf(r->trace, sizeof r->trace, "%s/calls", r->dir);
	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	sigprocmask(SIG_BLOCK, &set, &old);
	fflush(NULL);
	pid_t child = fork();
	if (!child)
		exec_program(d, r);
	if (child > 0) {
		setpgid(child, child);
		wait_for_program(d, child, r);
	}
	sigprocmask(SIG_SETMASK, &old, NULL);
	return child < 0 ? -errno : 0;
}

static void read_log_lines(const char *path, struct program_run *r, const char *ours,
	void (*add)(struct program_run *r, const char *line, const char *ours))
{
	FILE *f = fopen(path, "re");
	char *line = NULL;
	size_t size = 0;

	while (f && getline(&line, &size, f) > 0) {
		line[strcspn(line, "\n")] = 0;
		add(r, line, ours);
	}
	free(line);
	if (f)
		fclose(f);
	unlink(path);
}

static void add_event_line(struct program_run *r, const char *line, const char *ours)
{
	loader_events_add_line(&r->events, line, ours);
}

static void add_call_line(struct program_run *r, const char *line, const char *ours)
{
	(void)ours;
	call_summary_add_line(&r->calls, line);
}

/* ---- the report ---- */

static const char *format_process(const struct loader_events *e, int pid, char text[64])
{
	const char *name = "";

	for (size_t i = 0; i < e->nstarted; i++)
		if (e->started[i].pid == pid)
			name = basename(e->started[i].program);
	snprintf(text, 64, "%.40s[%d]", name, pid);
	return text;
}

static const char *request_result(const struct loader_events *e, const struct library_request *a)
{
	if (a->loaded[0])
		return a->loaded;
	return loader_events_has_loaded(e, a->pid, a->answer) ? "already loaded" : "not found";
}

/* Has the same object of the same process made this request before? */
static bool is_repeated(const struct loader_events *e, size_t i)
{
	for (size_t j = 0; j < i; j++)
		if (e->asked[j].pid == e->asked[i].pid && !strcmp(e->asked[j].name, e->asked[i].name) &&
			!strcmp(e->asked[j].by, e->asked[i].by))
			return true;
	return false;
}

static void report_requests(struct doctor *d, const struct loader_events *e)
{
	static const char *const columns[TABLE_COLUMNS] = {"process", "requested", "by", "and got"};
	struct finding *f = NULL;
	char text[64];

	for (size_t i = 0; i < e->nasked; i++) {
		const struct library_request *a = &e->asked[i];

		if (!is_cuda_library(a->name) || is_repeated(e, i))
			continue;
		if (!f) {
			f = finding_add(d, STATUS_FACT, "the libraries that were requested, and the loader's answers:");
			finding_table(f, columns);
		}
		finding_row(f, (const char *[TABLE_COLUMNS]){format_process(e, a->pid, text), a->name,
				       !strcmp(a->by, "-") ? "the program" : basename(a->by), request_result(e, a)});
	}
}

static bool same_library(const char *a, const char *b)
{
	const char *so;

	a = basename(a), b = basename(b), so = strstr(a, ".so");
	return so && !strncmp(a, b, (size_t)(so - a) + 3);
}

/* Programs try several names of a library and need only one of them. */
static bool found_under_other_name(const struct loader_events *e, const struct library_request *a)
{
	for (size_t i = 0; i < e->nasked; i++) {
		const struct library_request *b = &e->asked[i];

		if (b->pid == a->pid && same_library(a->name, b->name) &&
			(b->loaded[0] || loader_events_has_loaded(e, b->pid, b->answer)))
			return true;
		if (b < a && b->pid == a->pid && same_library(a->name, b->name)) /* reported for an earlier name */
			return true;
	}
	return false;
}

static void report_missing(struct doctor *d, const struct loader_events *e)
{
	char text[64];

	for (size_t i = 0; i < e->nasked; i++) {
		const struct library_request *a = &e->asked[i];

		if (is_cuda_library(a->name) && !a->loaded[0] && !loader_events_has_loaded(e, a->pid, a->answer) &&
			!found_under_other_name(e, a))
			fix_missing_library(d,
				finding_add(d, STATUS_LOOK, "%s requested %s, which was not found",
					format_process(e, a->pid, text), a->name),
				basename(a->name));
	}
}

static const char *format_count(size_t n, char text[64])
{
	snprintf(text, 64, n ? " (%zu)" : "", n);
	return text;
}

static void report_reached(struct doctor *d, const struct loader_events *e)
{
	char text[64], command[COMMAND_MAX];
	bool reached = false;

	command_words(d->argv, command);
	for (size_t i = 0; i < e->nstarted; i++) {
		const struct process_start *s = &e->started[i];

		reached = reached || s->ours;
		if (s->ours > 1)
			finding_fix(
				finding_add(d, STATUS_LOOK,
					"%s loaded libcuda.so.1 %u times, in separate namespaces (dlmopen): each copy "
					"has a device of its own",
					format_process(e, s->pid, text), s->ours),
				"LD_DEBUG=files gangway run -- %s", command);
		else if (s->others && !s->ours)
			finding_fix(finding_add(d, STATUS_WRONG, "%s loaded a libcuda that is not Gangway's",
					    format_process(e, s->pid, text)),
				"unset GANGWAY_KEEP");
		else if (s->ours)
			finding_add(
				d, STATUS_FINE, "%s loaded Gangway's libcuda.so.1", format_process(e, s->pid, text));
	}
	if (reached && d->static_finding)
		finding_settle(&d->findings[d->static_finding - 1]);
	if (reached || (!e->nstarted && !d->is_go))
		return;
	struct finding *f = finding_add(d, STATUS_LOOK,
		"none of its processes%s requested libcuda.so.1: the program ended before, or does not use CUDA here",
		format_count(e->nstarted, text));
	if (!d->is_go)
		return;
	finding_detail(
		f, "Or it starts programs with a new environment and without the C library, as Go programs can do.");
	finding_fix(f, "gangway run --follow-all -- %s", command);
}

/* Child programs that ld.so refused to start, because the static TLS block is too small for their libraries. */
static void report_tls_failures(struct doctor *d, const struct loader_events *e)
{
	struct program first, p;
	char text[64], command[COMMAND_MAX];

	command_words(d->argv, command);
	program_inspect(d->argv[0], &first);
	size_t room = environment_tls_room(&first);
	for (size_t i = 1; i < e->nstarted; i++) {
		program_inspect(e->started[i].program, &p);
		size_t wanted = environment_tls_needed(&p);
		if (wanted <= room)
			continue;
		finding_fix(finding_add(d, STATUS_WRONG,
				    "%s could not start (\"cannot allocate memory in static TLS block\"): its "
				    "libraries need "
				    "%zu bytes, but programs started by %s have %zu",
				    format_process(e, e->started[i].pid, text), wanted, d->argv[0], room),
			"GLIBC_TUNABLES=glibc.rtld.optional_static_tls=%zu gangway run -- %s", wanted + room, command);
		return;
	}
}

static void report_exit(struct doctor *d, const struct program_run *r)
{
	char command[COMMAND_MAX];
	int s = r->status;

	if (r->late)
		finding_add(d, STATUS_FACT,
			"the program was still running after %u seconds and was ended; use --seconds N for more time",
			d->seconds);
	else if (WIFSIGNALED(s)) {
		command_words(d->argv, command);
		finding_fix(finding_add(d, STATUS_WRONG, "the program was killed by signal %d (%s)", WTERMSIG(s),
				    strsignal(WTERMSIG(s))),
			"gangway run --trace -- %s  # shows its last call", command);
	} else if (WEXITSTATUS(s))
		finding_add(d, STATUS_LOOK, "the program exited with status %d", WEXITSTATUS(s));
	else
		finding_add(d, STATUS_FINE, "the program exited with status 0");
}

/* The loaded file that brings prebuilt GPU code: the first one outside of NVIDIA's own packages, or else any. */
static const char *find_package(const struct loader_events *e)
{
	const char *found = NULL;
	char package[64];

	for (size_t i = 0; i < e->nasked; i++) {
		const char *path = e->asked[i].loaded;

		if (!*path || !*package_name(path, package))
			continue;
		if (strcmp(package, "nvidia") && package_is_prebuilt(path, path))
			return path;
		found = path;
	}
	return found;
}

static bool runs_packages(const struct doctor *d)
{
	const char *program = d->closure.n ? basename(d->closure.parts[0]->path) : "";

	return !strncmp(program, "python", 6) || !strncmp(program, "pypy", 4) || !strcmp(program, "node");
}

/* The driver found no code for the device in an image. */
static void report_no_code(struct doctor *d, const struct call_summary *c, const struct loader_events *e)
{
	const char *path = find_package(e);
	const struct device_fact *dev = &d->device.device[0];
	const char *advice = strstr(c->note, "  Build with nvcc"); /* for all programs; the fix is for this one */
	struct finding *f =
		finding_add(d, STATUS_WRONG, "%.*s", advice ? (int)(advice - c->note) : (int)strlen(c->note), c->note);
	char command[COMMAND_MAX], package[64] = "";

	command_words(d->argv, command);
	if (path)
		package_name(path, package);
	if (strstr(c->note, "Kernels: cupy_")) {
		finding_fix(f, "CUPY_COMPILE_WITH_PTX=1 CUPY_ACCELERATORS= gangway run -- %s", command);
	} else if (*package && !strstr(c->note, "Gangway CPU")) {
		finding_detail(f, "%s is prebuilt: a version of it with code for this device may exist.", package);
		finding_fix(f, "pip install --upgrade %s  # to a version with code for sm_%d%d", package, dev->major,
			dev->minor);
	} else if (*package || runs_packages(d)) {
		finding_detail(f, "%s%s prebuilt: this device cannot run its machine code, but a GPU can.",
			*package ? package : "The package with this code", " is");
		finding_fix(f, "gangway run --on tcp://HOST:PORT -- %s  # where gangway serve shares a GPU", command);
	} else {
		finding_fix(f, "nvcc -gencode arch=compute_%d%d,code=compute_%d%d ...", dev->major, dev->minor,
			dev->major, dev->minor);
	}
}

static void report_calls(struct doctor *d, const struct call_summary *c, const struct loader_events *e)
{
	char command[COMMAND_MAX];
	struct finding *f;

	command_words(d->argv, command);
	bool known = d->server_wrong && strstr(c->note, "no device:"); /* reported by probe_server */

	if (strstr(c->note, "no code") && d->device.count)
		report_no_code(d, c, e);
	else if (c->note[0] && !known)
		finding_fix(finding_add(d, STATUS_WRONG, "%s", c->note),
			"gangway run --trace -- %s  # shows the calls around it", command);
	if (!c->count)
		return;
	f = finding_add(d, c->failed ? STATUS_LOOK : STATUS_FINE, "%lu CUDA call%s%s%s, %lu failed", c->count,
		c->count == 1 ? "" : "s", c->device[0] ? " on " : "", c->device, c->failed);
	if (c->failed)
		finding_detail(f, "The first failed call: %s", c->first);
	if (c->failed > 1)
		finding_detail(f, "The last failed call: %s", c->last);
}

static void report_cpu_only(struct doctor *d, const struct loader_events *e)
{
	for (size_t i = 0; i < e->nasked; i++)
		if (package_check_cpu_only(d, e->asked[i].loaded))
			return;
}

void probe_start(struct doctor *d)
{
	struct program_run r = {0};

	if (!d->may_start || !d->library_dir[0])
		return;
	int err = start_program(d, &r);
	if (err) {
		finding_fix(finding_add(d, STATUS_WRONG, "the program could not be started: %s", strerror(-err)),
			"df /tmp; ulimit -u");
		return;
	}
	read_log_lines(r.log, &r, d->library_dir, add_event_line);
	read_log_lines(r.trace, &r, d->library_dir, add_call_line);
	rmdir(r.dir);
	report_exit(d, &r);
	report_tls_failures(d, &r.events);
	report_calls(d, &r.calls, &r.events);
	report_cpu_only(d, &r.events);
	report_reached(d, &r.events);
	report_missing(d, &r.events);
	report_requests(d, &r.events);
	loader_events_finish(&r.events);
}
