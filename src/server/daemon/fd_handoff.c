/* Between parent and worker: a client's socket one way, a word and a text the other. */
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include "server/daemon/fd_handoff.h"
#include "server/daemon/worker.h"

union control {
	struct cmsghdr head;
	char room[CMSG_SPACE(sizeof(int))];
};

int worker_give(int worker, int client)
{
	char byte = 0;
	struct iovec iov = {&byte, 1};
	union control control = {0};
	struct msghdr m = {.msg_iov = &iov, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control};
	struct cmsghdr *c = CMSG_FIRSTHDR(&m);

	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(c), &client, sizeof client);
	return sendmsg(worker, &m, MSG_NOSIGNAL | MSG_DONTWAIT) == 1 ? 0 : -errno;
}

int give_take(int parent)
{
	char byte;
	struct iovec iov = {&byte, 1};
	union control control;
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

void give_say(int parent, enum worker_word word, const char *text)
{
	char message[1 + WORKER_TEXT] = {(char)word};
	size_t n = strnlen(text, WORKER_TEXT - 1);

	memcpy(message + 1, text, n);
	send(parent, message, 1 + n, MSG_NOSIGNAL);
}

int worker_heard(int worker, enum worker_word *word, char text[WORKER_TEXT])
{
	char message[1 + WORKER_TEXT] = {0};
	ssize_t n = recv(worker, message, WORKER_TEXT, MSG_DONTWAIT);

	if (n <= 0)
		return n < 0 && (errno == EAGAIN || errno == EINTR) ? -EAGAIN : -EPIPE;
	*word = (enum worker_word)message[0];
	memcpy(text, message + 1, WORKER_TEXT);
	return 0;
}
