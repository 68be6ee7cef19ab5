#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>
#include "server/log.h"
#include "server/server.h"
#include "server/worker.h"
#include "transport/transport.h"

#define LISTENERS 8

struct server {
	const struct server_config *config;
	struct pollfd fds[1 + LISTENERS]; /* signals, then listeners */
	int nfds;
	sigset_t signals;
	pid_t spare;
	int spare_fd;
	unsigned workers;
	bool draining;
};

/* To systemd, if it started us. */
static void notify(const char *state)
{
	const char *path = getenv("NOTIFY_SOCKET");
	struct sockaddr_un to = {.sun_family = AF_UNIX};
	int fd;

	if (!path || (path[0] != '/' && path[0] != '@') || strlen(path) >= sizeof to.sun_path)
		return;
	strcpy(to.sun_path, path);
	if (path[0] == '@')
		to.sun_path[0] = 0;
	fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return;
	sendto(fd, state, strlen(state), MSG_NOSIGNAL, (struct sockaddr *)&to,
		offsetof(struct sockaddr_un, sun_path) + strlen(path));
	close(fd);
}

static void start_spare(struct server *s)
{
	int pair[2];

	s->spare = 0;
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair))
		return;
	s->spare = fork();
	if (!s->spare) {
		close(pair[0]);
		for (int i = 0; i < s->nfds; i++)
			close(s->fds[i].fd);
		sigprocmask(SIG_UNBLOCK, &s->signals, NULL);
		worker_main(pair[1], s->config->device);
	}
	close(pair[1]);
	s->spare_fd = pair[0];
	if (s->spare < 0) {
		log_event("cannot start a worker: %s", strerror(errno));
		close(pair[0]);
		s->spare = 0;
		return;
	}
	s->workers++;
}

static void accept_client(struct server *s, int listener)
{
	int client = link_accept(listener);

	if (client < 0)
		return;
	if (!s->spare)
		start_spare(s);
	if (s->spare && worker_give(s->spare_fd, client)) { /* it has died while it waited: once more */
		close(s->spare_fd);
		start_spare(s);
		if (s->spare)
			worker_give(s->spare_fd, client);
	}
	close(client);
	if (s->spare)
		close(s->spare_fd);
	start_spare(s);
}

static void reap(struct server *s)
{
	int status;
	pid_t pid;

	while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
		s->workers--;
		if (WIFSIGNALED(status))
			log_event("worker %d was ended by signal %d (%s)", pid, WTERMSIG(status), strsignal(WTERMSIG(status)));
		if (pid == s->spare) {
			close(s->spare_fd);
			s->spare = 0;
		}
	}
}

static void drain(struct server *s)
{
	s->draining = true;
	for (int i = 1; i < s->nfds; i++)
		close(s->fds[i].fd);
	s->nfds = 1;
	if (s->spare)
		kill(s->spare, SIGTERM);
	log_event("no new clients; %u to go", s->workers - (s->spare != 0));
	notify("STOPPING=1");
}

static void take_signal(struct server *s)
{
	struct signalfd_siginfo i;

	if (read(s->fds[0].fd, &i, sizeof i) != sizeof i)
		return;
	if (i.ssi_signo == SIGCHLD)
		reap(s);
	else if (i.ssi_signo != SIGHUP && !s->draining)
		drain(s);
	else if (i.ssi_signo != SIGHUP)
		exit(0); /* asked twice */
}

static int listen_all(struct server *s)
{
	for (int i = 0; s->config->listen[i]; i++) {
		char error[LINK_ERROR_TEXT], name[256];
		bool shared = s->config->group != (gid_t)-1;
		int fd = s->nfds <= LISTENERS ? link_listen(s->config->listen[i], shared ? 0660 : 0600, error) : -E2BIG;
		if (fd < 0) {
			log_event("cannot listen on %s: %s", s->config->listen[i], fd == -E2BIG ? "too many" : error);
			return fd;
		}
		if (shared && !strncmp(s->config->listen[i], "unix:", 5) && chown(s->config->listen[i] + 5, -1, s->config->group))
			log_event("cannot give %s to the group: %s", s->config->listen[i] + 5, strerror(errno));
		s->fds[s->nfds++] = (struct pollfd){fd, POLLIN, 0};
		if (!link_address(fd, name, sizeof name))
			log_event("listening on %s", name);
	}
	return 0;
}

int server_run(const struct server_config *config)
{
	struct server s = {.config = config, .nfds = 1};
	int r;

	sigemptyset(&s.signals);
	sigaddset(&s.signals, SIGTERM);
	sigaddset(&s.signals, SIGINT);
	sigaddset(&s.signals, SIGHUP);
	sigaddset(&s.signals, SIGCHLD);
	sigprocmask(SIG_BLOCK, &s.signals, NULL);
	s.fds[0] = (struct pollfd){signalfd(-1, &s.signals, SFD_CLOEXEC), POLLIN, 0};
	r = listen_all(&s);
	if (r)
		return r;
	start_spare(&s);
	notify("READY=1");
	while (!s.draining || s.workers) {
		if (poll(s.fds, s.nfds, -1) < 0 && errno != EINTR)
			return -errno;
		for (int i = 1; i < s.nfds; i++)
			if (s.fds[i].revents & POLLIN)
				accept_client(&s, s.fds[i].fd);
		if (s.fds[0].revents & POLLIN)
			take_signal(&s);
	}
	log_event("all clients have ended");
	return 0;
}
