/* Collects hellos without blocking, and closes connections that stay silent. */
#include "server/daemon/pending.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <unistd.h>
#include "server/worker/log.h"
#include "util/build_note.h"
#include "wire/protocol.h"

#define LOG_MS 1000 /* at most one line about silent connections in this time */

/* A quarter of the descriptors that this process may have. */
static unsigned pending_limit(void)
{
	struct rlimit l;
	rlim_t quarter = getrlimit(RLIMIT_NOFILE, &l) ? 0 : l.rlim_cur / 4;

	return quarter > PENDING_MAX ? PENDING_MAX : quarter < PENDING_MIN ? PENDING_MIN : (unsigned)quarter;
}

void pending_init(struct pending *p, int epoll, struct identities *identities, const char *device)
{
	*p = (struct pending){.epoll = epoll,
		.max = pending_limit(),
		.identities = identities,
		.config = link_defaults(true),
		.device = device};
	p->config.build = build_note_text;
	p->config.protocol = wire_protocol();
	p->config.timeout_ms = 0; /* nothing here waits */
}

/* Takes the connection out of the list; its descriptor and its identity are the caller's. */
static void connection_remove(struct pending_connection *c)
{
	struct pending *p = c->pending;

	if (c->previous)
		c->previous->next = c->next;
	else
		p->oldest = c->next;
	if (c->next)
		c->next->previous = c->previous;
	else
		p->newest = c->previous;
	p->count--;
	c->who->pending--;
	epoll_ctl(p->epoll, EPOLL_CTL_DEL, c->fd, NULL);
	free(c);
}

static void connection_close(struct pending_connection *c)
{
	struct pending *p = c->pending;
	struct identity *who = c->who;
	int fd = c->fd;

	connection_remove(c);
	identity_release(p->identities, who);
	close(fd);
}

/* One line for many connections: a flood must not fill the log. */
static void connection_close_silent(struct pending_connection *c)
{
	struct pending *p = c->pending;
	uint64_t now = monotonic_ms();

	p->closed++;
	if (now >= p->log_at) {
		log_event("closed %llu connections that sent no hello, the last one of %s",
			(unsigned long long)(p->closed - p->logged), c->who->name);
		p->logged = p->closed;
		p->log_at = now + LOG_MS;
	}
	connection_close(c);
}

static void connection_ready(struct source *source, void *server)
{
	struct pending_connection *c = (struct pending_connection *)source;
	struct pending *p = c->pending;
	struct identity *who = c->who;
	char error[LINK_ERROR_TEXT];
	int fd = c->fd, r = link_check_hello(fd, &p->config, error);

	if (r == -EAGAIN)
		return;
	connection_remove(c);
	if (!r) {
		if (!link_answer_device(fd, &p->config, p->device))
			p->accept(server, fd, who);
	} else if (r != -EPROTO) {
		close(fd);
	} else if (!link_hand_in_extra(fd)) {
		log_event("client refused: %s", error);
		link_refuse(fd, &p->config, error);
	}
	identity_release(p->identities, who);
}

bool pending_push_out(struct pending *p)
{
	struct pending_connection *c = p->oldest;
	unsigned most = 0;

	for (struct identity *who = p->identities->list; who; who = who->next)
		most = who->pending > most ? who->pending : most;
	while (c && c->who->pending < most)
		c = c->next;
	if (c)
		connection_close_silent(c);
	return c;
}

void pending_add(struct pending *p, int fd)
{
	struct pending_connection *c = calloc(1, sizeof *c);
	struct identity *who = c ? identity_of(p->identities, fd) : NULL;
	struct epoll_event event = {.events = EPOLLIN, .data.ptr = c};

	if (!who) {
		free(c);
		close(fd);
		return;
	}
	*c = (struct pending_connection){.source.ready = connection_ready,
		.previous = p->newest,
		.pending = p,
		.who = who,
		.fd = fd,
		.deadline = monotonic_ms() + PENDING_MS};
	if (p->newest)
		p->newest->next = c;
	else
		p->oldest = c;
	p->newest = c;
	who->pending++;
	epoll_ctl(p->epoll, EPOLL_CTL_ADD, fd, &event);
	if (++p->count > p->max)
		pending_push_out(p);
}

uint64_t pending_due(const struct pending *p)
{
	return p->oldest ? p->oldest->deadline : 0;
}

void pending_expire(struct pending *p)
{
	while (p->oldest && p->oldest->deadline <= monotonic_ms())
		connection_close_silent(p->oldest);
}

void pending_finish(struct pending *p)
{
	while (p->oldest)
		connection_close(p->oldest);
}
