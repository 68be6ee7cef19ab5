#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>
#include "server/daemon/listen.h"
#include "server/daemon/log.h"
#include "server/daemon/notify.h"
#include "server/daemon/worker_pool.h"
#include "server/daemon/server.h"
#include "server/daemon/status.h"
#include "transport/transport.h"

#define END_MS       2000 /* after the second SIGTERM: then SIGKILL */
#define PATIENCE_MIN 10

struct door {
	struct source source;
	struct listener listener;
};

struct server {
	const struct server_config *config;
	struct pool pool;
	struct status status;
	struct http http;
	struct source signals;
	int signal_fd;
	struct door doors[LISTENERS];
	unsigned ndoors;
	bool started;  /* a worker has opened the device */
	bool draining; /* no new clients */
	bool over;
	uint64_t kill_at; /* ms; 0: never */
	int result;
};

static void watch(struct server *s, int fd, struct source *source)
{
	struct epoll_event event = {.events = EPOLLIN, .data.ptr = source};

	epoll_ctl(s->pool.epoll, EPOLL_CTL_ADD, fd, &event);
}

static void tell_status(struct server *s)
{
	if (s->started && !s->draining)
		notify("STATUS=%u of at most %u clients on %s", s->pool.busy, s->config->clients, s->config->device);
}

/* ---- Coming ---- */

static void accept_client(struct source *source, void *server)
{
	struct server *s = server;
	struct door *d = (struct door *)source;
	int client = link_accept(d->listener.fd);

	if (client < 0 || link_hand_in_extra(client))
		return;
	s->status.connections++;
	pool_take(&s->pool, client);
	pool_fill(&s->pool);
	tell_status(s);
}

static bool is_loopback(const char *name)
{
	return !strncmp(name, "tcp://127.", 10) || !strncmp(name, "tcp://[::1]", 11);
}

/* Said each time, where the administrator looks. */
static void warn(const char *name)
{
	if (strncmp(name, "tcp:", 4))
		return;
	log_event("%s is not encrypted, and whoever reaches it may use the device; it is %s", name,
		is_loopback(name) ? "for this machine only" : "reachable from other machines");
}

static void start_serving(struct server *s)
{
	s->started = true;
	for (unsigned i = 0; i < s->ndoors; i++) {
		watch(s, s->doors[i].listener.fd, &s->doors[i].source);
		log_event("listening on %s", s->doors[i].listener.name);
		warn(s->doors[i].listener.name);
	}
	pool_fill(&s->pool);
	notify("READY=1");
	tell_status(s);
}

static void give_up(struct server *s, const char *why)
{
	log_event("cannot serve %s: %s", s->config->device, why);
	s->result = -ENODEV;
	s->over = true;
}

static void hear_worker(struct source *source, void *server)
{
	struct server *s = server;
	struct worker *w = (struct worker *)source;
	char text[WORKER_TEXT];
	enum worker_word word;

	if (!pool_hear(&s->pool, w, &word, text) || word == WORKER_TAKEN)
		return;
	if (word == WORKER_READY && !s->started && !s->draining)
		start_serving(s);
	else if (word == WORKER_FAILED && !s->started)
		give_up(s, text);
	else if (word == WORKER_FAILED)
		log_event("worker %d: device %s could not be opened: %s", w->pid, s->config->device, text);
}

/* ---- Going ---- */

static void close_doors(struct server *s)
{
	while (s->ndoors)
		listener_finish(&s->doors[--s->ndoors].listener);
}

static void drain(struct server *s)
{
	s->draining = s->status.draining = true;
	close_doors(s);
	pool_end_spares(&s->pool);
	log_event("no new clients; %u to go", s->pool.busy);
	notify("STOPPING=1\nSTATUS=waiting for %u clients to end", s->pool.busy);
}

static void end_now(struct server *s)
{
	log_event("ending at once, with %u clients", s->pool.busy);
	pool_kill(&s->pool, SIGTERM);
	s->kill_at = pool_now() + END_MS;
}

static void reap(struct server *s)
{
	int status;
	pid_t pid;

	while ((pid = waitpid(-1, &status, WNOHANG)) > 0)
		if (pool_reap(&s->pool, pid, status) && !s->started && !s->draining && !s->over)
			give_up(s, "the process that opens the device died");
	if (!s->draining && s->started)
		pool_fill(&s->pool);
	tell_status(s);
}

static void take_signals(struct source *source, void *server)
{
	struct server *s = server;
	struct signalfd_siginfo i;

	(void)source;
	while (read(s->signal_fd, &i, sizeof i) == sizeof i) {
		if (i.ssi_signo == SIGCHLD)
			reap(s);
		else if (i.ssi_signo == SIGHUP)
			log_event("SIGHUP: nothing to read again; %u clients go on", s->pool.busy);
		else if (!s->draining)
			drain(s);
		else if (!s->kill_at)
			end_now(s);
	}
}

/* ---- Running ---- */

static int open_doors(struct server *s)
{
	for (; s->config->listen[s->ndoors]; s->ndoors++) {
		struct door *d = &s->doors[s->ndoors];
		if (s->ndoors == LISTENERS) {
			log_event("more than %d addresses to listen on", LISTENERS);
			return -E2BIG;
		}
		int err = listener_init(&d->listener, s->config->listen[s->ndoors], s->config->group, false);
		if (err)
			return err;
		d->source.ready = accept_client;
	}
	return 0;
}

/* "/clients/123/end": 123, else 0. */
static int client_to_end(const char *path)
{
	char *end;
	long pid = strncmp(path, "/clients/", 9) ? 0 : strtol(path + 9, &end, 10);

	return pid > 0 && pid <= INT_MAX && !strcmp(end, "/end") ? (int)pid : 0;
}

static int end_client(struct server *s, const struct http_request *q, FILE *body)
{
	const struct worker *w = status_worker(&s->status, client_to_end(q->path));

	if (!q->owner)
		return fputs("Only the server's user and root may end clients, over the unix socket.\n", body), 403;
	if (!w)
		return fputs("There is no such client.\n", body), 404;
	log_event("client %d is ended by request", w->client_pid ? w->client_pid : w->stats->client.pid);
	kill(w->pid, SIGTERM);
	return fputs("ended\n", body), 200;
}

static int answer(void *server, const struct http_request *q, FILE *body, const char **type)
{
	struct server *s = server;

	if (!strcmp(q->method, "POST") && client_to_end(q->path))
		return end_client(s, q, body);
	if (strcmp(q->method, "GET"))
		return fputs("GET /metrics or /status.\n", body), 405;
	if (!strcmp(q->path, "/metrics")) {
		*type = "text/plain; version=0.0.4; charset=utf-8";
		return status_metrics(&s->status, body), 200;
	}
	if (!strcmp(q->path, "/status")) {
		*type = "application/json";
		return status_json(&s->status, body), 200;
	}
	if (!strcmp(q->path, "/status.txt"))
		return status_text(&s->status, body), 200;
	return fputs("There is /metrics and /status here.\n", body), 404;
}

/* What is told beside the clients' sockets is a convenience: without it the server still serves. */
static int open_status(struct server *s)
{
	char address[sizeof s->doors[0].listener.name + 8];

	http_init(&s->http, s->pool.epoll, answer);
	for (unsigned i = 0; i < s->ndoors; i++)
		if (!strncmp(s->doors[i].listener.name, "unix:", 5)) {
			snprintf(address, sizeof address, "%s.status", s->doors[i].listener.name);
			http_listen(&s->http, address, s->config->group);
		}
	if (!s->config->metrics)
		return 0;
	int err = http_listen(&s->http, s->config->metrics, s->config->group);
	if (!err)
		log_event("metrics on %s", s->http.doors[s->http.ndoors - 1].listener.name);
	return err;
}

/* Each client takes a few descriptors of its worker, and two of ours for a moment. */
static void raise_limits(void)
{
	struct rlimit l;

	if (!getrlimit(RLIMIT_NOFILE, &l) && l.rlim_cur < l.rlim_max) {
		l.rlim_cur = l.rlim_max;
		setrlimit(RLIMIT_NOFILE, &l);
	}
}

static int open_signals(struct server *s)
{
	static const int taken[] = {SIGTERM, SIGINT, SIGHUP, SIGCHLD};
	sigset_t set;

	sigemptyset(&set);
	for (size_t i = 0; i < sizeof taken / sizeof *taken; i++)
		sigaddset(&set, taken[i]);
	sigprocmask(SIG_BLOCK, &set, NULL);
	signal(SIGPIPE, SIG_IGN);
	s->signals.ready = take_signals;
	s->signal_fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	s->pool.epoll = epoll_create1(EPOLL_CLOEXEC);
	if (s->signal_fd < 0 || s->pool.epoll < 0) {
		log_event("cannot start: %s", strerror(errno));
		return -errno;
	}
	watch(s, s->signal_fd, &s->signals);
	return 0;
}

/* How long epoll may sleep: until spares are due, or the axe. */
static int patience(const struct server *s)
{
	bool wants = s->started && !s->draining && s->pool.spares < s->config->spares && s->pool.fill_at;
	uint64_t at = s->kill_at ? s->kill_at : wants ? s->pool.fill_at : 0, now = pool_now();

	return !at ? -1 : at > now ? (int)(at - now) + 1 : PATIENCE_MIN;
}

static void after_sleep(struct server *s)
{
	if (s->kill_at && pool_now() >= s->kill_at) {
		pool_kill(&s->pool, SIGKILL);
		s->kill_at = pool_now() + END_MS;
	}
	if (s->started && !s->draining)
		pool_fill(&s->pool);
}

static void loop(struct server *s)
{
	while (!s->over && (!s->draining || s->pool.workers)) {
		struct epoll_event event;
		int n = epoll_wait(s->pool.epoll, &event, 1, patience(s));

		if (n < 0 && errno != EINTR)
			return;
		if (n > 0) {
			struct source *source = event.data.ptr;
			source->ready(source, s);
		}
		after_sleep(s);
	}
}

int server_run(const struct server_config *config)
{
	static struct server s; /* large, and one a process */
	struct server_config first = *config;
	int r;

	s = (struct server){.config = config, .pool.config = config, .pool.ready = hear_worker};
	s.status.pool = &s.pool;
	r = open_signals(&s);

	raise_limits();
	r = r ? r : open_doors(&s);
	r = r ? r : open_status(&s);
	if (!r) {
		first.spares = 1; /* the first one shows whether the device can be opened */
		s.pool.config = &first;
		pool_fill(&s.pool);
		s.pool.config = config;
		if (!s.pool.spares)
			r = -EAGAIN;
	}
	if (!r)
		loop(&s);
	close_doors(&s);
	http_finish(&s.http);
	pool_finish(&s.pool);
	if (!r && !s.result)
		log_event("all clients have ended");
	return r ? r : s.result;
}
