/* Opens the server's own program and executes it for each worker. */
#include "server/worker/worker_exec.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "server/worker/log.h"
#include "util/build_note.h"

#define PROGRAM_FD 16 /* the lowest descriptor for the program: no conflict with WORKER_CHANNEL */

#ifndef CLOSE_RANGE_CLOEXEC
#define CLOSE_RANGE_CLOEXEC 4u
#endif

static bool file_is_program(const char *path)
{
	char build[128];

	return build_note_read(path, build, sizeof build) && !strcmp(build, build_note_text);
}

/* /proc/self/exe is the dynamic linker if the server was started as "ld.so gangway"; then argv[0] names the program. */
static const char *program_name(void)
{
	Dl_info self;

	if (file_is_program("/proc/self/exe"))
		return "/proc/self/exe";
	return dladdr((void *)program_name, &self) && file_is_program(self.dli_fname) ? self.dli_fname : NULL;
}

int worker_program_open(struct worker_program *p)
{
	const char *name = program_name();
	int fd = name ? open(name, O_RDONLY | O_CLOEXEC) : -1;

	p->fd = fd < 0 ? -1 : fcntl(fd, F_DUPFD_CLOEXEC, PROGRAM_FD);
	if (fd >= 0)
		close(fd);
	if (p->fd >= 0 && realpath(name, p->path))
		return 0;
	log_event("cannot start: cannot open the program of the server: %s", name ? strerror(errno) : "not found");
	worker_program_close(p);
	return -ENOENT;
}

void worker_program_close(struct worker_program *p)
{
	if (p->fd >= 0)
		close(p->fd);
	p->fd = -1;
}

/* The parent blocks signals for its signalfd; a worker must not inherit that. */
static void signals_unblock(void)
{
	sigset_t none;

	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

/* Lets exec close every descriptor above WORKER_CHANNEL. */
static void descriptors_close_on_exec(void)
{
	if (!syscall(SYS_close_range, WORKER_CHANNEL + 1, ~0u, CLOSE_RANGE_CLOEXEC))
		return;
	for (long i = WORKER_CHANNEL + 1, end = sysconf(_SC_OPEN_MAX); i < end && i < 65536; i++)
		fcntl((int)i, F_SETFD, FD_CLOEXEC);
}

static _Noreturn void worker_exec(const struct worker_program *p, int channel)
{
	char *argv[] = {(char *)p->path, "worker", NULL};

	signals_unblock();
	if (channel == WORKER_CHANNEL)
		fcntl(channel, F_SETFD, 0);
	else
		dup2(channel, WORKER_CHANNEL);
	descriptors_close_on_exec();
	syscall(SYS_execveat, p->fd, "", argv, environ, AT_EMPTY_PATH);
	log_event("cannot execute %s: %s", p->path, strerror(errno));
	_exit(127);
}

pid_t worker_program_start(const struct worker_program *p, int channel)
{
	pid_t pid = fork();

	if (!pid)
		worker_exec(p, channel);
	return pid;
}
