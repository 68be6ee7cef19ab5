/* A small HTTP server for status requests. */
#include "server/status/http.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>
#include "transport/transport.h"

static void connection_end(struct http_connection *c)
{
	if (!c->http || c->fd < 0) /* before http_init(), or free */
		return;
	epoll_ctl(c->http->epoll, EPOLL_CTL_DEL, c->fd, NULL);
	close(c->fd);
	free(c->reply);
	c->fd = -1;
	c->reply = NULL;
}

/* ---- Replies ---- */

static void reply_push(struct http_connection *c)
{
	struct epoll_event event = {.events = EPOLLOUT, .data.ptr = &c->source};

	while (c->sent < c->size) {
		ssize_t n = send(c->fd, c->reply + c->sent, c->size - c->sent, MSG_DONTWAIT | MSG_NOSIGNAL);
		if (n < 0 && errno == EAGAIN) {
			epoll_ctl(c->http->epoll, EPOLL_CTL_MOD, c->fd, &event);
			return;
		}
		if (n <= 0)
			break;
		c->sent += (size_t)n;
	}
	if (c->sent == c->size)
		shutdown(c->fd, SHUT_WR);
	connection_end(c);
}

static const char *status_phrase(int status)
{
	switch (status) {
	case 200:
		return "OK";
	case 400:
		return "Bad Request";
	case 403:
		return "Forbidden";
	case 404:
		return "Not Found";
	case 405:
		return "Method Not Allowed";
	default:
		return "Internal Server Error";
	}
}

/* The body is written first, because the head states its length. */
static void reply_make(struct http_connection *c, const struct http_request *request, void *server)
{
	const char *type = "text/plain; charset=utf-8";
	char *body = NULL;
	size_t size = 0;
	FILE *f = open_memstream(&body, &size);
	int status = !f ? 500 : request ? c->http->answer(server, request, f, &type) : 400;

	if (f && fclose(f))
		status = 500;
	f = open_memstream(&c->reply, &c->size);
	if (f) {
		fprintf(f, "HTTP/1.0 %d %s\r\nContent-Type: %s\r\nContent-Length: %zu\r\nConnection: close\r\n\r\n",
			status, status_phrase(status), type, size);
		fwrite(body, 1, size, f);
	}
	free(body);
	if (!f || fclose(f)) {
		connection_end(c);
		return;
	}
	c->sent = 0;
	reply_push(c);
}

/* ---- Requests ---- */

/* Splits "METHOD SP PATH SP HTTP/1.x" in place. */
static bool request_parse(struct http_connection *c, struct http_request *r)
{
	char *line = c->request, *space = strpbrk(line, " \r\n"), *path, *end;

	if (!space || *space != ' ')
		return false;
	path = space + 1;
	end = strpbrk(path, " \r\n");
	if (!end || *end != ' ' || *path != '/' || strncmp(end + 1, "HTTP/1.", 7))
		return false;
	*space = *end = 0;
	*r = (struct http_request){.method = line, .path = path, .peer = &c->peer, .open = c->open};
	return true;
}

static bool request_complete(const struct http_connection *c)
{
	return strstr(c->request, "\r\n\r\n") || strstr(c->request, "\n\n");
}

static void connection_ready(struct source *source, void *server)
{
	struct http_connection *c = (struct http_connection *)source;
	struct http_request request;
	ssize_t n;

	if (c->reply) {
		reply_push(c);
		return;
	}
	n = recv(c->fd, c->request + c->used, HTTP_REQUEST - c->used, MSG_DONTWAIT);
	if (n < 0 && errno == EAGAIN)
		return;
	if (n <= 0) {
		connection_end(c);
		return;
	}
	c->used += (size_t)n;
	c->request[c->used] = 0;
	if (request_complete(c))
		reply_make(c, request_parse(c, &request) ? &request : NULL, server);
	else if (c->used == HTTP_REQUEST || strlen(c->request) < c->used)
		reply_make(c, NULL, server);
}

static struct http_connection *connection_take_slot(struct http *h)
{
	struct http_connection *oldest = &h->connections[0];

	for (int i = 0; i < HTTP_CONNECTIONS; i++) {
		if (h->connections[i].fd < 0)
			return &h->connections[i];
		if (h->connections[i].age < oldest->age)
			oldest = &h->connections[i];
	}
	connection_end(oldest);
	return oldest;
}

static void listener_ready(struct source *source, void *server)
{
	struct http_listener *l = (struct http_listener *)source;
	struct http *h = l->http;
	int fd = link_accept(l->listener.fd);
	struct http_connection *c = fd < 0 ? NULL : connection_take_slot(h);
	struct epoll_event event = {.events = EPOLLIN, .data.ptr = c};

	(void)server;
	if (!c)
		return;
	c->fd = fd;
	c->age = ++h->count;
	c->used = 0;
	c->request[0] = 0;
	c->peer = peer_of(fd);
	c->open = l->open;
	epoll_ctl(h->epoll, EPOLL_CTL_ADD, fd, &event);
}

void http_init(struct http *h, int epoll, http_answer answer)
{
	*h = (struct http){.epoll = epoll, .answer = answer};
	for (int i = 0; i < HTTP_CONNECTIONS; i++)
		h->connections[i] = (struct http_connection){.source.ready = connection_ready, .http = h, .fd = -1};
}

int http_listen(struct http *h, const char *address, gid_t group, bool open)
{
	struct http_listener *l = &h->listeners[h->nlisteners];
	struct epoll_event event = {.events = EPOLLIN, .data.ptr = l};
	int err;

	if (h->nlisteners == HTTP_LISTENERS)
		return -E2BIG;
	*l = (struct http_listener){.source.ready = listener_ready, .open = open, .http = h};
	err = listener_init(&l->listener, address, group, true);
	if (err)
		return err;
	h->nlisteners++;
	epoll_ctl(h->epoll, EPOLL_CTL_ADD, l->listener.fd, &event);
	return 0;
}

void http_finish(struct http *h)
{
	for (int i = 0; i < HTTP_CONNECTIONS; i++)
		connection_end(&h->connections[i]);
	while (h->nlisteners)
		listener_finish(&h->listeners[--h->nlisteners].listener);
}
