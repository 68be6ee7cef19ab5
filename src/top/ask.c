/* HTTP requests to a server's status socket. */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include "top/top.h"
#include "transport/transport.h"

#define TIMEOUT_MS 5000
#define ANSWER_MAX (4u << 20) /* bytes of an answer */

static int set_error(char error[TOP_ERROR], int err, const char *address, const char *what)
{
	snprintf(error, TOP_ERROR, "%s: %s", address, what);
	return err;
}

/* Receive the whole answer. Returns 0 or -errno; a silent server times out. */
static int receive_answer(int fd, char **text)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};
	size_t used = 0;
	ssize_t n = 1;

	*text = malloc(ANSWER_MAX + 1);
	if (!*text)
		return -ENOMEM;
	while (n > 0 && used < ANSWER_MAX && poll(&p, 1, TIMEOUT_MS) > 0) {
		n = recv(fd, *text + used, ANSWER_MAX - used, 0);
		used += n > 0 ? (size_t)n : 0;
	}
	(*text)[used] = 0;
	return n ? -ETIMEDOUT : 0;
}

/* Move the body to the front. Returns the HTTP status, or 0 if this is not an HTTP answer. */
static int split_answer(char *text)
{
	char *body = strstr(text, "\r\n\r\n");
	int status = body && !strncmp(text, "HTTP/1.", 7) && strlen(text) > 12 ? atoi(text + 9) : 0;

	if (status)
		memmove(text, body + 4, strlen(body + 4) + 1);
	return status;
}

static int http_request(const char *address, const char *method, const char *path, char **text, char error[TOP_ERROR])
{
	char request[256], why[LINK_ERROR_TEXT];
	int n = snprintf(request, sizeof request, "%s %s HTTP/1.0\r\n\r\n", method, path), err, status;
	int fd = text_connect(address, TIMEOUT_MS, why);

	if (fd < 0)
		return snprintf(error, TOP_ERROR, "%s", why), fd;
	if (send(fd, request, (size_t)n, MSG_NOSIGNAL) != n) {
		close(fd);
		return set_error(error, -EPIPE, address, "the server closed the connection");
	}
	err = receive_answer(fd, text);
	close(fd);
	if (err)
		return set_error(error, err, address, err == -ENOMEM ? "out of memory" : "the server does not answer");
	status = split_answer(*text);
	if (status == 200)
		return 0;
	(*text)[strcspn(*text, "\n")] = 0;
	return set_error(error, -EPROTO, address, status ? *text : "this is not the status of a Gangway server");
}

int server_get_status(const char *address, char **text, char error[TOP_ERROR])
{
	int err;

	*text = NULL;
	err = http_request(address, "GET", "/status.txt", text, error);
	if (err) {
		free(*text);
		*text = NULL;
	}
	return err;
}

int server_end_client(const char *address, int worker, char error[TOP_ERROR])
{
	char path[64], *text = NULL;
	int err;

	snprintf(path, sizeof path, "/clients/%d/end", worker);
	err = http_request(address, "POST", path, &text, error);
	free(text);
	return err;
}
