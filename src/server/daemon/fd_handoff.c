/* Passes a client's socket from the parent to a worker, and messages back. */
#include "server/daemon/fd_handoff.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>

union fd_control {
	struct cmsghdr head;
	char room[CMSG_SPACE(sizeof(int))];
};

int handoff_send_client(int worker, int client)
{
	char byte = 0;
	struct iovec iov = {&byte, 1};
	union fd_control control = {0};
	struct msghdr m = {.msg_iov = &iov, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control};
	struct cmsghdr *c = CMSG_FIRSTHDR(&m);

	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(c), &client, sizeof client);
	return sendmsg(worker, &m, MSG_NOSIGNAL | MSG_DONTWAIT) == 1 ? 0 : -errno;
}

int handoff_receive_client(int parent)
{
	char byte;
	struct iovec iov = {&byte, 1};
	union fd_control control;
	struct msghdr m = {.msg_iov = &iov, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control};
	struct cmsghdr *c;
	ssize_t n;
	int fd;

	do
		n = recvmsg(parent, &m, MSG_CMSG_CLOEXEC);
	while (n < 0 && errno == EINTR);
	c = n == 1 ? CMSG_FIRSTHDR(&m) : NULL;
	if (!c || c->cmsg_type != SCM_RIGHTS || c->cmsg_len != CMSG_LEN(sizeof fd))
		return -1;
	memcpy(&fd, CMSG_DATA(c), sizeof fd);
	return fd;
}

void handoff_send_message(int parent, enum handoff_message message, const char *text)
{
	char bytes[1 + HANDOFF_TEXT] = {(char)message};
	size_t n = strnlen(text, HANDOFF_TEXT - 1);

	memcpy(bytes + 1, text, n);
	send(parent, bytes, 1 + n, MSG_NOSIGNAL);
}

int handoff_receive_message(int worker, enum handoff_message *message, char text[HANDOFF_TEXT])
{
	char bytes[1 + HANDOFF_TEXT] = {0};
	ssize_t n = recv(worker, bytes, HANDOFF_TEXT, MSG_DONTWAIT);

	if (n <= 0)
		return n < 0 && (errno == EAGAIN || errno == EINTR) ? -EAGAIN : -EPIPE;
	*message = (enum handoff_message)bytes[0];
	memcpy(text, bytes + 1, HANDOFF_TEXT);
	return 0;
}
