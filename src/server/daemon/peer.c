/* Finds out who the peer of a unix socket is, and in which namespaces. */
#include "server/daemon/peer.h"

#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef SO_PEERPIDFD
#define SO_PEERPIDFD 77 /* Linux 6.5 */
#endif

/*
 * Holds the peer's process, so that the files in /proc are still its own when they have been read.  Before Linux 6.5 the
 * process id itself could have been reused between connect() and accept(), which are milliseconds apart.
 */
static int peer_pidfd(int fd, pid_t pid)
{
	int pidfd = -1;
	socklen_t size = sizeof pidfd;

	if (!getsockopt(fd, SOL_SOCKET, SO_PEERPIDFD, &pidfd, &size))
		return pidfd;
	return (int)syscall(SYS_pidfd_open, pid, 0);
}

static bool process_runs(int pidfd)
{
	struct pollfd p = {.fd = pidfd, .events = POLLIN};

	return poll(&p, 1, 0) == 0;
}

/* Reads /proc/`pid`/`name`; the empty text on failure. */
static void process_file(const char *pid, const char *name, char *text, size_t size)
{
	char path[64];
	size_t n = 0;

	snprintf(path, sizeof path, "/proc/%s/%s", pid, name);
	FILE *f = fopen(path, "re");
	if (f) {
		n = fread(text, 1, size - 1, f);
		fclose(f);
	}
	text[n] = 0;
}

/* NSpid lists the ids of a process in all pid namespaces from the reader's inwards: a single one if it is the reader's. */
static bool process_in_pid_namespace(const char *pid)
{
	char status[4096], *line;

	process_file(pid, "status", status, sizeof status);
	line = strstr(status, "\nNSpid:\t");
	return line && strspn(line + 8, "0123456789") == strcspn(line + 8, "\n");
}

/* A process in a child of the reader's user namespace has another map. */
static bool process_in_user_namespace(const char *pid)
{
	char theirs[512], ours[512];

	process_file(pid, "uid_map", theirs, sizeof theirs);
	process_file("self", "uid_map", ours, sizeof ours);
	return !strcmp(theirs, ours);
}

static ino_t process_pid_namespace(pid_t pid)
{
	char path[64];
	struct stat st;

	snprintf(path, sizeof path, "/proc/%d/ns/pid", pid);
	return stat(path, &st) ? 0 : st.st_ino; /* 0: no permission */
}

struct peer peer_of(int fd)
{
	struct peer p = {0};
	struct ucred c;
	socklen_t size = sizeof c;
	char pid[16];
	int pidfd;

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &c, &size) || c.pid <= 0)
		return p;
	pidfd = peer_pidfd(fd, c.pid);
	if (pidfd < 0)
		return p;
	snprintf(pid, sizeof pid, "%d", c.pid);
	p.uid = c.uid;
	p.inside = process_in_pid_namespace("self") && process_in_pid_namespace(pid) && process_in_user_namespace(pid);
	p.pid_namespace = process_pid_namespace(c.pid);
	p.known = process_runs(pidfd);
	close(pidfd);
	return p;
}

bool peer_is_owner(const struct peer *p)
{
	return p->known && p->inside && (p->uid == 0 || p->uid == geteuid());
}

bool peer_sees(const struct peer *p, const struct identity *who, pid_t client)
{
	if (peer_is_owner(p))
		return true;
	if (!p->known || !who || who->over_tcp || who->uid != p->uid)
		return false;
	return p->inside || (p->pid_namespace && p->pid_namespace == process_pid_namespace(client));
}
