/*
 * Sends a request to a server's status page: status_request ADDRESS METHOD PATH prints the HTTP status and the body; status_request ADDRESS -
 * sends stdin unchanged; status_request ADDRESS crowd N opens N silent connections and keeps them open until stdin ends.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include "transport/transport.h"

#define TIMEOUT_MS 60000

static int reach(const char *address)
{
	char error[LINK_ERROR_TEXT];
	int fd = text_connect(address, TIMEOUT_MS, error);

	if (fd < 0)
		fprintf(stderr, "%s\n", error), exit(1);
	return fd;
}

static void send_all(int fd, const char *data, size_t size)
{
	while (size) {
		ssize_t n = send(fd, data, size, MSG_NOSIGNAL);
		if (n <= 0)
			return; /* the server has closed the connection */
		data += n;
		size -= (size_t)n;
	}
}

/* Prints the status code, then the body. */
static int print_reply(int fd)
{
	static char reply[4 << 20];
	size_t used = 0;
	ssize_t n;
	char *body;

	while (used < sizeof reply - 1 && (n = recv(fd, reply + used, sizeof reply - 1 - used, 0)) > 0)
		used += (size_t)n;
	reply[used] = 0;
	body = strstr(reply, "\r\n\r\n");
	if (strncmp(reply, "HTTP/1.0 ", 9) || !body)
		return fprintf(stderr, "no answer: '%.100s'\n", reply), 1;
	printf("%.3s\n%s", reply + 9, body + 4);
	return 0;
}

static int crowd(const char *address, int n)
{
	while (n--)
		reach(address);
	printf("ready\n");
	fflush(stdout);
	while (getchar() != EOF)
		;
	return 0;
}

int main(int argc, char **argv)
{
	char request[8192];
	int fd;

	if (argc > 3 && !strcmp(argv[2], "crowd"))
		return crowd(argv[1], atoi(argv[3]));
	fd = reach(argv[1]);
	if (argc == 3) {
		size_t n = fread(request, 1, sizeof request, stdin);
		send_all(fd, request, n);
		shutdown(fd, SHUT_WR);
	} else {
		int n = snprintf(request, sizeof request, "%s %s HTTP/1.1\r\nHost: here\r\n\r\n", argv[2], argv[3]);
		send_all(fd, request, (size_t)n);
	}
	return print_reply(fd);
}
