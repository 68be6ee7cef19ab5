/* Starts workers, hands clients to them, and reaps them. */
#include "server/daemon/worker_pool.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "server/worker/log.h"
#include "transport/transport.h"
#include "util/build_note.h"
#include "wire/protocol.h"
#include "server/sandbox/sandbox.h"

#define CLIENT_TRIES  3    /* workers that may die with a client before it is refused */
#define FILL_PAUSE_MS 1000 /* after a spare has died: a driver that crashes at start must not keep the parent busy */

uint64_t monotonic_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

static struct worker *worker_add(
	struct worker_pool *p, pid_t pid, int fd, enum worker_state state, const struct stats *stats)
{
	struct worker *w = calloc(1, sizeof *w);

	if (!w)
		return NULL;
	*w = (struct worker){.source.ready = p->ready,
		.next = p->workers,
		.state = state,
		.pid = pid,
		.fd = fd,
		.client = -1,
		.ipc.store = -1,
		.stats = stats};
	p->workers = w;
	p->spares += state == WORKER_OPENING;
	return w;
}

/* Starts the process; its socket's other end is in *fd. */
static pid_t worker_launch(struct worker_pool *p, int *fd, int stats)
{
	struct worker_settings settings = {0};
	int pair[2], err;
	pid_t pid;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair))
		return -1;
	worker_settings_make(&settings, p->config);
	err = handoff_send_fd(pair[0], HANDOFF_START, &settings, sizeof settings, stats);
	pid = err ? -1 : worker_program_start(&p->program, pair[1]);
	err = err ? -err : errno;
	close(pair[1]);
	if (pid < 0)
		close(pair[0]);
	*fd = pair[0];
	errno = err;
	return pid;
}

static struct worker *worker_start(struct worker_pool *p)
{
	struct epoll_event event = {.events = EPOLLIN};
	int fd = -1, stats_fd = -1;
	const struct stats *stats = stats_create(&stats_fd);
	pid_t pid = stats ? worker_launch(p, &fd, stats_fd) : -1;
	int err = errno;
	struct worker *w = pid > 0 ? worker_add(p, pid, fd, WORKER_OPENING, stats) : NULL;

	if (stats)
		close(stats_fd);
	if (!w) {
		stats_destroy(stats);
		log_event("cannot start a worker process: %s", strerror(pid > 0 ? ENOMEM : err));
		if (pid > 0)
			close(fd); /* the child ends when its socket closes */
		return NULL;
	}
	event.data.ptr = &w->source;
	epoll_ctl(p->epoll, EPOLL_CTL_ADD, w->fd, &event);
	return w;
}

void worker_pool_fill(struct worker_pool *p)
{
	if (monotonic_ms() < p->fill_at)
		return;
	while (p->spares < p->config->spares && p->spares + p->busy < p->config->clients)
		if (!worker_start(p)) {
			p->fill_at = monotonic_ms() + FILL_PAUSE_MS;
			return;
		}
}

/* The client has sent its hello, and the answer fits into the empty buffer of its socket: this does not block. */
static void client_refuse(int client, const char *why)
{
	struct link_config config = link_defaults(true);

	config.build = build_note_text;
	config.protocol = wire_protocol();
	config.timeout_ms = 0;
	link_refuse(client, &config, why);
	log_event("client refused: %s", why);
}

static struct worker *worker_find(struct worker_pool *p, enum worker_state state)
{
	struct worker *w = p->workers;

	while (w && (w->state != state || w->fd < 0))
		w = w->next;
	return w;
}

/*
 * Removes the socket from epoll explicitly: a child that was just forked may still hold it, so closing is not enough.
 */
static void worker_disconnect(struct worker_pool *p, struct worker *w)
{
	if (w->fd < 0)
		return;
	ipc_registry_forget(&p->ipc, &w->ipc);
	epoll_ctl(p->epoll, EPOLL_CTL_DEL, w->fd, NULL);
	close(w->fd);
	w->fd = -1;
}

/* 0: the client is on its way to a worker. */
static int client_hand_over(struct worker_pool *p, int client, struct identity *who, unsigned tries)
{
	const struct server_config *c = p->config;
	uint32_t user =
		c->isolate_first ? identity_worker_user(p->identities, who, c->isolate_first, c->isolate_last) : 0;
	struct worker *w = NULL;

	if (c->isolate_first && !user)
		return -EAGAIN;
	for (unsigned i = 0; i < CLIENT_TRIES; i++) {
		if (!(w = worker_find(p, WORKER_SPARE)) && !(w = worker_find(p, WORKER_OPENING)) &&
			!(w = worker_start(p)))
			return -EAGAIN;
		if (!handoff_send_fd(w->fd, HANDOFF_CLIENT, &user, sizeof user, client))
			break;
		worker_disconnect(p, w); /* the worker is dead; reaping it logs that */
		w = NULL;
	}
	if (!w)
		return -EAGAIN;
	w->state = WORKER_GIVEN;
	w->client = client;
	w->who = who;
	w->tries = tries;
	who->clients++;
	p->spares--;
	p->busy++;
	struct ucred peer;
	socklen_t size = sizeof peer;
	w->client_pid = getsockopt(client, SOL_SOCKET, SO_PEERCRED, &peer, &size) ? 0 : peer.pid;
	return 0;
}

/*
 * How many clients one user or one address may have.  By default there is no limit where all connections may belong to
 * the same person: on a unix socket without a group, and on loopback.  Elsewhere a quarter of the places stays for others.
 */
static unsigned identity_limit(const struct server_config *c, const struct identity *who)
{
	bool shared = who->over_tcp ? !who->loopback : c->group != (gid_t)-1;

	return c->clients_per_user ? c->clients_per_user : shared ? c->clients - c->clients / 4 : c->clients;
}

void worker_pool_accept(struct worker_pool *p, int client, struct identity *who)
{
	char why[HANDOFF_TEXT];

	if (p->busy >= p->config->clients) {
		snprintf(why, sizeof why, "%u clients are connected, which is its limit (gangway serve --clients)",
			p->busy);
		client_refuse(client, why);
	} else if (who->clients >= identity_limit(p->config, who)) {
		snprintf(why, sizeof why, "%s has %u clients, which is the limit (gangway serve --clients-per-user)",
			who->name, who->clients);
		client_refuse(client, why);
	} else if (client_hand_over(p, client, who, 0)) {
		client_refuse(client, "it cannot start a worker process");
	}
}

/* No worker runs without its socket: the parent would not know what it does. */
static void worker_end(struct worker_pool *p, struct worker *w)
{
	if (!w->ended)
		kill(w->pid, SIGKILL);
	worker_disconnect(p, w);
}

void worker_pool_expel(struct worker_pool *p, struct worker *w, const char *why)
{
	log_event("worker %d %s; it is killed", w->pid, why);
	worker_end(p, w);
}

/* False: a worker in this state does not send this message. */
static bool worker_change_state(struct worker *w, uint32_t type)
{
	switch (type) {
	case HANDOFF_READY:
	case HANDOFF_FAILED:
		if (w->state == WORKER_OPENING)
			w->state = WORKER_SPARE;
		return w->state == WORKER_SPARE || w->state == WORKER_GIVEN;
	case HANDOFF_TAKEN:
		if (w->state != WORKER_GIVEN)
			return false;
		close(w->client);
		w->client = -1;
		w->state = WORKER_BUSY;
		return true;
	default:
		return w->state == WORKER_BUSY;
	}
}

bool worker_pool_receive(struct worker_pool *p, struct worker *w, struct handoff_message *m)
{
	int r = handoff_receive(w->fd, m, false);

	if (r == -EPIPE)
		worker_end(p, w); /* if it is exiting already, this changes nothing */
	if (!r && worker_change_state(w, m->type))
		return true;
	if (!r)
		handoff_discard(m);
	if (!r || r == -EPROTO)
		worker_pool_expel(p, w, "sends a message that is malformed or out of order");
	return false;
}

static struct worker *worker_remove(struct worker_pool *p, pid_t pid)
{
	struct worker **at = &p->workers, *w;

	while ((w = *at) && w->pid != pid)
		at = &w->next;
	if (w)
		*at = w->next;
	return w;
}

/* The worker died before it took the client: another worker gets it. */
static void client_hand_over_again(struct worker_pool *p, const struct worker *w)
{
	if (w->tries + 1 >= CLIENT_TRIES || client_hand_over(p, w->client, w->who, w->tries + 1))
		client_refuse(w->client, "its worker processes die before they can serve");
}

static void worker_log_end(const struct worker *w, int status)
{
	const char *whose = w->client_pid ? " of client " : "";
	char pid[16] = "", call[SANDBOX_TEXT];

	if (w->client_pid)
		snprintf(pid, sizeof pid, "%d", w->client_pid);
	if (WIFSIGNALED(status) && WTERMSIG(status) == SIGSYS && w->stats && atomic_load(&w->stats->forbidden_call)) {
		sandbox_call_name(atomic_load(&w->stats->forbidden_call), call);
		log_event("worker %d%s%s was ended by the sandbox: system call %s", w->pid, whose, pid, call);
	} else if (WIFSIGNALED(status) && (w->state > WORKER_SPARE || WTERMSIG(status) != SIGTERM))
		log_event("worker %d%s%s was ended by signal %d (%s)", w->pid, whose, pid, WTERMSIG(status),
			strsignal(WTERMSIG(status)));
	else if (WIFEXITED(status) && WEXITSTATUS(status))
		log_event("worker %d%s%s failed: exit status %d", w->pid, whose, pid, WEXITSTATUS(status));
}

static void worker_destroy(struct worker_pool *p, struct worker *w)
{
	worker_disconnect(p, w);
	stats_destroy(w->stats);
	if (w->who) {
		w->who->clients--;
		identity_release(p->identities, w->who);
	}
	free(w);
}

bool worker_pool_reap(struct worker_pool *p, pid_t pid, int status)
{
	struct worker *w = worker_remove(p, pid);
	struct handoff_message m;
	bool unused;

	if (!w)
		return false;
	w->ended = true;
	while (w->fd >= 0 && worker_pool_receive(p, w, &m)) /* messages that arrived before the end */
		handoff_discard(&m);
	worker_log_end(w, status);
	unused = w->state <= WORKER_SPARE;
	p->spares -= unused;
	p->busy -= w->state == WORKER_GIVEN || w->state == WORKER_BUSY;
	if (unused)
		p->fill_at = monotonic_ms() + FILL_PAUSE_MS;
	if (w->client >= 0)
		client_hand_over_again(p, w);
	worker_destroy(p, w);
	return unused;
}

void worker_pool_finish(struct worker_pool *p)
{
	struct worker *w;

	while ((w = p->workers)) {
		p->workers = w->next;
		worker_destroy(p, w);
	}
}

void worker_pool_end_spares(struct worker_pool *p)
{
	for (struct worker *w = p->workers; w; w = w->next)
		if (w->state <= WORKER_SPARE)
			kill(w->pid, SIGTERM);
}

void worker_pool_kill(struct worker_pool *p, int signal)
{
	for (struct worker *w = p->workers; w; w = w->next)
		kill(w->pid, signal);
}
