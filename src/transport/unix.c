/*
 * unix.c - the socket beside shared memory: carries descriptors, and shows when the peer ends.
 *
 * A watching thread sleeps on the socket. It receives what arrives, so that a sender never waits for a busy receiver, and
 * notices when the peer is gone. A thread that needs a message now receives it itself. A process that forked before it
 * died leaves its socket open in the child, so the process is watched through a pidfd, too.
 *
 * Descriptors are kept until link_recv_fd asks for them, up to FDS_MAX. Then the thread leaves the rest in the socket and
 * the sender waits. Only a thread that looks for a certain descriptor reads on, up to twice as many.
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

#define FDS_PER_MESSAGE 3
#define FULL_MS         20

struct message {
	uint32_t kind, zero;
	uint64_t id;
};

union fd_space {
	struct cmsghdr head;
	char bytes[CMSG_SPACE(FDS_PER_MESSAGE * sizeof(int))];
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
	return errno == ECONNRESET ? -EPIPE : -errno; /* reset: the peer ended with unread messages */
}

static void fds_close(const int *fds, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		close(fds[i]);
}

/* Closes descriptors beyond the maximum of a message; the kernel also fills the padding of the control buffer. */
static bool fds_keep(const struct cmsghdr *c, int fds[FDS_PER_MESSAGE], unsigned *nfds)
{
	unsigned n = (unsigned)((c->cmsg_len - CMSG_LEN(0)) / sizeof(int));
	bool many = false;
	int fd;

	for (unsigned i = 0; i < n; i++) {
		memcpy(&fd, CMSG_DATA(c) + i * sizeof fd, sizeof fd);
		if (*nfds < FDS_PER_MESSAGE) {
			fds[(*nfds)++] = fd;
		} else {
			close(fd);
			many = true;
		}
	}
	return many;
}

/*
 * Receives one message without blocking. -EAGAIN: none; -EPIPE: the peer has closed. -EMFILE: the message is complete, but
 * this process had no room for its descriptors. The kernel cuts them off then, too; but descriptors that exceed the
 * maximum of a message would have filled the control buffer.
 */
static int message_receive(int fd, struct message *m, int fds[FDS_PER_MESSAGE], unsigned *nfds)
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
			many |= fds_keep(c, fds, nfds);
	if (n == sizeof *m && !many && !(msg.msg_flags & (MSG_TRUNC | MSG_CTRUNC)))
		return 0;
	bool short_of_fds = n == sizeof *m && !(msg.msg_flags & MSG_TRUNC) && *nfds < FDS_PER_MESSAGE;
	fds_close(fds, *nfds);
	*nfds = 0;
	return short_of_fds ? -EMFILE : n ? -EPROTO : -EPIPE;
}

int unix_receive_fd(int fd, uint64_t *id, uint64_t deadline)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};
	struct message m;
	int fds[FDS_PER_MESSAGE], err;
	unsigned nfds;

	while ((err = message_receive(fd, &m, fds, &nfds)) == -EAGAIN) {
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
	fds_close(fds, nfds);
	return -EPROTO;
}

/* fd: or -errno. */
static int fd_keep(struct link *l, uint64_t id, int fd)
{
	if (l->nfds == 2 * FDS_MAX) {
		if (fd >= 0)
			close(fd);
		return link_break(l, -EPROTO, "the peer sent %d descriptors that no frame mentions", 2 * FDS_MAX);
	}
	l->fds[l->nfds++] = (struct waiting_fd){id, fd};
	return 0;
}

static int lane_take(struct link *l, uint64_t number, int fd)
{
	struct lane *lane = NULL;
	int err;

	if (!l->server || number != l->nlanes || number >= LINK_LANES || memory_check(fd, lane_bytes(l->ring_size)))
		err = link_break(l, -EPROTO, "the client announced an impossible lane");
	else if ((err = lane_map(l, (unsigned)number, fd, &lane)))
		link_break(l, err, "a lane could not be mapped: %s", strerror(-err));
	else
		lane_enter(l, lane);
	close(fd);
	return err;
}

static int message_take(struct link *l, const struct message *m, int *fds, unsigned nfds)
{
	if (nfds == 1 && m->kind == UNIX_FD)
		return fd_keep(l, m->id, fds[0]);
	if (nfds == 1 && m->kind == UNIX_LANE)
		return lane_take(l, m->id, fds[0]);
	fds_close(fds, nfds);
	return link_break(l, -EPROTO, "a control message of an unknown kind arrived");
}

/* -EAGAIN: no message. The caller holds unix_lock. */
static int message_take_next(struct link *l)
{
	struct message m;
	int fds[FDS_PER_MESSAGE], err;
	unsigned nfds;

	if (l->hung_up)
		return -EPIPE;
	err = message_receive(l->fd, &m, fds, &nfds);
	if (err == -EMFILE && m.kind == UNIX_FD)
		err = fd_keep(l, m.id, -EMFILE); /* an error of the call that asks for it */
	else if (!err)
		err = message_take(l, &m, fds, nfds);
	if (!err || err == -EAGAIN)
		return err;
	l->hung_up = true;
	if (err == -EMFILE)
		return link_break(l, err, "a lane could not be received: %s", strerror(-err));
	return err == -EPROTO ? link_break(l, err, "a control message was cut off") : -EPIPE;
}

/* For the watching thread: receives messages until FDS_MAX descriptors are kept. */
static int messages_take_all(struct link *l, bool *full)
{
	int err = 0;

	pthread_mutex_lock(&l->unix_lock);
	while (!err && l->nfds < FDS_MAX)
		err = message_take_next(l);
	*full = l->nfds >= FDS_MAX;
	pthread_cond_broadcast(&l->unix_cond);
	pthread_mutex_unlock(&l->unix_lock);
	return err == -EAGAIN ? 0 : err;
}

void unix_find_lane(struct link *l, unsigned number)
{
	pthread_mutex_lock(&l->unix_lock);
	while (!load_relaxed(&l->lanes[number]) && !message_take_next(l))
		;
	pthread_cond_broadcast(&l->unix_cond);
	pthread_mutex_unlock(&l->unix_lock);
}

static void *socket_watch(void *arg)
{
	struct link *l = arg;
	struct pollfd p[] = {{l->fd, POLLIN | POLLRDHUP, 0}, {l->stop, POLLIN, 0}, {l->pidfd, POLLIN, 0}};
	bool full = false;

	for (;;) {
		/* When full, do not wake up for messages; check now and then. */
		p[0].events = full ? POLLRDHUP : POLLIN | POLLRDHUP;
		if (poll(p, 3, full ? FULL_MS : -1) < 0 && errno != EINTR)
			break;
		if (p[1].revents)
			return NULL;
		if (messages_take_all(l, &full) || p[2].revents || p[0].revents & (POLLRDHUP | POLLHUP | POLLERR))
			break;
	}
	messages_take_all(l, &full);
	link_break(l, -EPIPE, "the %s went away", l->server ? "client" : "server's worker process");
	pthread_mutex_lock(&l->unix_lock);
	pthread_cond_broadcast(&l->unix_cond);
	pthread_mutex_unlock(&l->unix_lock);
	link_wake_sleepers(l);
	return NULL;
}

int unix_watch(struct link *l)
{
	int err = link_thread(&l->watcher, socket_watch, l);

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

/* Stores the peer's credentials and a descriptor for its process. */
static void peer_identify(struct link *l)
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

static int message_wait(struct link *l, struct message *m, int fds[FDS_PER_MESSAGE], unsigned *nfds, uint64_t deadline)
{
	struct pollfd p = {.fd = l->fd, .events = POLLIN};
	uint64_t now;
	int err;

	while ((err = message_receive(l->fd, m, fds, nfds)) == -EAGAIN) {
		now = wait_now();
		if (now >= deadline)
			return -ETIMEDOUT;
		poll(&p, 1, (int)((deadline - now) / 1000000 + 1));
	}
	return err;
}

/* The client's SO_PEERCRED shows the process that called listen(), so the worker sends its own pidfd. */
int unix_offer(struct link *l, const int fds[3])
{
	int self = (int)syscall(SYS_pidfd_open, getpid(), 0), err;

	peer_identify(l);
	err = unix_send(l->fd, UNIX_MEMORY, 0, fds, 3);
	err = err ? err : unix_send(l->fd, UNIX_READY, 0, &self, self >= 0);
	if (self >= 0)
		close(self);
	return err;
}

static int memory_take(struct link *l, struct link_memory *m, uint64_t deadline)
{
	size_t sizes[3] = {control_bytes(m->nwords), m->size[BULK_UP], m->size[BULK_DOWN]};
	struct message text;
	int fds[FDS_PER_MESSAGE], err;
	unsigned nfds;

	err = message_wait(l, &text, fds, &nfds, deadline);
	if (err)
		return err;
	if (text.kind != UNIX_MEMORY || nfds != 3) {
		fds_close(fds, nfds);
		return -EPROTO;
	}
	memcpy(m->fds, fds, sizeof m->fds);
	for (int i = 0; i < 3; i++)
		if (memory_check(fds[i], sizes[i]))
			return -EPROTO;
	return link_memory_map(m);
}

int unix_take(struct link *l, struct link_memory *m, uint64_t deadline)
{
	int fds[FDS_PER_MESSAGE], err = memory_take(l, m, deadline);
	struct message text;
	unsigned nfds;

	err = err ? err : message_wait(l, &text, fds, &nfds, deadline);
	if (err)
		return err;
	if (nfds == 1)
		l->pidfd = fds[0];
	else
		fds_close(fds, nfds);
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

static int fd_find(struct link *l, uint64_t id)
{
	for (unsigned i = 0; i < l->nfds; i++)
		if (l->fds[i].id == id) {
			int fd = l->fds[i].fd;

			l->fds[i] = l->fds[--l->nfds];
			return fd;
		}
	return -EAGAIN;
}

static int fd_find_or_receive(struct link *l, uint64_t id)
{
	int fd;

	while ((fd = fd_find(l, id)) == -EAGAIN && !message_take_next(l))
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
	while ((fd = fd_find_or_receive(l, id)) == -EAGAIN && !late && !link_broken(l))
		late = timeout_ms < 0 ? pthread_cond_wait(&l->unix_cond, &l->unix_lock)
				      : pthread_cond_timedwait(&l->unix_cond, &l->unix_lock, &end);
	pthread_mutex_unlock(&l->unix_lock);
	return fd != -EAGAIN ? fd : link_broken(l) ? link_broken(l) : -ETIMEDOUT;
}
