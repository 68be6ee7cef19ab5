/*
 * http.h - HTTP in the parent: one GET or POST for each connection.
 *
 * The code runs in the parent's epoll loop and never blocks: it collects a request, lets `answer` write the body into
 * memory, and sends the reply as the socket accepts it.
 *
 * Trust: none in the peer.  Requests are short and connections few; a new connection beyond the limit closes the
 * oldest.
 */
#pragma once

#include <stdbool.h>
#include <stdio.h>
#include <sys/types.h>
#include "server/daemon/listen.h"
#include "server/daemon/peer.h"
#include "server/daemon/worker_pool.h"

#define HTTP_LISTENERS   8
#define HTTP_CONNECTIONS 16
#define HTTP_REQUEST     4096 /* bytes of a request, including its head */

struct http_request {
	const char *method, *path;
	const struct peer *peer;
	bool open; /* the listener's: every peer may see everything */
};

/* Writes the body and returns the HTTP status.  *type is the content type: text/plain unless changed. */
typedef int (*http_answer)(void *server, const struct http_request *request, FILE *body, const char **type);

struct http_connection {
	struct source source;
	struct http *http;
	int fd;       /* -1: free */
	uint64_t age; /* the number of the connection: the lowest is the oldest */
	struct peer peer;
	bool open;
	size_t used;
	char request[HTTP_REQUEST + 1];
	char *reply; /* NULL: the request is not complete yet */
	size_t size, sent;
};

struct http_listener {
	struct source source;
	bool open;
	struct http *http;
	struct listener listener;
};

struct http {
	int epoll;
	http_answer answer;
	uint64_t count;
	unsigned nlisteners;
	struct http_listener listeners[HTTP_LISTENERS];
	struct http_connection connections[HTTP_CONNECTIONS];
};

void http_init(struct http *h, int epoll, http_answer answer);
/* `open`: for requests to this address, see http_request.  0, or -errno after logging why. */
int http_listen(struct http *h, const char *address, gid_t group, bool open);
void http_finish(struct http *h);
