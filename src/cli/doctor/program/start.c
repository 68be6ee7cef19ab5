/*
 * start.c - the program is started as gangway run would, with a log of all it asks the loader for and a trace
 * of its CUDA calls; what became of it is said.  Its output goes to our standard error, so that standard
 * output is ours.
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
#include "cli/environment.h"

#define PATIENCE 3 /* seconds between asking it to end and ending it */

struct run {
	char dir[64], log[96], trace[96];
	int status;
	bool late; /* it was still running and has been ended */
	struct events events;
	struct calls calls;
};

/* ---- starting it ---- */

__attribute__((noreturn)) static void become(const struct doctor *d, const struct run *r)
{
	struct program program;
	sigset_t none;
	int null;

	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	setpgid(0, 0);
	if (isatty(STDIN_FILENO) && (null = open("/dev/null", O_RDONLY)) >= 0)
		dup2(null, STDIN_FILENO); /* it is not in the foreground, and would stop */
	dup2(STDERR_FILENO, STDOUT_FILENO);
	setenv("GANGWAY_AUDIT_LOG", r->log, 1);
	setenv("GANGWAY_TRACE", r->trace, 1);
	program_inspect(d->argv[0], &program);
	if (environment_set(d->ours, &program))
		_exit(126);
	execvp(d->argv[0], d->argv);
	_exit(errno == ENOENT ? 127 : 126);
}

/* SIGCHLD is blocked.  True: it has ended. */
static bool ended(pid_t child, int *status, unsigned seconds)
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

static void wait_for(const struct doctor *d, pid_t child, struct run *r)
{
	if (ended(child, &r->status, d->seconds))
		return;
	r->late = true;
	kill(-child, SIGTERM);
	if (!ended(child, &r->status, PATIENCE)) {
		kill(-child, SIGKILL);
		waitpid(child, &r->status, 0);
	}
	kill(-child, SIGKILL); /* children that stayed */
}

static int start(const struct doctor *d, struct run *r)
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
		become(d, r);
	if (child > 0) {
		setpgid(child, child);
		wait_for(d, child, r);
	}
	sigprocmask(SIG_SETMASK, &old, NULL);
	return child < 0 ? -errno : 0;
}

static void read_lines(const char *path, struct run *r, const char *ours,
	void (*take)(struct run *r, const char *line, const char *ours))
{
	FILE *f = fopen(path, "re");
	char *line = NULL;
	size_t size = 0;

	while (f && getline(&line, &size, f) > 0) {
		line[strcspn(line, "\n")] = 0;
		take(r, line, ours);
	}
	free(line);
	if (f)
		fclose(f);
	unlink(path);
}

static void take_event(struct run *r, const char *line, const char *ours)
{
	events_line(&r->events, line, ours);
}

static void take_call(struct run *r, const char *line, const char *ours)
{
	(void)ours;
	calls_line(&r->calls, line);
}

/* ---- saying what became of it ---- */

static const char *program_of(const struct events *e, int pid, char text[64])
{
	const char *name = "";

	for (size_t i = 0; i < e->nstarted; i++)
		if (e->started[i].pid == pid)
			name = basename(e->started[i].program);
	snprintf(text, 64, "%.40s[%d]", name, pid);
	return text;
}

static const char *outcome(const struct events *e, const struct asked *a)
{
	if (a->loaded[0])
		return a->loaded;
	return events_loaded(e, a->pid, a->answer) ? "already there" : "not found";
}

/* The same question in the same process. */
static bool seen(const struct events *e, size_t i)
{
	for (size_t j = 0; j < i; j++)
		if (e->asked[j].pid == e->asked[i].pid && !strcmp(e->asked[j].name, e->asked[i].name) &&
			!strcmp(e->asked[j].by, e->asked[i].by))
			return true;
	return false;
}

static void say_asked(struct doctor *d, const struct events *e)
{
	static const char *const columns[CELLS] = {"process", "asked for", "by", "and got"};
	struct finding *f = NULL;
	char text[64];

	for (size_t i = 0; i < e->nasked; i++) {
		const struct asked *a = &e->asked[i];

		if (!is_cuda_library(a->name) || seen(e, i))
			continue;
		if (!f) {
			f = say(d, FACT, "what was asked of the loader, and its answers:");
			table(f, columns);
		}
		row(f, (const char *[CELLS]){program_of(e, a->pid, text), a->name,
			       !strcmp(a->by, "-") ? "the program" : basename(a->by), outcome(e, a)});
	}
}

static bool same_library(const char *a, const char *b)
{
	const char *so;

	a = basename(a), b = basename(b), so = strstr(a, ".so");
	return so && !strncmp(a, b, (size_t)(so - a) + 3);
}

/* Programs try several names of one library, and need only one of them. */
static bool had_other(const struct events *e, const struct asked *a)
{
	for (size_t i = 0; i < e->nasked; i++) {
		const struct asked *b = &e->asked[i];

		if (b->pid == a->pid && same_library(a->name, b->name) &&
			(b->loaded[0] || events_loaded(e, b->pid, b->answer)))
			return true;
		if (b < a && b->pid == a->pid && same_library(a->name, b->name)) /* said of an earlier name */
			return true;
	}
	return false;
}

static void say_missing(struct doctor *d, const struct events *e)
{
	char text[64];

	for (size_t i = 0; i < e->nasked; i++) {
		const struct asked *a = &e->asked[i];

		if (is_cuda_library(a->name) && !a->loaded[0] && !events_loaded(e, a->pid, a->answer) &&
			!had_other(e, a))
			fix_missing(d,
				say(d, LOOK, "%s asked for %s and found none", program_of(e, a->pid, text), a->name),
				basename(a->name));
	}
}

static const char *count_text(size_t n, char text[64])
{
	snprintf(text, 64, n ? " (%zu)" : "", n);
	return text;
}

static void say_reached(struct doctor *d, const struct events *e)
{
	char text[64], command[COMMAND_MAX];
	bool reached = false;

	command_words(d->argv, command);
	for (size_t i = 0; i < e->nstarted; i++) {
		const struct started *s = &e->started[i];

		reached = reached || s->ours;
		if (s->ours > 1)
			fix(say(d, LOOK,
				    "%s loaded libcuda.so.1 %u times: in namespaces of its own (dlmopen), each "
				    "with a device of its own",
				    program_of(e, s->pid, text), s->ours),
				"LD_DEBUG=files gangway run -- %s", command);
		else if (s->others && !s->ours)
			fix(say(d, WRONG, "%s loaded a libcuda that is not Gangway's", program_of(e, s->pid, text)),
				"unset GANGWAY_KEEP");
		else if (s->ours)
			say(d, FINE, "%s reached Gangway's libcuda.so.1", program_of(e, s->pid, text));
	}
	if (reached && d->static_finding)
		doctor_settle(&d->findings[d->static_finding - 1]);
	if (reached || (!e->nstarted && !d->go))
		return;
	struct finding *f =
		say(d, LOOK, "none of its processes%s asked for libcuda.so.1: it ended before, or found no reason to",
			count_text(e->nstarted, text));
	if (!d->go)
		return;
	more(f, "Or it gives the programs that it starts an environment of its own, past the C library, as Go can.");
	fix(f, "gangway run --follow-all -- %s", command);
}

/* Programs that it started, and that ld.so turned away: it knew too late what their libraries want. */
static void say_tls(struct doctor *d, const struct events *e)
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
		fix(say(d, WRONG,
			    "%s could not start (\"cannot allocate memory in static TLS block\"): its libraries want "
			    "%zu bytes, "
			    "and programs that %s starts have %zu",
			    program_of(e, e->started[i].pid, text), wanted, d->argv[0], room),
			"GLIBC_TUNABLES=glibc.rtld.optional_static_tls=%zu gangway run -- %s", wanted + room, command);
		return;
	}
}

static void say_end(struct doctor *d, const struct run *r)
{
	char command[COMMAND_MAX];
	int s = r->status;

	if (r->late)
		say(d, FACT, "it was still running after %u seconds and was ended; --seconds N watches longer",
			d->seconds);
	else if (WIFSIGNALED(s)) {
		command_words(d->argv, command);
		fix(say(d, WRONG, "it died of signal %d (%s)", WTERMSIG(s), strsignal(WTERMSIG(s))),
			"gangway run --trace -- %s  # shows its last call", command);
	} else if (WEXITSTATUS(s))
		say(d, LOOK, "it ended with status %d", WEXITSTATUS(s));
	else
		say(d, FINE, "it ended with status 0");
}

static void say_calls(struct doctor *d, const struct calls *c)
{
	char command[COMMAND_MAX];
	struct finding *f;

	command_words(d->argv, command);
	bool known = d->server_wrong && strstr(c->note, "no device:"); /* why has been said already */

	if (strstr(c->note, "no code") && strstr(c->note, "Kernels: cupy_"))
		fix(say(d, WRONG, "%s", c->note), "CUPY_COMPILE_WITH_PTX=1 CUPY_ACCELERATORS= gangway run -- %s",
			command);
	else if (strstr(c->note, "no code") && d->device.count)
		fix(say(d, WRONG, "%s", c->note), "nvcc -gencode arch=compute_%d%d,code=compute_%d%d ...",
			d->device.device[0].major, d->device.device[0].minor, d->device.device[0].major,
			d->device.device[0].minor);
	else if (c->note[0] && !known)
		fix(say(d, WRONG, "%s", c->note), "gangway run --trace -- %s  # shows the calls around it", command);
	if (!c->count)
		return;
	f = say(d, c->failed ? LOOK : FINE, "%lu CUDA call%s%s%s, %lu failed", c->count, c->count == 1 ? "" : "s",
		c->device[0] ? " on " : "", c->device, c->failed);
	if (c->failed)
		more(f, "The first: %s", c->first);
	if (c->failed > 1)
		more(f, "The last: %s", c->last);
}

void probe_start(struct doctor *d)
{
	struct run r = {0};

	if (!d->start || !d->ours[0])
		return;
	int err = start(d, &r);
	if (err) {
		fix(say(d, WRONG, "it could not be started: %s", strerror(-err)), "df /tmp; ulimit -u");
		return;
	}
	read_lines(r.log, &r, d->ours, take_event);
	read_lines(r.trace, &r, d->ours, take_call);
	rmdir(r.dir);
	say_end(d, &r);
	say_tls(d, &r.events);
	say_calls(d, &r.calls);
	say_reached(d, &r.events);
	say_missing(d, &r.events);
	say_asked(d, &r.events);
	events_finish(&r.events);
}
