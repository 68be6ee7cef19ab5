/*
 * A proxy between client and server that stops forwarding and keeps its connections open: both sides notice by the
 * missing heartbeats and end every wait. While it forwards, an idle link stays up, and so does one whose server is busy.
 * One stalled extra connection is enough.
 */
#include <poll.h>

#include "test/transport/pair.h"
#include "transport/private.h"
#include "transport/tcp/tcp.h"

#define BEAT_MS    100
#define SILENCE_MS 3000
#define LIMIT_MS   60000
#define SIZE       (4u << 20)

enum { ASK = 1, UP, BUSY };

/* ---- The proxy: numbers connections in order of arrival; `stalled` has one bit for each ---- */

static _Atomic unsigned stalled;
static char server_address[160];

struct pipe_ends {
	int from, to;
	unsigned number;
};

static void *forward(void *arg)
{
	struct pipe_ends e = *(struct pipe_ends *)arg;
	static _Thread_local char buffer[65536];
	ssize_t n, done;

	free(arg);
	while ((n = recv(e.from, buffer, sizeof buffer, 0)) > 0) {
		while (atomic_load(&stalled) >> e.number & 1)
			poll(NULL, 0, 10);
		for (done = 0; done < n; done += send(e.to, buffer + done, (size_t)(n - done), MSG_NOSIGNAL))
			if (poll(&(struct pollfd){.fd = e.to, .events = POLLOUT}, 1, LIMIT_MS) <= 0)
				return NULL;
	}
	shutdown(e.to, SHUT_WR);
	return NULL;
}

static void forward_start(int from, int to, unsigned number)
{
	struct pipe_ends *e = malloc(sizeof *e);
	pthread_t thread;

	*e = (struct pipe_ends){from, to, number};
	pthread_create(&thread, NULL, forward, e);
	pthread_detach(thread);
}

static void *proxy(void *arg)
{
	int listener = *(int *)arg, fd;

	for (unsigned number = 0; (fd = link_accept(listener)) >= 0; number++) {
		char error[LINK_ERROR_TEXT];
		int to = text_connect(server_address, LIMIT_MS, error);

		if (to < 0)
			return fprintf(stderr, "proxy: %s\n", error), NULL;
		forward_start(fd, to, number);
		forward_start(to, fd, number);
	}
	return NULL;
}

/* ---- The server ---- */

static _Atomic int silences;

static void on_silence(void *arg, bool silent)
{
	(void)arg;
	atomic_fetch_add(&silences, silent);
}

static void *admit_extras(void *arg)
{
	int fd;

	while ((fd = link_accept(*(int *)arg)) >= 0)
		if (poll(&(struct pollfd){.fd = fd, .events = POLLIN}, 1, -1) < 0 || !link_hand_in_extra(fd))
			close(fd);
	return NULL;
}

static struct link_config config_with_beats(bool server)
{
	struct link_config config = link_defaults(server);

	config.beat_ms = BEAT_MS;
	config.silence_ms = server ? 4 * SILENCE_MS : SILENCE_MS; /* so that the client ends the link */
	config.notice_ms = SILENCE_MS / 2;
	config.on_silence = server ? on_silence : NULL;
	config.timeout_ms = LIMIT_MS;
	return config;
}

/* Exit status 0: the server noticed the silence before the link ended. */
static int serve_until_silent(int listener)
{
	struct link_config config = config_with_beats(true);
	char error[LINK_ERROR_TEXT];
	pthread_t admitter;
	struct link *l;
	struct frame f;
	void *to;

	if (link_serve(&l, link_accept(listener), &config, error))
		return 2;
	pthread_create(&admitter, NULL, admit_extras, &listener);
	while (!link_next(l, &f, LIMIT_MS)) {
		if (f.op == BUSY) /* a long driver call: the server reads nothing meanwhile */
			poll(NULL, 0, 2 * SILENCE_MS);
		if (!lane_reply_reserve(f.lane, 0, &to))
			lane_reply(f.lane, f.op, f.ticket, 0, NULL, 0);
	}
	link_destroy(l);
	shutdown(listener, SHUT_RDWR);
	pthread_join(admitter, NULL);
	return atomic_load(&silences) ? 0 : 4;
}

/* ---- The client ---- */

static int ask(struct lane *lane, unsigned op, const struct piece *piece)
{
	struct frame reply;
	void *to;
	int err = lane_reserve(lane, 0, &to);

	err = err ? err : lane_call(lane, op, 0, piece, piece != NULL, NULL);
	err = err ? err : lane_wait_reply(lane, &reply, LIMIT_MS);
	if (!err)
		lane_release(lane);
	return err;
}

static int upload(struct link *l, struct lane *lane)
{
	struct piece piece;
	int err = bulk_alloc(l, BULK_UP, SIZE, &piece);

	err = err ? err : ask(lane, UP, &piece);
	if (!err)
		bulk_free(l, BULK_UP, piece);
	return err;
}

/* which: bits of the stalled connections. */
static void run(unsigned which, unsigned extras)
{
	struct link_config config = config_with_beats(false);
	struct pair server = {0}, front = {0};
	char error[LINK_ERROR_TEXT];
	int server_listener, front_listener, status;
	pthread_t proxy_thread;
	struct lane *lane;
	struct link *l;

	atomic_store(&stalled, 0);
	config.extras = extras;
	if (pair_listen(&server, true, &server_listener) || pair_listen(&front, true, &front_listener))
		exit(1);
	strcpy(server_address, server.address);
	server.child = fork();
	if (!server.child)
		_exit(serve_until_silent(server_listener));
	close(server_listener);
	pthread_create(&proxy_thread, NULL, proxy, &front_listener);
	CHECK_EQ(link_connect(&l, front.address, &config, error), 0);
	if (failures)
		return;
	CHECK_EQ(lane_open(l, &lane), 0);
	for (uint64_t end = wait_now() + LIMIT_MS * 1000000ull; link_connections(l) < 1 + extras && wait_now() < end;)
		CHECK_EQ(upload(l, lane), 0);
	CHECK_EQ(link_connections(l), 1 + extras);

	CHECK_EQ(ask(lane, BUSY, NULL), 0); /* no data for longer than the limit, but heartbeats */
	poll(NULL, 0, SILENCE_MS * 3 / 2);  /* idle for longer than the limit */
	CHECK_EQ(link_error(l, NULL), 0);
	CHECK_EQ(ask(lane, ASK, NULL), 0);

	atomic_store(&stalled, which);
	CHECK_EQ(upload(l, lane), -EPIPE);
	link_error(l, error);
	CHECK(strstr(error, "has sent nothing"));
	CHECK(waitpid(server.child, &status, 0) == server.child);
	CHECK_EQ(WIFEXITED(status) ? WEXITSTATUS(status) : 1000, 0);
	atomic_store(&stalled, 0);
	link_destroy(l);
	shutdown(front_listener, SHUT_RDWR);
	pthread_join(proxy_thread, NULL);
	close(front_listener);
}

/* Each case is a separate process: ThreadSanitizer does not support fork in a process with threads. */
int main(int argc, char **argv)
{
	char command[512];

	if (argc == 3) {
		run((unsigned)atoi(argv[1]), (unsigned)atoi(argv[2]));
		return RESULT();
	}
	snprintf(command, sizeof command, "%s 1 0", argv[0]); /* the only connection stalls */
	CHECK_EQ(system(command), 0);
	snprintf(command, sizeof command, "%s 2 1", argv[0]); /* an extra connection stalls; the first one works */
	CHECK_EQ(system(command), 0);
	return RESULT();
}
