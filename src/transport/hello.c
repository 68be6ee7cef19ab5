#include "transport/hello.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "transport/memory.h"
#include "transport/private.h"

#define MAGIC "GANGWAY\n"
#define ORDER 0x01020304u

void hello_make(struct hello *h, const struct link_config *config)
{
	*h = (struct hello){
		.bytes = sizeof *h,
		.version = HELLO_VERSION,
		.order = ORDER,
		.page = (uint32_t)memory_page(),
		.protocol = config->protocol,
		.pid = (uint64_t)getpid(),
		.up_size = (uint32_t)memory_round(config->up_size),
		.down_size = (uint32_t)memory_round(config->down_size),
		.ring_size = config->ring_size,
		.words = config->words,
		.extra.count = config->extras,
	};
	memcpy(h->magic, MAGIC, sizeof h->magic);
	snprintf(h->build, sizeof h->build, "%s", config->build ? config->build : "");
}

/* The peer's text goes to terminals and logs: replaces everything unprintable. */
static void text_copy_printable(char *out, size_t room, const char *in, size_t n)
{
	size_t i;

	for (i = 0; i < n && i + 1 < room && in[i]; i++)
		out[i] = in[i] >= ' ' && in[i] < 127 ? in[i] : '?';
	out[i] = 0;
}

/* A number that grows with the version in "gangway 1.2.3 ..."; 0: not a version. */
static unsigned long version_number(const char *build)
{
	unsigned a, b, c;

	return sscanf(build, "gangway %3u.%3u.%3u", &a, &b, &c) == 3 ? (a * 1000ul + b) * 1000 + c + 1 : 0;
}

static const char *version_remedy(const char *theirs, const char *ours, bool server)
{
	unsigned long t = version_number(theirs), o = version_number(ours);

	if (!t || !o || t == o)
		return "install the same version on both sides";
	return (t < o) == server ? "upgrade the client" : "upgrade the server";
}

static int hello_mismatch(
	const struct hello *theirs, const struct hello *ours, bool server, char error[LINK_ERROR_TEXT])
{
	char name[LINK_BUILD_TEXT];

	text_copy_printable(name, sizeof name, theirs->build, sizeof theirs->build);
	return error_text(error, -EPROTO,
		"the %s is %s (protocol %u.%012llx), this %s is %.64s (protocol %u.%012llx): "
		"%s",
		server ? "client" : "server", name, theirs->version,
		(unsigned long long)theirs->protocol & 0xffffffffffff, server ? "server" : "client", ours->build,
		ours->version, (unsigned long long)ours->protocol & 0xffffffffffff,
		version_remedy(name, ours->build, server));
}

int hello_check(const struct hello *theirs, const struct hello *ours, bool server, char error[LINK_ERROR_TEXT])
{
	char text[sizeof theirs->text];

	if (memcmp(theirs->magic, MAGIC, sizeof theirs->magic))
		return error_text(error, -EPROTO, "the other side does not speak Gangway's protocol");
	if (theirs->order != ORDER || theirs->page != ours->page)
		return error_text(error, -EPROTO, "the other side has another byte order or page size");
	if (theirs->version != ours->version || theirs->bytes != ours->bytes || theirs->protocol != ours->protocol)
		return hello_mismatch(theirs, ours, server, error);
	if (!server && theirs->status) {
		text_copy_printable(text, sizeof text, theirs->text, sizeof theirs->text);
		return error_text(error, -ECONNREFUSED, "the server refuses: %s", text);
	}
	return 0;
}

static uint32_t min_u32(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

void hello_grant(struct hello *answer, const struct hello *asked)
{
	uint32_t page = answer->page;

	answer->up_size = min_u32(answer->up_size, asked->up_size) & ~(page - 1);
	answer->down_size = min_u32(answer->down_size, asked->down_size) & ~(page - 1);
	answer->ring_size = min_u32(answer->ring_size, asked->ring_size);
	answer->words = min_u32(answer->words, asked->words);
	answer->extra.count = min_u32(answer->extra.count, asked->extra.count);
}

int hello_sizes_fit(const struct hello *answer, const struct hello *asked)
{
	uint32_t ring = answer->ring_size, page = answer->page;

	if (answer->up_size > asked->up_size || answer->down_size > asked->down_size || ring > asked->ring_size ||
		answer->words > asked->words || answer->extra.count > asked->extra.count ||
		answer->extra.count > EXTRAS_MAX)
		return -EPROTO;
	if (!answer->up_size || !answer->down_size || answer->up_size % page || answer->down_size % page)
		return -EPROTO;
	if (ring < RING_MIN || ring > RING_MAX || ring & (ring - 1) || ring % page)
		return -EPROTO;
	return answer->words < 1 || answer->words > WORDS_MAX ? -EPROTO : 0;
}

int hello_answer(const struct hello *theirs, const struct link_config *config, struct hello *granted,
	char error[LINK_ERROR_TEXT])
{
	struct hello ours;
	int err;

	hello_make(&ours, config);
	err = hello_check(theirs, &ours, true, error);
	*granted = ours;
	hello_grant(granted, theirs);
	if (!err && hello_sizes_fit(granted, theirs))
		err = error_text(error, -EPROTO, "the client asked for impossible sizes");
	if (!err && theirs->flags & HELLO_EXTRA)
		err = error_text(error, -EPROTO, "an extra connection for an unknown link");
	return err;
}

static int socket_await(int fd, short what, uint64_t deadline)
{
	struct pollfd p = {.fd = fd, .events = what};
	uint64_t now = wait_now();
	int n = now >= deadline ? 0 : poll(&p, 1, (int)((deadline - now) / 1000000 + 1));

	return n > 0 || (n < 0 && errno == EINTR) ? 0 : n ? -errno : -ETIMEDOUT;
}

int hello_send(int fd, const struct hello *h, uint64_t deadline)
{
	const uint8_t *at = (const uint8_t *)h;
	size_t left = sizeof *h;
	ssize_t n;
	int err;

	while (left) {
		n = send(fd, at, left, MSG_NOSIGNAL | MSG_DONTWAIT);
		if (n > 0)
			at += n, left -= (size_t)n;
		else if (errno != EAGAIN && errno != EINTR)
			return -errno;
		else if ((err = socket_await(fd, POLLOUT, deadline)))
			return err;
	}
	return 0;
}

int hello_receive(int fd, struct hello *h, uint64_t deadline)
{
	uint8_t *at = (uint8_t *)h;
	size_t left = sizeof *h;
	ssize_t n;
	int err;

	while (left) {
		n = recv(fd, at, left, MSG_DONTWAIT);
		if (n > 0)
			at += n, left -= (size_t)n;
		else if (n == 0)
			return -ECONNRESET;
		else if (errno != EAGAIN && errno != EINTR)
			return -errno;
		else if ((err = socket_await(fd, POLLIN, deadline)))
			return err;
	}
	return 0;
}

/* While a TCP connection has less than a hello, poll and epoll do not report it: a slow sender costs no time. */
static void socket_await_hello(int fd, bool await)
{
	int bytes = await ? (int)sizeof(struct hello) : 1;

	setsockopt(fd, SOL_SOCKET, SO_RCVLOWAT, &bytes, sizeof bytes);
}

static bool peer_has_finished(int fd)
{
	struct pollfd p = {.fd = fd, .events = POLLRDHUP};

	return poll(&p, 1, 0) > 0;
}

static int hello_peek(int fd, struct hello *h)
{
	ssize_t n = recv(fd, h, sizeof *h, MSG_PEEK | MSG_DONTWAIT);

	if (n == sizeof *h)
		return 0;
	if (n < 0)
		return errno == EINTR ? -EAGAIN : -errno;
	/* On a unix socket a hello is one record. */
	return !n || socket_is_unix(fd) || peer_has_finished(fd) ? -ECONNRESET : -EAGAIN;
}

int link_check_hello(int fd, const struct link_config *config, char error[LINK_ERROR_TEXT])
{
	struct hello theirs, granted;
	int err = hello_peek(fd, &theirs);

	if (!socket_is_unix(fd))
		socket_await_hello(fd, err == -EAGAIN);
	return err ? err : hello_answer(&theirs, config, &granted, error);
}

bool link_answer_device(int fd, const struct link_config *config, const char *device)
{
	uint64_t deadline = wait_now() + config->timeout_ms * 1000000ull;
	struct hello ours, theirs;

	if (hello_peek(fd, &theirs) || !(theirs.flags & HELLO_DEVICE))
		return false;
	hello_make(&ours, config);
	ours.flags = HELLO_DEVICE;
	snprintf(ours.text, sizeof ours.text, "%s", device);
	/* Closing a socket with unread bytes discards the answer: read the hello. */
	if (!hello_receive(fd, &theirs, deadline))
		hello_send(fd, &ours, deadline);
	close(fd);
	return true;
}

static int device_ask(int fd, const struct link_config *config, struct hello *answer, char error[LINK_ERROR_TEXT])
{
	uint64_t deadline = wait_now() + config->timeout_ms * 1000000ull;
	struct hello ours;
	int err;

	hello_make(&ours, config);
	ours.flags = HELLO_DEVICE;
	err = hello_send(fd, &ours, deadline);
	err = err ? err : hello_receive(fd, answer, deadline);
	if (err)
		return error_text(error, err, "the server does not answer: %s", strerror(-err));
	err = hello_check(answer, &ours, false, error);
	if (!err && !(answer->flags & HELLO_DEVICE))
		err = error_text(error, -EPROTO, "the server does not tell its device");
	return err;
}

int link_ask_device(const char *address, const struct link_config *config, char device[LINK_DEVICE_TEXT],
	char error[LINK_ERROR_TEXT])
{
	int fd = address_connect(address, wait_now() + config->timeout_ms * 1000000ull, error), err;
	struct hello answer;

	if (fd < 0)
		return fd;
	err = device_ask(fd, config, &answer, error);
	close(fd);
	if (!err)
		text_copy_printable(device, LINK_DEVICE_TEXT, answer.text, sizeof answer.text);
	return err;
}
