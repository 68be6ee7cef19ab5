/* address.c - unix:PATH and tcp://HOST:PORT: listening, accepting, and connecting before a deadline. */
#include "transport/private.h"

#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#define BACKLOG      4096
#define SOCKET_BYTES (4 << 20)

static const char *unix_path(const char *address)
{
	return strncmp(address, "unix:", 5) ? NULL : address + 5;
}

static int unix_name(const char *path, struct sockaddr_un *name, char error[LINK_ERROR_TEXT])
{
	*name = (struct sockaddr_un){.sun_family = AF_UNIX};
	if (!*path || strlen(path) >= sizeof name->sun_path)
		return error_text(error, -ENAMETOOLONG, "unix:%s: a socket's path has 1 to %zu characters", path,
			sizeof name->sun_path - 1);
	strcpy(name->sun_path, path);
	return 0;
}

static bool is_port(const char *text)
{
	size_t n = strspn(text, "0123456789");

	return n && n <= 5 && !text[n] && atoi(text) <= 65535;
}

/* Report a word that is not an address, and suggest the address that its author probably meant. */
static int address_invalid(const char *word, char error[LINK_ERROR_TEXT])
{
	const char *rest = strncmp(word, "tcp:", 4) ? word : word + 4, *host = rest + strspn(rest, "/"),
		   *colon = strrchr(host, ':');
	char meant[128] = "";

	if (*word == '/' && !strncmp(rest, word, 1))
		snprintf(meant, sizeof meant, "unix:%.100s", word);
	else if (colon && colon > host && is_port(colon + 1))
		snprintf(meant, sizeof meant, "tcp://%.100s", host);
	else if (is_port(colon == host ? host + 1 : host))
		snprintf(meant, sizeof meant, "tcp://127.0.0.1:%.8s", colon == host ? host + 1 : host);
	if (*meant)
		return error_text(error, -EINVAL, "'%.200s' is not an address; did you mean %s?", word, meant);
	return error_text(error, -EINVAL, "'%.200s' is not an address: use unix:PATH or tcp://HOST:PORT", word);
}

/* Resolves tcp://HOST:PORT; HOST may be in brackets. */
static int tcp_names(const char *address, bool passive, struct addrinfo **list, char error[LINK_ERROR_TEXT])
{
	struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = passive ? AI_PASSIVE : 0};
	const char *host = address + 6, *colon, *end;
	char name[256];
	int err;

	if (strncmp(address, "tcp://", 6) || !(colon = strrchr(host, ':')) || !colon[1])
		return address_invalid(address, error);
	if (!is_port(colon + 1))
		return error_text(error, -EINVAL, "%.200s: the port is a number from 1 to 65535", address);
	end = colon;
	if (*host == '[' && end > host && end[-1] == ']')
		host++, end--;
	if (end <= host || (size_t)(end - host) >= sizeof name)
		return error_text(error, -EINVAL, "'%s' names no host", address);
	memcpy(name, host, (size_t)(end - host));
	name[end - host] = 0;
	err = getaddrinfo(name, colon + 1, &hints, list);
	if (err)
		return error_text(error, -EHOSTUNREACH, "%s: %s", address, gai_strerror(err));
	return 0;
}

bool socket_is_unix(int fd)
{
	int domain = -1;
	socklen_t size = sizeof domain;

	return !getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &size) && domain == AF_UNIX;
}

/*
 * The kernel sizes a connection's buffers automatically until a size is set. A size above the machine's limit is cut to
 * the limit, which is often far below what the kernel would have chosen.
 */
static bool limit_allows(const char *file, int bytes)
{
	FILE *f = fopen(file, "re");
	int most = 0;

	if (f && fscanf(f, "%d", &most) != 1)
		most = 0;
	if (f)
		fclose(f);
	return most >= bytes;
}

/*
 * Sends small frames at once and enlarges the buffers. A machine that is gone is detected within 25 s: by keep-alive on
 * an idle connection, by TCP_USER_TIMEOUT while data is in flight.
 */
int socket_tune(int fd)
{
	int on = 1, bytes = SOCKET_BYTES, idle = 10, every = 5, count = 3, unacknowledged_ms = 25000;

	if (setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on))
		return -errno;
	if (limit_allows("/proc/sys/net/core/wmem_max", bytes))
		setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &bytes, sizeof bytes);
	if (limit_allows("/proc/sys/net/core/rmem_max", bytes))
		setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof bytes);
	setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &unacknowledged_ms, sizeof unacknowledged_ms);
	setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
	setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle, sizeof idle);
	setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &every, sizeof every);
	setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &count, sizeof count);
	return 0;
}

/* Removes a socket file whose server is gone; never anything else. */
static void unlink_stale(const struct sockaddr_un *name)
{
	struct stat st;
	int fd;

	if (lstat(name->sun_path, &st) || !S_ISSOCK(st.st_mode))
		return;
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0); /* does not disturb a running server: see probe_unix */
	if (fd >= 0 && connect(fd, (const struct sockaddr *)name, sizeof *name) && errno == ECONNREFUSED)
		unlink(name->sun_path);
	if (fd >= 0)
		close(fd);
}

static int listen_unix(const char *path, int type, mode_t mode, char error[LINK_ERROR_TEXT])
{
	struct sockaddr_un name;
	int fd, err = unix_name(path, &name, error);

	if (err)
		return err;
	unlink_stale(&name);
	fd = socket(AF_UNIX, type | SOCK_CLOEXEC, 0);
	/* Set the mode before the name exists, so that at no time others can connect. */
	if (fd >= 0 && !fchmod(fd, mode) && !bind(fd, (struct sockaddr *)&name, sizeof name) && !chmod(path, mode) &&
		!listen(fd, BACKLOG))
		return fd;
	err = error_text(error, -errno, "unix:%s: %s", path, strerror(errno));
	if (fd >= 0)
		close(fd);
	return err;
}

/*
 * Peers send first: silent connections of scanners and probes are not accepted. But the kernel keeps them in a queue in which
 * there may be no room for others, so a listener for links accepts them: see link_check_hello.
 */
static int defer_accept(int fd)
{
	int seconds = 5;

	return setsockopt(fd, IPPROTO_TCP, TCP_DEFER_ACCEPT, &seconds, sizeof seconds);
}

static int listen_tcp(const char *address, bool defer, char error[LINK_ERROR_TEXT])
{
	struct addrinfo *list, *a;
	int fd = -1, on = 1, err = tcp_names(address, true, &list, error);

	if (err)
		return err;
	for (a = list; a; a = a->ai_next) {
		fd = socket(a->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
		if (fd >= 0 && !setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) &&
			!bind(fd, a->ai_addr, a->ai_addrlen) && (!defer || !defer_accept(fd)) && !listen(fd, BACKLOG))
			break;
		err = -errno;
		if (fd >= 0)
			close(fd);
		fd = -1;
	}
	freeaddrinfo(list);
	return fd >= 0 ? fd : error_text(error, err, "%s: %s", address, strerror(-err));
}

int link_listen(const char *address, mode_t mode, char error[LINK_ERROR_TEXT])
{
	const char *path = unix_path(address);

	return path ? listen_unix(path, SOCK_SEQPACKET, mode, error) : listen_tcp(address, false, error);
}

int text_listen(const char *address, mode_t mode, char error[LINK_ERROR_TEXT])
{
	const char *path = unix_path(address);

	return path ? listen_unix(path, SOCK_STREAM, mode, error) : listen_tcp(address, true, error);
}

/* The peer closed without sending anything, as a probe does; that also ends the wait of defer_accept. */
static bool peer_gone(int fd)
{
	char byte;
	ssize_t n = recv(fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT);

	return !n || (n < 0 && errno != EAGAIN && errno != EINTR);
}

int link_accept(int listener)
{
	int fd;

	do
		fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
	while (fd < 0 && (errno == EINTR || errno == ECONNABORTED));
	if (fd >= 0 && peer_gone(fd)) {
		close(fd);
		return -ECONNABORTED;
	}
	return fd < 0 ? -errno : fd;
}

int link_address(int listener, char *text, size_t size)
{
	struct sockaddr_storage any = {0};
	socklen_t length = sizeof any;
	char host[128], port[16];
	int n;

	if (getsockname(listener, (struct sockaddr *)&any, &length))
		return -errno;
	if (any.ss_family == AF_UNIX) {
		n = snprintf(text, size, "unix:%s", ((struct sockaddr_un *)&any)->sun_path);
	} else {
		if (getnameinfo((struct sockaddr *)&any, length, host, sizeof host, port, sizeof port,
			    NI_NUMERICHOST | NI_NUMERICSERV))
			return -EINVAL;
		n = snprintf(text, size, any.ss_family == AF_INET6 ? "tcp://[%s]:%s" : "tcp://%s:%s", host, port);
	}
	return n < 0 || (size_t)n >= size ? -ENAMETOOLONG : 0;
}

static int deadline_left_ms(uint64_t deadline)
{
	uint64_t now = wait_now();

	return now >= deadline ? 0 : (int)((deadline - now) / 1000000 + 1);
}

static int finish_connect(int fd, uint64_t deadline)
{
	struct pollfd p = {.fd = fd, .events = POLLOUT};
	int err = 0, n;
	socklen_t size = sizeof err;

	do
		n = poll(&p, 1, deadline_left_ms(deadline));
	while (n < 0 && errno == EINTR);
	if (n == 0)
		return -ETIMEDOUT;
	if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &err, &size))
		return -errno;
	return -err;
}

static int connect_before(int fd, const struct sockaddr *name, socklen_t size, uint64_t deadline)
{
	int flags, err;

	for (;;) {
		err = connect(fd, name, size) ? -errno : 0;
		if (err == -EINPROGRESS)
			err = finish_connect(fd, deadline);
		/* a unix socket whose backlog is full */
		if (err != -EAGAIN || !deadline_left_ms(deadline))
			break;
		poll(NULL, 0, 1);
	}
	flags = fcntl(fd, F_GETFL);
	if (!err && (flags < 0 || fcntl(fd, F_SETFL, flags & ~O_NONBLOCK)))
		err = -errno;
	return err;
}

int address_again(int fd, uint64_t deadline)
{
	struct sockaddr_storage name;
	socklen_t size = sizeof name;
	int err, again;

	if (getpeername(fd, (struct sockaddr *)&name, &size))
		return -errno;
	again = socket(name.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (again < 0)
		return -errno;
	err = connect_before(again, (struct sockaddr *)&name, size, deadline);
	err = err ? err : socket_tune(again);
	if (err)
		close(again);
	return err ? err : again;
}

static const char *connect_hint(int err)
{
	return err == -ECONNREFUSED || err == -ENOENT ? " (no server is listening there)"
	       : err == -EACCES ? " (the socket belongs to other users; ask to be added to its group)"
				: "";
}

/*
 * The server must run as root, as this user, or as the owner of the socket file. The kernel reports the user who called
 * listen(), so a socket that another user placed at the name of a server that is gone does not pass.
 */
static bool server_trusted(int fd, const char *path)
{
	struct ucred server;
	socklen_t size = sizeof server;
	struct stat st;

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &server, &size))
		return false;
	return !server.uid || server.uid == geteuid() || (!stat(path, &st) && st.st_uid == server.uid);
}

static int connect_unix(const char *path, int type, uint64_t deadline, char error[LINK_ERROR_TEXT])
{
	struct sockaddr_un name;
	int fd, err = unix_name(path, &name, error);

	if (err)
		return err;
	fd = socket(AF_UNIX, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	err = fd < 0 ? -errno : connect_before(fd, (struct sockaddr *)&name, sizeof name, deadline);
	if (!err && server_trusted(fd, path))
		return fd;
	if (fd >= 0)
		close(fd);
	if (!err)
		return error_text(error, -EPERM,
			"unix:%s: the server runs neither as root, nor as you, nor as the socket's owner", path);
	return error_text(error, err, "unix:%s: %s%s", path, strerror(-err), connect_hint(err));
}

static int connect_address(const char *address, int type, uint64_t deadline, char error[LINK_ERROR_TEXT])
{
	const char *path = unix_path(address);
	struct addrinfo *list, *a;
	int fd = -1, err;

	if (path)
		return connect_unix(path, type, deadline, error);
	err = tcp_names(address, false, &list, error);
	if (err)
		return err;
	for (a = list; a; a = a->ai_next) {
		fd = socket(a->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
		err = fd < 0 ? -errno : connect_before(fd, a->ai_addr, a->ai_addrlen, deadline);
		if (!err)
			break;
		if (fd >= 0)
			close(fd);
		fd = -1;
	}
	freeaddrinfo(list);
	return fd >= 0 ? fd : error_text(error, err, "%s: %s%s", address, strerror(-err), connect_hint(err));
}

int address_connect(const char *address, uint64_t deadline, char error[LINK_ERROR_TEXT])
{
	return connect_address(address, SOCK_SEQPACKET, deadline, error);
}

int text_connect(const char *address, unsigned timeout_ms, char error[LINK_ERROR_TEXT])
{
	return connect_address(address, SOCK_STREAM, wait_now() + timeout_ms * 1000000ull, error);
}

/* connect() with the wrong socket type fails with EPROTOTYPE if a server listens, without reaching it. */
static int probe_unix(const char *path, char error[LINK_ERROR_TEXT])
{
	struct sockaddr_un name;
	int fd, err = unix_name(path, &name, error);

	if (err)
		return err;
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	err = fd < 0 || connect(fd, (struct sockaddr *)&name, sizeof name) ? -errno : 0;
	if (fd >= 0)
		close(fd);
	if (err == -EPROTOTYPE || !err)
		return 0;
	return error_text(error, err, "unix:%s: %s%s", path, strerror(-err), connect_hint(err));
}

int link_probe(const char *address, char error[LINK_ERROR_TEXT])
{
	const char *path = unix_path(address);
	int fd;

	if (path)
		return probe_unix(path, error);
	fd = address_connect(address, wait_now() + 5000000000ull, error);
	if (fd < 0)
		return fd;
	close(fd);
	return 0;
}
