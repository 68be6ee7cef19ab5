/* The parent's event loop: accepts clients, listens to workers and signals, answers status requests. */
#include "server/daemon/server.h"

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
#include "server/worker/log.h"
#include "server/daemon/notify.h"
#include "server/daemon/pending.h"
#include "server/status/status.h"
#include "server/daemon/worker_pool.h"
#include "server/sandbox/sandbox.h"
#include "transport/transport.h"

#define KILL_MS     2000 /* from the second SIGTERM to SIGKILL */
#define TIMEOUT_MIN 10   /* ms: epoll_wait is not called in a busy loop */

struct client_listener {
	struct source source;
	struct listener listener;
};

struct server {
	const struct server_config *config;
	struct identities identities;
	struct pending pending;
	struct worker_pool pool;
	struct status status;
	struct http http;
	struct source signals;
	int signal_fd;
	struct client_listener listeners[LISTENERS];
	unsigned nlisteners;
	bool started;  /* a worker has opened the device */
	bool draining; /* no new clients */
	bool over;
	uint64_t kill_at; /* monotonic_ms(); 0: never */
	int result;
};

static void source_watch(struct server *s, int fd, struct source *source)
{
	struct epoll_event event = {.events = EPOLLIN, .data.ptr = source};

	epoll_ctl(s->pool.epoll, EPOLL_CTL_ADD, fd, &event);
}

static void systemd_notify_status(struct server *s)
{
	if (s->started && !s->draining)
		systemd_notify(
			"STATUS=%u of at most %u clients on %s", s->pool.busy, s->config->clients, s->config->device);
}

/* ---- Clients and workers ---- */

static void client_ready(struct source *source, void *server)
{
	struct server *s = server;
	struct client_listener *l = (struct client_listener *)source;
	int client = link_accept(l->listener.fd);

	if (client >= 0)
		pending_add(&s->pending, client);
	else if (client == -EMFILE || client == -ENFILE)
		pending_push_out(&s->pending);
}

/* A connection has sent an acceptable hello. */
static void client_accept(void *server, int client, struct identity *who)
{
	struct server *s = server;

	s->status.connections++;
	worker_pool_accept(&s->pool, client, who);
	worker_pool_fill(&s->pool);
	systemd_notify_status(s);
}

static bool address_is_loopback(const char *name)
{
	return !strncmp(name, "tcp://127.", 10) || !strncmp(name, "tcp://[::1]", 11);
}

/* Logged at every start. */
static void listener_warn(const char *name)
{
	if (strncmp(name, "tcp:", 4))
		return;
	log_event("warning: %s is not encrypted or authenticated: whoever reaches it may use the device; it is "
		  "reachable %s",
		name, address_is_loopback(name) ? "from this machine only" : "from other machines");
}

/* Which layers protect the machine from the workers, and which are missing here. */
static void sandbox_log(const struct server *s)
{
	char on[SANDBOX_TEXT], off[SANDBOX_TEXT];

	sandbox_describe(s->config->sandbox, on);
	sandbox_describe(SANDBOX_ALL & ~s->config->sandbox, off);
	log_event("sandbox of workers: %s; off: %s", on, off);
}

static void serving_start(struct server *s)
{
	sandbox_log(s);
	s->started = true;
	for (unsigned i = 0; i < s->nlisteners; i++) {
		source_watch(s, s->listeners[i].listener.fd, &s->listeners[i].source);
		log_event("listening on %s", s->listeners[i].listener.name);
		listener_warn(s->listeners[i].listener.name);
	}
	worker_pool_fill(&s->pool);
	systemd_notify("READY=1");
	systemd_notify_status(s);
}

static void serving_give_up(struct server *s, const char *why)
{
	log_event("cannot serve %s: %s%s", s->config->device, why,
		strcmp(s->config->device, "nvidia")
			? ""
			: "; gangway serve --on cpu shares this machine's processor instead");
	s->result = -ENODEV;
	s->over = true;
}

static void worker_device_failed(struct server *s, const struct worker *w, const char *why)
{
	if (s->started)
		log_event("worker %d cannot open device %s: %s", w->pid, s->config->device, why);
	else
		serving_give_up(s, why);
}

/* Requests and notices of workers that serve a client are handled here, by type. */
static void worker_message_ready(struct source *source, void *server)
{
	struct server *s = server;
	struct worker *w = (struct worker *)source;
	struct handoff_message m;

	if (!worker_pool_receive(&s->pool, w, &m))
		return;
	switch (m.type) {
	case HANDOFF_READY:
		if (!s->started && !s->draining)
			serving_start(s);
		break;
	case HANDOFF_FAILED:
		worker_device_failed(s, w, (const char *)m.body);
		break;
	case HANDOFF_TAKEN:
		break;
	case HANDOFF_IPC_PUBLISH:
	case HANDOFF_IPC_REVOKE:
	case HANDOFF_IPC_OPEN:
	case HANDOFF_IPC_ALIVE:
		if (!ipc_registry_serve(&s->pool, w, &m))
			worker_pool_expel(&s->pool, w, "sends a malformed request, or does not read the answer");
		break;
	default:
		worker_pool_expel(&s->pool, w, "sends a message of an unknown type");
	}
	handoff_discard(&m);
}

/* ---- Ending ---- */

static void listeners_close(struct server *s)
{
	while (s->nlisteners)
		listener_finish(&s->listeners[--s->nlisteners].listener);
}

static void server_drain(struct server *s)
{
	s->draining = s->status.draining = true;
	listeners_close(s);
	pending_finish(&s->pending);
	worker_pool_end_spares(&s->pool);
	log_event("draining: no new clients; waiting for %u", s->pool.busy);
	systemd_notify("STOPPING=1\nSTATUS=waiting for %u clients to end", s->pool.busy);
}

static void server_end_now(struct server *s)
{
	log_event("second signal: ending %u clients now", s->pool.busy);
	worker_pool_kill(&s->pool, SIGTERM);
	s->kill_at = monotonic_ms() + KILL_MS;
}

static void children_reap(struct server *s)
{
	int status;
	pid_t pid;

	while ((pid = waitpid(-1, &status, WNOHANG)) > 0)
		if (worker_pool_reap(&s->pool, pid, status) && !s->started && !s->draining && !s->over)
			serving_give_up(s, "the worker process died while it opened the device");
	if (!s->draining && s->started)
		worker_pool_fill(&s->pool);
	systemd_notify_status(s);
}

static void signals_ready(struct source *source, void *server)
{
	struct server *s = server;
	struct signalfd_siginfo i;

	(void)source;
	while (read(s->signal_fd, &i, sizeof i) == sizeof i) {
		if (i.ssi_signo == SIGCHLD)
			children_reap(s);
		else if (i.ssi_signo == SIGHUP)
			log_event(
				"SIGHUP ignored: there is no configuration to reload; %u clients go on", s->pool.busy);
		else if (!s->draining)
			server_drain(s);
		else if (!s->kill_at)
			server_end_now(s);
	}
}

/* ---- Starting ---- */

static int listeners_open(struct server *s)
{
	for (; s->config->listen[s->nlisteners]; s->nlisteners++) {
		struct client_listener *l = &s->listeners[s->nlisteners];
		if (s->nlisteners == LISTENERS) {
			log_event("cannot listen on more than %d addresses", LISTENERS);
			return -E2BIG;
		}
		int err = listener_init(&l->listener, s->config->listen[s->nlisteners], s->config->group, false);
		if (err)
			return err;
		l->source.ready = client_ready;
	}
	return 0;
}

/* 123 for "/clients/123/end", else 0. */
static int client_end_path(const char *path)
{
	char *end;
	long pid = strncmp(path, "/clients/", 9) ? 0 : strtol(path + 9, &end, 10);

	return pid > 0 && pid <= INT_MAX && !strcmp(end, "/end") ? (int)pid : 0;
}

static int client_end(struct server *s, const struct http_request *q, FILE *body)
{
	const struct worker *w = status_worker(&s->status, client_end_path(q->path));

	if (!peer_is_owner(q->peer))
		return fputs("Only the server's user and root may end clients, over the unix socket and from outside "
			     "of "
			     "containers.\n",
			       body),
		       403;
	if (!w)
		return fputs("There is no such client.\n", body), 404;
	log_event("ending client %d by request", w->client_pid ? w->client_pid : w->stats->client.pid);
	kill(w->pid, SIGTERM);
	return fputs("ended\n", body), 200;
}

static int http_answer_request(void *server, const struct http_request *q, FILE *body, const char **type)
{
	struct server *s = server;
	const struct peer *viewer = q->open ? NULL : q->peer;

	if (!strcmp(q->method, "POST") && client_end_path(q->path))
		return client_end(s, q, body);
	if (strcmp(q->method, "GET"))
		return fputs("Use GET /metrics or GET /status.\n", body), 405;
	if (!strcmp(q->path, "/metrics")) {
		*type = "text/plain; version=0.0.4; charset=utf-8";
		return status_metrics(&s->status, viewer, body), 200;
	}
	if (!strcmp(q->path, "/status")) {
		*type = "application/json";
		return status_json(&s->status, viewer, body), 200;
	}
	if (!strcmp(q->path, "/status.txt"))
		return status_text(&s->status, viewer, body), 200;
	return fputs("Not found. This server has /metrics and /status.\n", body), 404;
}

/* The status sockets beside the clients' sockets are a convenience: without them the server still serves. */
static int status_open(struct server *s)
{
	char address[sizeof s->listeners[0].listener.name + 8];

	http_init(&s->http, s->pool.epoll, http_answer_request);
	for (unsigned i = 0; i < s->nlisteners; i++)
		if (!strncmp(s->listeners[i].listener.name, "unix:", 5)) {
			snprintf(address, sizeof address, "%s.status", s->listeners[i].listener.name);
			http_listen(&s->http, address, s->config->group, false);
		}
	if (!s->config->metrics)
		return 0;
	int err = http_listen(&s->http, s->config->metrics, s->config->group, true);
	if (!err)
		log_event("serving metrics on %s", s->http.listeners[s->http.nlisteners - 1].listener.name);
	return err;
}

/* Each client takes a few descriptors in its worker, and one in the parent: the socket of its worker. */
static void descriptor_limit_raise(void)
{
	struct rlimit l;

	if (!getrlimit(RLIMIT_NOFILE, &l) && l.rlim_cur < l.rlim_max) {
		l.rlim_cur = l.rlim_max;
		setrlimit(RLIMIT_NOFILE, &l);
	}
}

static int signals_open(struct server *s)
{
	static const int handled[] = {SIGTERM, SIGINT, SIGHUP, SIGCHLD};
	sigset_t set;

	sigemptyset(&set);
	for (size_t i = 0; i < sizeof handled / sizeof *handled; i++)
		sigaddset(&set, handled[i]);
	sigprocmask(SIG_BLOCK, &set, NULL);
	signal(SIGPIPE, SIG_IGN);
	s->signals.ready = signals_ready;
	s->signal_fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	s->pool.epoll = epoll_create1(EPOLL_CLOEXEC);
	if (s->signal_fd < 0 || s->pool.epoll < 0) {
		log_event("cannot start: %s", strerror(errno));
		return -errno;
	}
	source_watch(s, s->signal_fd, &s->signals);
	return 0;
}

/* How long epoll may sleep, in ms: until the next spare, SIGKILL or end of a silent connection is due; -1: for ever. */
static int loop_timeout(const struct server *s)
{
	bool wants = s->started && !s->draining && s->pool.spares < s->config->spares && s->pool.fill_at;
	uint64_t at = s->kill_at ? s->kill_at : wants ? s->pool.fill_at : 0, now = monotonic_ms();
	uint64_t due = pending_due(&s->pending);

	at = due && (!at || due < at) ? due : at;
	return !at ? -1 : at > now ? (int)(at - now) + 1 : TIMEOUT_MIN;
}

static void loop_timers(struct server *s)
{
	if (s->kill_at && monotonic_ms() >= s->kill_at) {
		worker_pool_kill(&s->pool, SIGKILL);
		s->kill_at = monotonic_ms() + KILL_MS;
	}
	pending_expire(&s->pending);
	if (s->started && !s->draining)
		worker_pool_fill(&s->pool);
}

static void server_loop(struct server *s)
{
	while (!s->over && (!s->draining || s->pool.workers)) {
		struct epoll_event event;
		int n = epoll_wait(s->pool.epoll, &event, 1, loop_timeout(s));

		if (n < 0 && errno != EINTR)
			return;
		if (n > 0) {
			struct source *source = event.data.ptr;
			source->ready(source, s);
		}
		loop_timers(s);
	}
}

/*
 * The first worker shows whether the device can be opened; only then the server starts the others and accepts
 * clients.
 */
static int first_worker_start(struct server *s)
{
	struct server_config first = *s->config;

	first.spares = 1;
	s->pool.config = &first;
	worker_pool_fill(&s->pool);
	s->pool.config = s->config;
	return s->pool.spares ? 0 : -EAGAIN;
}

int server_run(const struct server_config *config)
{
	struct server *s = calloc(1, sizeof *s);
	int r;

	if (!s)
		return -ENOMEM;
	s->config = s->pool.config = config;
	s->pool.ready = worker_message_ready;
	s->pool.program.fd = -1;
	s->pool.identities = &s->identities;
	s->status.pool = &s->pool;
	process_protect(config);
	r = signals_open(s);
	descriptor_limit_raise();
	pending_init(&s->pending, s->pool.epoll, &s->identities, config->device);
	s->pending.accept = client_accept;
	r = r ? r : listeners_open(s);
	r = r ? r : status_open(s);
	r = r ? r : worker_program_open(&s->pool.program);
	r = r ? r : first_worker_start(s);
	if (!r)
		server_loop(s);
	listeners_close(s);
	pending_finish(&s->pending);
	http_finish(&s->http);
	worker_pool_finish(&s->pool);
	worker_program_close(&s->pool.program);
	r = r ? r : s->result;
	if (!r)
		log_event("all clients have ended; exiting");
	free(s);
	return r;
}
