#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include "top/top.h"
#include "transport/transport.h"

#define PATIENCE_MS 5000
#define MOST        (4u << 20) /* bytes of an answer */

static int fail(char error[TOP_ERROR], int err, const char *address, const char *what)
{
	snprintf(error, TOP_ERROR, "%s: %s", address, what);
	return err;
}

/* All of it, or -errno: a server that stops talking is not waited for. */
static int receive(int fd, char **text)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};
	size_t used = 0;
	ssize_t n = 1;

	*text = malloc(MOST + 1);
	if (!*text)
		return -ENOMEM;
	while (n > 0 && used < MOST && poll(&p, 1, PATIENCE_MS) > 0) {
		n = recv(fd, *text + used, MOST - used, 0);
		used += n > 0 ? (size_t)n : 0;
	}
	(*text)[used] = 0;
	return n ? -ETIMEDOUT : 0;
}

/* Moves the body to the front; the status, or 0 when it is no answer. */
static int split(char *text)
{
	char *body = strstr(text, "\r\n\r\n");
	int status = body && !strncmp(text, "HTTP/1.", 7) && strlen(text) > 12 ? atoi(text + 9) : 0;

	if (status)
		memmove(text, body + 4, strlen(body + 4) + 1);
	return status;
}

static int ask(const char *address, const char *method, const char *path, char **text, char error[TOP_ERROR])
{
	char request[256], why[LINK_ERROR_TEXT];
	int n = snprintf(request, sizeof request, "%s %s HTTP/1.0\r\n\r\n", method, path), err, status;
	int fd = text_connect(address, PATIENCE_MS, why);

	if (fd < 0)
		return snprintf(error, TOP_ERROR, "%s", why), fd;
	if (send(fd, request, (size_t)n, MSG_NOSIGNAL) != n) {
		close(fd);
		return fail(error, -EPIPE, address, "the server does not listen to us");
	}
	err = receive(fd, text);
	close(fd);
	if (err)
		return fail(error, err, address, err == -ENOMEM ? "out of memory" : "the server does not answer");
	status = split(*text);
	if (status == 200)
		return 0;
	(*text)[strcspn(*text, "\n")] = 0;
	return fail(error, -EPROTO, address, status ? *text : "this is no gangway server's status");
}

int ask_status(const char *address, char **text, char error[TOP_ERROR])
{
	int err;

	*text = NULL;
	err = ask(address, "GET", "/status.txt", text, error);
	if (err) {
		free(*text);
		*text = NULL;
	}
	return err;
}

int ask_end(const char *address, int worker, char error[TOP_ERROR])
{
	char path[64], *text = NULL;
	int err;

	snprintf(path, sizeof path, "/clients/%d/end", worker);
	err = ask(address, "POST", path, &text, error);
	free(text);
	return err;
}
