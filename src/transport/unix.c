/*
 * unix.c - beside shared memory: the socket, which carries descriptors and ends when the other side does.
 *
 * A thread sleeps on the socket.  It takes what arrives, so that a sender never waits for a busy receiver,
 * and notices when the peer is gone; who needs something now takes it itself.  A process that forked before
 * it died leaves its socket open in the child; so the process itself is watched too, where we have a pidfd.
 *
 * Descriptors that nobody has asked for are kept, up to a number.  Then the thread leaves the rest in the
 * socket, and the sender waits; only who looks for something reads on until it is found, up to twice as many.
 */
#include "transport/private.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "transport/memory.h"

#ifndef SO_PEERPIDFD
#define SO_PEERPIDFD 77
#endif

#define FDS_A_MESSAGE 3
#define FULL_MS       20

struct message {
	uint32_t kind, zero;
	uint64_t id;
};

union fd_space {
	struct cmsghdr head;
	char bytes[CMSG_SPACE(FDS_A_MESSAGE * sizeof(int))];
};

int unix_send(int fd, uint32_t kind, uint64_t id, const int *fds, unsigned nfds)
{
	struct message m = {.kind = kind, .id = id};
	struct iovec iov = {&m, sizeof m};
	union fd_space space = {0};
	struct msghdr msg = {.msg_iov = &iov, .msg_iovlen = 1};
	struct cmsghdr *c;
	ssize_t n;

	if (nfds) {
		msg.msg_control = space.bytes;
		msg.msg_controllen = CMSG_SPACE(nfds * sizeof(int));
		c = CMSG_FIRSTHDR(&msg);
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(nfds * sizeof(int));
		memcpy(CMSG_DATA(c), fds, nfds * sizeof(int));
	}
	do
		n = sendmsg(fd, &msg, MSG_NOSIGNAL);
	while (n < 0 && errno == EINTR);
	if (n >= 0)
		return 0;
	return errno == ECONNRESET ? -EPIPE : -errno; /* gone, with messages of ours unread */
}

static void close_all(const int *fds, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		close(fds[i]);
}

/* What is more than a message may have is closed: the kernel fills padding, too, and so can bring one too many. */
static bool keep_some(const struct cmsghdr *c, int fds[FDS_A_MESSAGE], unsigned *nfds)
{
	unsigned n = (unsigned)((c->cmsg_len - CMSG_LEN(0)) / sizeof(int));
	bool many = false;
	int fd;

	for (unsigned i = 0; i < n; i++) {
		memcpy(&fd, CMSG_DATA(c) + i * sizeof fd, sizeof fd);
		if (*nfds < FDS_A_MESSAGE) {
			fds[(*nfds)++] = fd;
		} else {
			close(fd);
			many = true;
		}
	}
	return many;
}

/* One message, without waiting.  -EAGAIN: none; -EPIPE: the other side has closed. */
static int receive(int fd, struct message *m, int fds[FDS_A_MESSAGE], unsigned *nfds)
{
	struct iovec iov = {m, sizeof *m};
	union fd_space space;
	struct msghdr msg = {
		.msg_iov = &iov, .msg_iovlen = 1, .msg_control = space.bytes, .msg_controllen = sizeof space.bytes};
	bool many = false;
	ssize_t n;

	*nfds = 0;
	do
		n = recvmsg(fd, &msg, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return errno == EWOULDBLOCK ? -EAGAIN : -errno;
	for (struct cmsghdr *c = CMSG_FIRSTHDR(&msg); c; c = CMSG_NXTHDR(&msg, c))
		if (c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS)
			many |= keep_some(c, fds, nfds);
	if (n == sizeof *m && !many && !(msg.msg_flags & (MSG_TRUNC | MSG_CTRUNC)))
		return 0;
	close_all(fds, *nfds);
	*nfds = 0;
	return n ? -EPROTO : -EPIPE;
}

int unix_receive_fd(int fd, uint64_t *id, uint64_t deadline)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};
	struct message m;
	int fds[FDS_A_MESSAGE], err;
	unsigned nfds;

	while ((err = receive(fd, &m, fds, &nfds)) == -EAGAIN) {
		uint64_t now = wait_now();

		if (now >= deadline)
			return -ETIMEDOUT;
		poll(&p, 1, (int)((deadline - now) / 1000000 + 1));
	}
	if (err)
		return err;
	if (nfds == 1 && m.kind == UNIX_FD) {
		*id = m.id;
		return fds[0];
	}
	close_all(fds, nfds);
	return -EPROTO;
}

static int keep_fd(struct link *l, uint64_t id, int fd)
{
	if (l->nfds == 2 * FDS_MAX) {
		close(fd);
		return link_break(l, -EPROTO, "the other side sent %d descriptors that it did not name", 2 * FDS_MAX);
	}
	l->fds[l->nfds++] = (struct waiting_fd){id, fd};
	return 0;
}

static int take_lane(struct link *l, uint64_t number, int fd)
{
	int err;

	if (!l->server || number != l->nlanes || number >= LINK_LANES || memory_check(fd, lane_bytes(l->ring_size)))
		err = link_break(l, -EPROTO, "the client offered a lane that cannot be");
	else if ((err = link_map_lane(l, (unsigned)number, fd)))
		link_break(l, err, "a lane could not be mapped: %s", strerror(-err));
	close(fd);
	return err;
}

static int take_message(struct link *l, const struct message *m, int *fds, unsigned nfds)
{
	if (nfds == 1 && m->kind == UNIX_FD)
		return keep_fd(l, m->id, fds[0]);
	if (nfds == 1 && m->kind == UNIX_LANE)
		return take_lane(l, m->id, fds[0]);
	close_all(fds, nfds);
	return link_break(l, -EPROTO, "a control message of an unknown kind arrived");
}

/* -EAGAIN: nothing there.  The caller locks. */
static int take_one(struct link *l)
{
	struct message m;
	int fds[FDS_A_MESSAGE], err;
	unsigned nfds;

	if (l->hung_up)
		return -EPIPE;
	err = receive(l->fd, &m, fds, &nfds);
	if (!err)
		err = take_message(l, &m, fds, nfds);
	if (!err || err == -EAGAIN)
		return err;
	l->hung_up = true;
	return err == -EPROTO ? link_break(l, err, "a control message was cut off") : -EPIPE;
}

/* The watching thread's share: all that may be kept. */
static int take_all(struct link *l, bool *full)
{
	int err = 0;

	pthread_mutex_lock(&l->unix_lock);
	while (!err && l->nfds < FDS_MAX)
		err = take_one(l);
	*full = l->nfds >= FDS_MAX;
	pthread_cond_broadcast(&l->unix_cond);
	pthread_mutex_unlock(&l->unix_lock);
	return err == -EAGAIN ? 0 : err;
}

void unix_find_lane(struct link *l, unsigned number)
{
	pthread_mutex_lock(&l->unix_lock);
	while (!load_relaxed(&l->lanes[number]) && !take_one(l))
		;
	pthread_cond_broadcast(&l->unix_cond);
	pthread_mutex_unlock(&l->unix_lock);
}

static void *watch(void *arg)
{
	struct link *l = arg;
	struct pollfd p[] = {{l->fd, POLLIN | POLLRDHUP, 0}, {l->stop, POLLIN, 0}, {l->pidfd, POLLIN, 0}};
	bool full = false;

	for (;;) {
		/* Full: do not wake up for what we would not take; look now and then. */
		p[0].events = full ? POLLRDHUP : POLLIN | POLLRDHUP;
		if (poll(p, 3, full ? FULL_MS : -1) < 0 && errno != EINTR)
			break;
		if (p[1].revents)
			return NULL;
		if (take_all(l, &full) || p[2].revents || p[0].revents & (POLLRDHUP | POLLHUP | POLLERR))
			break;
	}
	take_all(l, &full);
	link_break(l, -EPIPE, "the %s went away", l->server ? "client" : "server's worker process");
	pthread_mutex_lock(&l->unix_lock);
	pthread_cond_broadcast(&l->unix_cond);
	pthread_mutex_unlock(&l->unix_lock);
	link_wake_sleepers(l);
	return NULL;
}

int unix_watch(struct link *l)
{
	int err = link_thread(&l->watcher, watch, l);

	l->watching = !err;
	return err;
}

void unix_unwatch(struct link *l)
{
	uint64_t one = 1;

	if (!l->watching)
		return;
	if (write(l->stop, &one, sizeof one) == sizeof one)
		pthread_join(l->watcher, NULL);
	l->watching = false;
}

/* A peer on a unix socket: who connected, and a descriptor for its process. */
static void who_is_it(struct link *l)
{
	struct ucred c;
	socklen_t size = sizeof c;

	if (getsockopt(l->fd, SOL_SOCKET, SO_PEERCRED, &c, &size))
		return;
	l->peer.known = true;
	l->peer.pid = c.pid;
	l->peer.uid = c.uid;
	l->peer.gid = c.gid;
	size = sizeof l->pidfd;
	if (getsockopt(l->fd, SOL_SOCKET, SO_PEERPIDFD, &l->pidfd, &size))
		l->pidfd = c.pid > 0 ? (int)syscall(SYS_pidfd_open, c.pid, 0) : -1;
}

static int wait_message(struct link *l, struct message *m, int fds[FDS_A_MESSAGE], unsigned *nfds, uint64_t deadline)
{
	struct pollfd p = {.fd = l->fd, .events = POLLIN};
	uint64_t now;
	int err;

	while ((err = receive(l->fd, m, fds, nfds)) == -EAGAIN) {
		now = wait_now();
		if (now >= deadline)
			return -ETIMEDOUT;
		poll(&p, 1, (int)((deadline - now) / 1000000 + 1));
	}
	return err;
}

/* What the client sees as its peer is whoever listened: it is told which process to watch. */
int unix_offer(struct link *l, const int fds[3])
{
	int self = (int)syscall(SYS_pidfd_open, getpid(), 0), err;

	who_is_it(l);
	err = unix_send(l->fd, UNIX_MEMORY, 0, fds, 3);
	err = err ? err : unix_send(l->fd, UNIX_READY, 0, &self, self >= 0);
	if (self >= 0)
		close(self);
	return err;
}

static int take_memory(struct link *l, struct link_memory *m, uint64_t deadline)
{
	size_t sizes[3] = {control_bytes(m->nwords), m->size[BULK_UP], m->size[BULK_DOWN]};
	struct message text;
	int fds[FDS_A_MESSAGE], err;
	unsigned nfds;

	err = wait_message(l, &text, fds, &nfds, deadline);
	if (err)
		return err;
	if (text.kind != UNIX_MEMORY || nfds != 3) {
		close_all(fds, nfds);
		return -EPROTO;
	}
	memcpy(m->fds, fds, sizeof m->fds);
	for (int i = 0; i < 3; i++)
		if (memory_check(fds[i], sizes[i]))
			return -EPROTO;
	return made_map(m);
}

int unix_take(struct link *l, struct link_memory *m, uint64_t deadline)
{
	int fds[FDS_A_MESSAGE], err = take_memory(l, m, deadline);
	struct message text;
	unsigned nfds;

	err = err ? err : wait_message(l, &text, fds, &nfds, deadline);
	if (err)
		return err;
	if (nfds == 1)
		l->pidfd = fds[0];
	else
		close_all(fds, nfds);
	return text.kind == UNIX_READY && nfds <= 1 ? 0 : -EPROTO;
}

int link_send_fd(struct link *l, uint64_t id, int fd)
{
	int err = link_broken(l);

	if (err || l->tcp_link)
		return err ? err : -ENOTSUP;
	err = unix_send(l->fd, UNIX_FD, id, &fd, 1);
	return err && link_broken(l) ? link_broken(l) : err;
}

static int find_fd(struct link *l, uint64_t id)
{
	for (unsigned i = 0; i < l->nfds; i++)
		if (l->fds[i].id == id) {
			int fd = l->fds[i].fd;

			l->fds[i] = l->fds[--l->nfds];
			return fd;
		}
	return -EAGAIN;
}

static int look_for_fd(struct link *l, uint64_t id)
{
	int fd;

	while ((fd = find_fd(l, id)) == -EAGAIN && !take_one(l))
		;
	return fd;
}

int link_recv_fd(struct link *l, uint64_t id, int timeout_ms)
{
	struct timespec end;
	int fd, late = 0;

	if (l->tcp_link)
		return -ENOTSUP;
	clock_gettime(CLOCK_MONOTONIC, &end);
	end.tv_sec += timeout_ms / 1000;
	end.tv_nsec += timeout_ms % 1000 * 1000000l;
	if (end.tv_nsec >= 1000000000l)
		end.tv_sec++, end.tv_nsec -= 1000000000l;
	pthread_mutex_lock(&l->unix_lock);
	while ((fd = look_for_fd(l, id)) == -EAGAIN && !late && !link_broken(l))
		late = timeout_ms < 0 ? pthread_cond_wait(&l->unix_cond, &l->unix_lock)
				      : pthread_cond_timedwait(&l->unix_cond, &l->unix_lock, &end);
	pthread_mutex_unlock(&l->unix_lock);
	return fd != -EAGAIN ? fd : link_broken(l) ? link_broken(l) : -ETIMEDOUT;
}
