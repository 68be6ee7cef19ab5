/*
 * http.h - the parent's answers to GET and POST: one request a connection, then it is closed.
 *
 * It lives in the parent's epoll loop and never waits: a request is collected, answered by `answer` into
 * memory, and sent as the socket takes it.  The other side is not trusted: requests are short, there are few
 * connections, and who comes when all are taken ends the oldest.
 */
#pragma once

#include <stdbool.h>
#include <stdio.h>
#include <sys/types.h>
#include "server/daemon/listen.h"
#include "server/daemon/worker_pool.h"

#define HTTP_DOORS       8
#define HTTP_CONNECTIONS 16
#define HTTP_REQUEST     4096 /* bytes of a request, head and all */

struct http_request {
	const char *method, *path;
	bool owner; /* comes from our own user or root, says the kernel */
};

/* Writes the body and returns the status, 200 or another; *type is the body's, text/plain unless changed. */
typedef int (*http_answer)(void *server, const struct http_request *request, FILE *body, const char **type);

struct http_connection {
	struct source source;
	struct http *http;
	int fd; /* -1: free */
	uint64_t age;
	bool owner;
	size_t used;
	char request[HTTP_REQUEST + 1];
	char *reply; /* NULL: still asking */
	size_t size, sent;
};

struct http_door {
	struct source source;
	struct http *http;
	struct listener listener;
};

struct http {
	int epoll;
	http_answer answer;
	uint64_t count;
	unsigned ndoors;
	struct http_door doors[HTTP_DOORS];
	struct http_connection connections[HTTP_CONNECTIONS];
};

void http_init(struct http *h, int epoll, http_answer answer);
/* 0 or -errno, having said why. */
int http_listen(struct http *h, const char *address, gid_t group);
void http_finish(struct http *h);
