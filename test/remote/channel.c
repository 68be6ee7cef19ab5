/*
 * The messages between parent and worker: descriptors travel and are closed, malformed messages are recognised, a request
 * gets the answer with its id, and a worker whose parent closes the socket ends.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include "server/worker/fd_handoff.h"
#include "server/worker/parent_channel.h"
#include "test/check.h"

#define ASKERS   4
#define REQUESTS 200
#define REQUEST  1000 /* a type that the test has to itself */

static void socket_pair(int fds[2])
{
	CHECK_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds), 0);
}

static int descriptors_open(void)
{
	int n = 0;

	for (int i = 0; i < 256; i++)
		n += fcntl(i, F_GETFD) >= 0;
	return n;
}

static void test_messages(void)
{
	struct handoff_message m = {.type = REQUEST, .id = 7, .size = 5, .body = "hello"}, got;
	int fds[2], before;

	socket_pair(fds);
	before = descriptors_open();
	CHECK_EQ(handoff_receive(fds[1], &got, false), -EAGAIN);
	m.nfds = HANDOFF_FDS;
	for (int i = 0; i < HANDOFF_FDS; i++)
		m.fds[i] = STDERR_FILENO;
	CHECK_EQ(handoff_send(fds[0], &m, false), 0);
	CHECK_EQ(handoff_receive(fds[1], &got, true), 0);
	CHECK(got.type == REQUEST && got.id == 7 && got.size == 5 && !strcmp((char *)got.body, "hello"));
	CHECK_EQ(got.nfds, HANDOFF_FDS);
	CHECK_EQ(descriptors_open(), before + HANDOFF_FDS);
	handoff_discard(&got);
	CHECK_EQ(descriptors_open(), before);

	m.size = HANDOFF_BODY + 1;
	CHECK_EQ(handoff_send(fds[0], &m, false), -EMSGSIZE);
	m.size = HANDOFF_BODY;
	m.nfds = 0;
	CHECK_EQ(handoff_send(fds[0], &m, false), 0);
	CHECK_EQ(handoff_receive(fds[1], &got, false), 0);
	CHECK_EQ(got.size, HANDOFF_BODY);

	close(fds[0]);
	CHECK_EQ(handoff_receive(fds[1], &got, false), -EPIPE);
	CHECK_EQ(handoff_send(fds[1], &m, false), -EPIPE);
	close(fds[1]);
}

/* Messages as only a worker that was taken over sends them. */
static void test_malformed(void)
{
	static char bytes[HANDOFF_BODY + 64];
	struct handoff_message got;
	int fds[2];

	socket_pair(fds);
	for (size_t n = 1; n <= sizeof bytes; n += 37) {
		memset(bytes, (int)n, sizeof bytes);
		CHECK_EQ(send(fds[0], bytes, n, 0), n);
		CHECK_EQ(handoff_receive(fds[1], &got, false), -EPROTO);
		CHECK_EQ(got.nfds, 0);
	}
	close(fds[0]);
	close(fds[1]);
}

/* ---- Requests ---- */

static void *ask_run(void *arg)
{
	struct handoff_message request = {.type = REQUEST, .size = sizeof(uint64_t)}, answer;
	uint64_t sum;

	for (uint64_t i = 0; i < REQUESTS; i++) {
		memcpy(request.body, &i, sizeof i);
		CHECK_EQ(parent_ask(arg, &request, &answer), 0);
		memcpy(&sum, answer.body, sizeof sum);
		CHECK(answer.size == sizeof sum && sum == i + 1 && answer.nfds == (i & 1));
		handoff_discard(&answer);
	}
	return NULL;
}

static _Noreturn void worker_run(int fd)
{
	struct parent_channel *c = parent_channel_create(fd);
	pthread_t threads[ASKERS];

	CHECK(c);
	for (int i = 0; c && i < ASKERS; i++)
		CHECK_EQ(pthread_create(&threads[i], NULL, ask_run, c), 0);
	for (int i = 0; c && i < ASKERS; i++)
		pthread_join(threads[i], NULL);
	if (failures)
		_exit(1);
	CHECK_EQ(parent_tell(c, &(struct handoff_message){.type = REQUEST + 1}), 0);
	for (;;)
		pause(); /* until the parent closes the socket */
}

/* Answers that nobody asked for come before and after the right one; every second answer has a descriptor. */
static void request_answer(int fd, const struct handoff_message *request)
{
	struct handoff_message answer = {.size = sizeof(uint64_t), .fds = {STDERR_FILENO}}, stray = *request;
	uint64_t number;

	memcpy(&number, request->body, sizeof number);
	answer.nfds = number & 1;
	number++;
	memcpy(answer.body, &number, sizeof number);
	stray.id--;
	stray.nfds = 1;
	stray.fds[0] = STDERR_FILENO;
	CHECK_EQ(handoff_answer(fd, &stray, &(struct handoff_message){.nfds = 1, .fds = {STDERR_FILENO}}), 0);
	CHECK_EQ(handoff_answer(fd, request, &answer), 0);
	CHECK_EQ(handoff_answer(fd, request, &answer), 0);
}

static void test_requests(void)
{
	struct handoff_message m;
	int fds[2], status = -1, r;
	pid_t child;

	socket_pair(fds);
	fflush(NULL);
	child = fork();
	if (!child) {
		close(fds[0]);
		worker_run(fds[1]);
	}
	close(fds[1]);
	while (!(r = handoff_receive(fds[0], &m, true)) && m.type == REQUEST)
		request_answer(fds[0], &m);
	CHECK(!r && m.type == REQUEST + 1);
	close(fds[0]);
	CHECK_EQ(waitpid(child, &status, 0), child);
	CHECK_EQ(status, 0);
}

int main(void)
{
	test_messages();
	test_malformed();
	test_requests();
	return RESULT();
}
