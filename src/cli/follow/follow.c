/* gangway run --follow-all: starts the supervisor (supervise.c) and waits for the program. */
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

/* Signals that are meant for the program and forwarded to it. */
static const int passed_signals[] = {SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2, SIGALRM, SIGWINCH, SIGCONT};

static void passed_signals_set(sigset_t *set)
{
	sigemptyset(set);
	for (size_t i = 0; i < sizeof passed_signals / sizeof *passed_signals; i++)
		sigaddset(set, passed_signals[i]);
}

/* Forward signals sent by processes. Signals of the terminal reach the program by themselves. */
static void forward_signals(int signals, pid_t program)
{
	struct signalfd_siginfo s;

	while (read(signals, &s, sizeof s) == sizeof s)
		if (s.ssi_code <= 0 && program > 0)
			kill(program, (int)s.ssi_signo);
}

/* Exit with the status of the program, or die of its signal. */
static int exit_like(int status)
{
	sigset_t set;

	if (WIFEXITED(status))
		return WEXITSTATUS(status);
	prctl(PR_SET_DUMPABLE, 0); /* the program has written a core file */
	signal(WTERMSIG(status), SIG_DFL);
	sigemptyset(&set);
	sigaddset(&set, WTERMSIG(status));
	sigprocmask(SIG_UNBLOCK, &set, NULL);
	raise(WTERMSIG(status));
	return 128 + WTERMSIG(status);
}

/* The supervisor reports the pid of the program, and later its status. */
static int wait_for_program(int news, int signals)
{
	struct supervise_news n = {0};
	struct pollfd fds[2] = {{news, POLLIN, 0}, {-1, POLLIN, 0}}; /* signals are read when the program runs */
	pid_t program = 0;

	for (;;) {
		if (poll(fds, 2, -1) < 0 && errno != EINTR)
			return cli_fail("poll: %s", strerror(errno));
		if (fds[1].revents)
			forward_signals(signals, program);
		if (!fds[0].revents)
			continue;
		if (read(news, &n, sizeof n) != sizeof n)
			return cli_fail("the supervisor of --follow-all has ended unexpectedly");
		if (n.error) {
			cli_fail("--follow-all: %s: %s", n.what, strerror(n.error));
			return n.started ? 126 : 1;
		}
		if (n.ended)
			return exit_like(n.status);
		program = n.program;
		fds[1].fd = signals;
	}
}

int follow_all(char **argv)
{
	sigset_t set, old;
	int news[2];

	passed_signals_set(&set);
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
	return wait_for_program(news[0], signals);
}
