/* Sends and receives the messages between the parent and a worker. */
#include "server/worker/fd_handoff.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

struct handoff_head {
	uint32_t type, size;
	uint64_t id;
};

union fd_control {
	struct cmsghdr head;
	char room[CMSG_SPACE(HANDOFF_FDS * sizeof(int))];
};

int handoff_send(int fd, const struct handoff_message *message, bool wait)
{
	struct handoff_head head = {.type = message->type, .size = (uint32_t)message->size, .id = message->id};
	struct iovec parts[] = {{&head, sizeof head}, {(void *)message->body, message->size}};
	union fd_control control = {0};
	struct msghdr m = {.msg_iov = parts, .msg_iovlen = 2};
	size_t fds = message->nfds * sizeof(int);

	if (message->size > HANDOFF_BODY || message->nfds > HANDOFF_FDS)
		return -EMSGSIZE;
	if (fds) {
		m.msg_control = &control;
		m.msg_controllen = CMSG_SPACE(fds);
		control.head =
			(struct cmsghdr){.cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS, .cmsg_len = CMSG_LEN(fds)};
		memcpy(CMSG_DATA(&control.head), message->fds, fds);
	}
	return sendmsg(fd, &m, MSG_NOSIGNAL | (wait ? 0 : MSG_DONTWAIT)) < 0 ? -errno : 0;
}

int handoff_send_fd(int fd, enum handoff_type type, const void *body, size_t size, int descriptor)
{
	struct handoff_message m;

	if (size > HANDOFF_BODY)
		return -EMSGSIZE;
	m.type = type;
	m.id = 0;
	m.size = size;
	if (size)
		memcpy(m.body, body, size);
	m.nfds = descriptor >= 0;
	m.fds[0] = descriptor;
	return handoff_send(fd, &m, false);
}

int handoff_answer(int worker, const struct handoff_message *request, struct handoff_message *answer)
{
	answer->type = HANDOFF_ANSWER;
	answer->id = request->id;
	return handoff_send(worker, answer, false);
}

static void message_take_fds(struct handoff_message *message, struct msghdr *m)
{
	for (struct cmsghdr *c = CMSG_FIRSTHDR(m); c; c = CMSG_NXTHDR(m, c)) {
		size_t n = c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS
				   ? (c->cmsg_len - CMSG_LEN(0)) / sizeof(int)
				   : 0;

		n = n < HANDOFF_FDS - message->nfds ? n : HANDOFF_FDS - message->nfds; /* the room holds no more */
		memcpy(message->fds + message->nfds, CMSG_DATA(c), n * sizeof(int));
		message->nfds += (unsigned)n;
	}
}

int handoff_receive(int fd, struct handoff_message *message, bool wait)
{
	struct handoff_head head;
	struct iovec parts[] = {{&head, sizeof head}, {message->body, HANDOFF_BODY}};
	union fd_control control;
	struct msghdr m = {
		.msg_iov = parts, .msg_iovlen = 2, .msg_control = &control, .msg_controllen = sizeof control};
	ssize_t n;

	message->nfds = 0;
	do
		n = recvmsg(fd, &m, MSG_CMSG_CLOEXEC | (wait ? 0 : MSG_DONTWAIT));
	while (n < 0 && errno == EINTR);
	if (n <= 0)
		return n < 0 && errno == EAGAIN ? -EAGAIN : -EPIPE;
	message_take_fds(message, &m);
	if ((size_t)n < sizeof head || m.msg_flags & (MSG_TRUNC | MSG_CTRUNC) || head.size != (size_t)n - sizeof head) {
		handoff_discard(message);
		return -EPROTO;
	}
	message->type = head.type;
	message->id = head.id;
	message->size = head.size;
	message->body[head.size] = 0;
	return 0;
}

void handoff_discard(struct handoff_message *m)
{
	for (unsigned i = 0; i < m->nfds; i++)
		if (m->fds[i] >= 0)
			close(m->fds[i]);
	m->nfds = 0;
}
