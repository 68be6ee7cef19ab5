/*
 * The parent's HTTP server handles any bytes of any number of peers: requests in parts, several requests in one part, long
 * heads, peers that close early or do not read. Every reply has a status line and as many bytes as it states.
 *
 *	input	operation | operation | ...	operation: kind (1 byte), peer (1 byte), length (1 byte), bytes to send
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "server/status/http.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define PEERS 24 /* more than HTTP_CONNECTIONS */

static struct http http;
static char folder[96], path[108];
static int epoll = -1, peers[PEERS];

static int page_answer(void *server, const struct http_request *r, FILE *body, const char **type)
{
	(void)server;
	if (!r->method[0] && !r->path[0])
		abort();
	for (int i = strlen(r->path) > 8 ? 5000 : 1; i; i--) /* a long body fills the socket's buffer */
		fprintf(body, "%s %s\n", r->method, r->path);
	*type = "text/plain";
	return strstr(r->path, "none") ? 404 : 200;
}

static void folder_remove(void)
{
	unlink(path);
	rmdir(folder);
}

static void http_start(void)
{
	const char *tmp = getenv("TMPDIR");
	char address[120];

	snprintf(folder, sizeof folder, "%s/gangway-XXXXXX", tmp && strlen(tmp) < 60 ? tmp : P_tmpdir);
	if (!mkdtemp(folder))
		abort();
	snprintf(path, sizeof path, "%.90s/http", folder);
	snprintf(address, sizeof address, "unix:%s", path);
	epoll = epoll_create1(EPOLL_CLOEXEC);
	http_init(&http, epoll, page_answer);
	if (epoll < 0 || http_listen(&http, address, (gid_t)-1, false))
		abort();
	for (int i = 0; i < PEERS; i++)
		peers[i] = -1;
	atexit(folder_remove);
}

/* Runs ready sources as the parent's loop does, until none is ready. */
static void loop_run(void)
{
	struct epoll_event events[8];
	int n;

	for (int round = 0; round < 64 && (n = epoll_wait(epoll, events, 8, 0)) > 0; round++)
		for (int i = 0; i < n; i++) {
			struct source *s = events[i].data.ptr;
			s->ready(s, NULL);
		}
}

static void peer_connect(int i)
{
	struct sockaddr_un to = {.sun_family = AF_UNIX};

	if (peers[i] >= 0)
		return;
	memcpy(to.sun_path, path, strlen(path) + 1);
	peers[i] = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (peers[i] >= 0 && connect(peers[i], (struct sockaddr *)&to, sizeof to)) {
		close(peers[i]);
		peers[i] = -1;
	}
}

static void peer_close(int i)
{
	if (peers[i] >= 0)
		close(peers[i]);
	peers[i] = -1;
}

/* Reads a reply to its end, while the server goes on. A reply that came completely is well formed. */
static void peer_read(int i)
{
	static char reply[1 << 20];
	size_t used = 0, stated, head;
	char *end;

	for (int idle = 0; peers[i] >= 0 && idle < 3; loop_run()) {
		ssize_t n = recv(peers[i], reply + used, sizeof reply - 1 - used, 0);
		if (n == 0)
			break;
		idle = n < 0 ? idle + 1 : 0;
		used += n > 0 ? (size_t)n : 0;
		if (idle == 3)
			return; /* no complete request yet */
	}
	reply[used] = 0;
	if (!used || peers[i] < 0)
		return;
	end = strstr(reply, "\r\n\r\n");
	head = end ? (size_t)(end + 4 - reply) : 0;
	if (strncmp(reply, "HTTP/1.0 ", 9) || !head || !(end = strstr(reply, "Content-Length: ")) ||
		sscanf(end + 16, "%zu", &stated) != 1)
		abort();
	if (used - head > stated)
		abort();
	peer_close(i);
}

static void operation(unsigned kind, int peer, const uint8_t *bytes, size_t n)
{
	switch (kind % 6) {
	case 0:
		peer_connect(peer);
		break;
	case 1:
	case 2:
		if (peers[peer] >= 0 && send(peers[peer], bytes, n, MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
			peer_close(peer);
		break;
	case 3:
		if (peers[peer] >= 0)
			shutdown(peers[peer], n % 2 ? SHUT_WR : SHUT_RDWR);
		break;
	case 4:
		peer_read(peer);
		break;
	default:
		peer_close(peer);
	}
	if (kind & 0x80 || kind % 6 == 0)
		loop_run();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (epoll < 0)
		http_start();
	while (size >= 3) {
		size_t n = data[2] < size - 3 ? data[2] : size - 3;
		operation(data[0], data[1] % PEERS, data + 3, n);
		data += 3 + n;
		size -= 3 + n;
	}
	loop_run();
	for (int i = 0; i < PEERS; i++)
		peer_close(i);
	loop_run();
	for (int i = 0; i < HTTP_CONNECTIONS; i++) /* a peer that is gone leaves nothing */
		if (http.connections[i].fd >= 0)
			abort();
	return 0;
}
