/*
 * Connections that wait for their hello: a hello in parts is accepted once it is complete, an unacceptable one is refused
 * with a reason, and an identity that opens many connections pushes out its own and nobody else's.
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>
#include "server/worker/log.h"
#include "server/daemon/pending.h"
#include "test/check.h"
#include "transport/hello.h"

#define MAX 64

static struct identities identities;
static struct pending pending;
static int accepted = -1, naccepted;

static void accept_client(void *server, int client, struct identity *who)
{
	(void)server;
	CHECK(who->name[0]);
	accepted = client;
	naccepted++;
}

/* Runs the loop until nothing is ready. */
static void events_handle(void)
{
	struct epoll_event event;

	while (epoll_wait(pending.epoll, &event, 1, 0) > 0) {
		struct source *s = event.data.ptr;
		s->ready(s, NULL);
	}
}

/* Over TCP, bytes arrive some time after they were sent. */
static void events_await(int fd, size_t bytes)
{
	char peek[sizeof(struct hello)];

	for (int i = 0; i < 10000 && recv(fd, peek, sizeof peek, MSG_PEEK | MSG_DONTWAIT) < (ssize_t)bytes; i++)
		poll(NULL, 0, 1);
	events_handle();
}

struct ends {
	int peer, server;
};

static struct ends pair_unix(void)
{
	int fds[2] = {-1, -1};

	CHECK_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds), 0);
	return (struct ends){fds[0], fds[1]};
}

/* A TCP connection from 127.0.0.`host`. */
static struct ends pair_tcp(unsigned host)
{
	struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)}, from = at;
	socklen_t size = sizeof at;
	int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	struct ends e = {socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), -1};

	from.sin_addr.s_addr = htonl((INADDR_LOOPBACK & ~255u) + host);
	CHECK(!bind(listener, (struct sockaddr *)&at, sizeof at) && !listen(listener, 1));
	CHECK(!getsockname(listener, (struct sockaddr *)&at, &size));
	CHECK(!bind(e.peer, (struct sockaddr *)&from, sizeof from));
	CHECK_EQ(connect(e.peer, (struct sockaddr *)&at, sizeof at), 0);
	e.server = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
	close(listener);
	return e;
}

static struct hello hello_good(void)
{
	struct hello h;

	hello_make(&h, &pending.config);
	return h;
}

/* The server has closed its end. */
static bool peer_closed(int fd)
{
	char byte;
	struct pollfd p = {.fd = fd, .events = POLLIN};

	return poll(&p, 1, 10000) == 1 && recv(fd, &byte, 1, MSG_DONTWAIT) <= 0;
}

static void test_complete(struct ends e, size_t first)
{
	struct hello h = hello_good();
	int before = naccepted, low = 0;
	socklen_t size = sizeof low;

	pending_add(&pending, e.server);
	events_handle();
	CHECK_EQ(pending.count, 1);
	if (first) {
		CHECK_EQ(send(e.peer, &h, first, 0), first);
		events_await(e.server, first);
		CHECK_EQ(pending.count, 1);
		CHECK_EQ(naccepted, before);
	}
	CHECK_EQ(send(e.peer, (char *)&h + first, sizeof h - first, 0), sizeof h - first);
	events_await(e.server, sizeof h);
	CHECK_EQ(pending.count, 0);
	CHECK_EQ(naccepted, before + 1);
	CHECK_EQ(accepted, e.server);
	CHECK(!getsockopt(e.server, SOL_SOCKET, SO_RCVLOWAT, &low, &size) && low == 1);
	CHECK(!identities.list);
	close(e.peer);
	close(e.server);
}

static void test_refused(struct ends e)
{
	struct hello h = hello_good(), answer = {0};
	int before = naccepted;

	h.protocol++;
	pending_add(&pending, e.server);
	CHECK_EQ(send(e.peer, &h, sizeof h, 0), sizeof h);
	events_await(e.server, sizeof h);
	CHECK_EQ(recv(e.peer, &answer, sizeof answer, MSG_WAITALL), sizeof answer);
	CHECK(answer.status < 0 && strstr(answer.text, "the client is"));
	CHECK(peer_closed(e.peer));
	CHECK_EQ(naccepted, before);
	close(e.peer);
}

/* Bytes that are no hello, or an end in the middle of one, close the connection. */
static void test_malformed(struct ends e, size_t bytes, bool end)
{
	char noise[sizeof(struct hello)] = {0};
	int before = naccepted;

	pending_add(&pending, e.server);
	CHECK_EQ(send(e.peer, noise, bytes, 0), bytes);
	if (end)
		shutdown(e.peer, SHUT_WR);
	for (int i = 0; i < 10000 && pending.count; i++) {
		events_handle();
		poll(NULL, 0, 1);
	}
	CHECK_EQ(pending.count, 0);
	CHECK_EQ(naccepted, before);
	close(e.peer);
}

static void test_fairness(void)
{
	struct ends b = pair_tcp(2), c = pair_tcp(3), last = {-1, -1};
	int peers[10 * MAX];

	pending_add(&pending, b.server);
	for (unsigned i = 0; i < 10 * MAX; i++) {
		last = pair_unix();
		peers[i] = last.peer;
		pending_add(&pending, last.server);
		CHECK(pending.count <= MAX);
	}
	CHECK_EQ(pending.oldest->fd, b.server);
	CHECK_EQ(pending.newest->fd, last.server);
	CHECK(peer_closed(peers[0]));
	pending_add(&pending, c.server); /* the user with the most loses another one */
	CHECK_EQ(pending.count, MAX);
	CHECK_EQ(pending.oldest->fd, b.server);
	CHECK_EQ(pending.newest->fd, c.server);
	CHECK_EQ(pending.oldest->who->pending, 1);

	pending.oldest->deadline = 0;
	pending_expire(&pending);
	CHECK(peer_closed(b.peer));
	CHECK_EQ(pending.count, MAX - 1);
	pending_finish(&pending);
	CHECK(peer_closed(c.peer) && !pending.count && !identities.list);
	for (unsigned i = 0; i < 10 * MAX; i++)
		close(peers[i]);
	close(b.peer);
	close(c.peer);
}

int main(void)
{
	pending_init(&pending, epoll_create1(EPOLL_CLOEXEC), &identities, "null");
	pending.max = MAX;
	pending.accept = accept_client;
	test_complete(pair_unix(), 0);
	test_complete(pair_tcp(1), 0);
	test_complete(pair_tcp(1), 100);
	test_refused(pair_unix());
	test_refused(pair_tcp(1));
	test_malformed(pair_unix(), 100, false);
	test_malformed(pair_unix(), sizeof(struct hello), false);
	test_malformed(pair_tcp(1), sizeof(struct hello), false);
	test_malformed(pair_tcp(1), 100, true);
	test_fairness();
	return RESULT();
}
