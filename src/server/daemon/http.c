#include "server/daemon/http.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>
#include "transport/transport.h"

static void end(struct http_connection *c)
{
	if (!c->http || c->fd < 0) /* never begun, or free */
		return;
	epoll_ctl(c->http->epoll, EPOLL_CTL_DEL, c->fd, NULL);
	close(c->fd);
	free(c->reply);
	c->fd = -1;
	c->reply = NULL;
}

/* ---- Out ---- */

static void push(struct http_connection *c)
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
	end(c);
}

static const char *phrase(int status)
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

/* The body first, since the head says how long it is. */
static void reply(struct http_connection *c, const struct http_request *request, void *server)
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
			status, phrase(status), type, size);
		fwrite(body, 1, size, f);
	}
	free(body);
	if (!f || fclose(f)) {
		end(c);
		return;
	}
	c->sent = 0;
	push(c);
}

/* ---- In ---- */

/* METHOD SP PATH SP HTTP/1.x, taken apart in place. */
static bool parse(struct http_connection *c, struct http_request *r)
{
	char *line = c->request, *space = strpbrk(line, " \r\n"), *path, *end;

	if (!space || *space != ' ')
		return false;
	path = space + 1;
	end = strpbrk(path, " \r\n");
	if (!end || *end != ' ' || *path != '/' || strncmp(end + 1, "HTTP/1.", 7))
		return false;
	*space = *end = 0;
	*r = (struct http_request){.method = line, .path = path, .owner = c->owner};
	return true;
}

static bool complete(const struct http_connection *c)
{
	return strstr(c->request, "\r\n\r\n") || strstr(c->request, "\n\n");
}

static void hear(struct source *source, void *server)
{
	struct http_connection *c = (struct http_connection *)source;
	struct http_request request;
	ssize_t n;

	if (c->reply) {
		push(c);
		return;
	}
	n = recv(c->fd, c->request + c->used, HTTP_REQUEST - c->used, MSG_DONTWAIT);
	if (n < 0 && errno == EAGAIN)
		return;
	if (n <= 0) {
		end(c);
		return;
	}
	c->used += (size_t)n;
	c->request[c->used] = 0;
	if (complete(c))
		reply(c, parse(c, &request) ? &request : NULL, server);
	else if (c->used == HTTP_REQUEST || strlen(c->request) < c->used)
		reply(c, NULL, server);
}

static struct http_connection *room(struct http *h)
{
	struct http_connection *oldest = &h->connections[0];

	for (int i = 0; i < HTTP_CONNECTIONS; i++) {
		if (h->connections[i].fd < 0)
			return &h->connections[i];
		if (h->connections[i].age < oldest->age)
			oldest = &h->connections[i];
	}
	end(oldest);
	return oldest;
}

static bool from_owner(int fd)
{
	struct ucred c;
	socklen_t size = sizeof c;

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &c, &size) || c.pid <= 0) /* TCP has none */
		return false;
	return c.uid == geteuid() || c.uid == 0;
}

static void come_in(struct source *source, void *server)
{
	struct http_door *d = (struct http_door *)source;
	struct http *h = d->http;
	int fd = link_accept(d->listener.fd);
	struct http_connection *c = fd < 0 ? NULL : room(h);
	struct epoll_event event = {.events = EPOLLIN, .data.ptr = c};

	(void)server;
	if (!c)
		return;
	c->fd = fd;
	c->age = ++h->count;
	c->used = 0;
	c->request[0] = 0;
	c->owner = from_owner(fd);
	epoll_ctl(h->epoll, EPOLL_CTL_ADD, fd, &event);
}

void http_init(struct http *h, int epoll, http_answer answer)
{
	*h = (struct http){.epoll = epoll, .answer = answer};
	for (int i = 0; i < HTTP_CONNECTIONS; i++)
		h->connections[i] = (struct http_connection){.source.ready = hear, .http = h, .fd = -1};
}

int http_listen(struct http *h, const char *address, gid_t group)
{
	struct http_door *d = &h->doors[h->ndoors];
	struct epoll_event event = {.events = EPOLLIN, .data.ptr = d};
	int err;

	if (h->ndoors == HTTP_DOORS)
		return -E2BIG;
	*d = (struct http_door){.source.ready = come_in, .http = h};
	err = listener_init(&d->listener, address, group, true);
	if (err)
		return err;
	h->ndoors++;
	epoll_ctl(h->epoll, EPOLL_CTL_ADD, d->listener.fd, &event);
	return 0;
}

void http_finish(struct http *h)
{
	for (int i = 0; i < HTTP_CONNECTIONS; i++)
		end(&h->connections[i]);
	while (h->ndoors)
		listener_finish(&h->doors[--h->ndoors].listener);
}
