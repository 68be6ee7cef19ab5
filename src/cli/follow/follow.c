/* follow.c - the three processes: who starts, who waits, and who supervises (supervise.c). */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include "cli/cli.h"
#include "cli/follow/follow.h"
#include "cli/follow/supervise.h"

/* What a process that waits passes on: whoever sends it means the program. */
static const int passed[] = {SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2, SIGALRM, SIGWINCH, SIGCONT};

static void passed_set(sigset_t *set)
{
	sigemptyset(set);
	for (size_t i = 0; i < sizeof passed / sizeof *passed; i++)
		sigaddset(set, passed[i]);
}

/* A terminal sends to all of its foreground, the program as well; a person sends to us alone. */
static void pass_on(int signals, pid_t program)
{
	struct signalfd_siginfo s;

	while (read(signals, &s, sizeof s) == sizeof s)
		if (s.ssi_code <= 0 && program > 0)
			kill(program, (int)s.ssi_signo);
}

/* As it ended: with its status, or of its signal. */
static int end_like(int status)
{
	sigset_t set;

	if (WIFEXITED(status))
		return WEXITSTATUS(status);
	prctl(PR_SET_DUMPABLE, 0); /* one core file is enough */
	signal(WTERMSIG(status), SIG_DFL);
	sigemptyset(&set);
	sigaddset(&set, WTERMSIG(status));
	sigprocmask(SIG_UNBLOCK, &set, NULL);
	raise(WTERMSIG(status));
	return 128 + WTERMSIG(status);
}

/* The supervisor says who the program is, and then how it ended. */
static int wait_for(int news, int signals)
{
	struct supervise_news n = {0};
	struct pollfd fds[2] = {
		{news, POLLIN, 0}, {-1, POLLIN, 0}}; /* signals wait until there is one to pass them to */
	pid_t program = 0;

	for (;;) {
		if (poll(fds, 2, -1) < 0 && errno != EINTR)
			return cli_fail("poll: %s", strerror(errno));
		if (fds[1].revents)
			pass_on(signals, program);
		if (!fds[0].revents)
			continue;
		if (read(news, &n, sizeof n) != sizeof n)
			return cli_fail("the supervisor of --follow-all has ended");
		if (n.error) {
			cli_fail("--follow-all: %s: %s", n.what, strerror(n.error));
			return n.started ? 126 : 1;
		}
		if (n.ended)
			return end_like(n.status);
		program = n.program;
		fds[1].fd = signals;
	}
}

int follow_all(char **argv)
{
	sigset_t set, old;
	int news[2];

	passed_set(&set);
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, news) || sigprocmask(SIG_BLOCK, &set, &old))
		return cli_fail("--follow-all: %s", strerror(errno));
	int signals = signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
	pid_t supervisor = signals < 0 ? -1 : fork();
	if (supervisor < 0)
		return cli_fail("--follow-all: %s", strerror(errno));
	if (!supervisor) {
		close(news[0]);
		close(signals);
		supervise(argv, &old, news[1]);
	}
	close(news[1]);
	return wait_for(news[0], signals);
}
