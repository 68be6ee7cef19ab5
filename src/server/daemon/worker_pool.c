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
#include "server/daemon/log.h"
#include "server/daemon/worker_pool.h"

#define TRIES    3    /* workers that may die before a client is told that it has none */
#define REFUSERS 16   /* at one time; beyond that a client just finds the door shut */
#define PAUSE_MS 1000 /* after a spare has died: a driver that crashes at start must not keep us busy */

uint64_t pool_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

static struct worker *add(struct pool *p, pid_t pid, int fd, enum worker_state state, struct stats *stats)
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
		.stats = stats};
	p->workers = w;
	p->spares += state == WORKER_OPENING;
	p->refusing += state == WORKER_REFUSING;
	return w;
}

/* Signals as a program finds them; the worker says itself which ones it ignores. */
static void clear_signals(void)
{
	sigset_t none;

	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

static struct worker *start(struct pool *p)
{
	struct epoll_event event = {.events = EPOLLIN};
	struct stats *stats = stats_create();
	struct worker *w;
	int pair[2];
	pid_t pid;

	if (!stats || socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair)) {
		log_event("cannot start a worker: %s", strerror(errno));
		stats_destroy(stats);
		return NULL;
	}
	pid = fork();
	if (!pid) {
		clear_signals();
		worker_main(pair[1], p->config, stats);
	}
	int err = errno;
	close(pair[1]);
	stats_keep(stats);
	w = pid > 0 ? add(p, pid, pair[0], WORKER_OPENING, stats) : NULL;
	if (!w) {
		stats_destroy(stats);
		log_event("cannot start a worker: %s", strerror(pid > 0 ? ENOMEM : err));
		close(pair[0]); /* if it runs, it ends by this */
		return NULL;
	}
	event.data.ptr = &w->source;
	epoll_ctl(p->epoll, EPOLL_CTL_ADD, w->fd, &event);
	return w;
}

void pool_fill(struct pool *p)
{
	if (pool_now() < p->fill_at)
		return;
	while (p->spares < p->config->spares && p->spares + p->busy < p->config->clients)
		if (!start(p)) {
			p->fill_at = pool_now() + PAUSE_MS;
			return;
		}
}

static void refuse(struct pool *p, int client, const char *why)
{
	pid_t pid = p->refusing < REFUSERS ? fork() : -1;

	if (!pid) {
		clear_signals();
		worker_refuse(client, why);
	}
	close(client);
	if (pid > 0)
		add(p, pid, -1, WORKER_REFUSING, NULL);
	log_event("client refused: %s", why);
}

static struct worker *find(struct pool *p, enum worker_state state)
{
	struct worker *w = p->workers;

	while (w && (w->state != state || w->fd < 0))
		w = w->next;
	return w;
}

/* Out of epoll by hand: a child that has just been forked may hold the same socket for a moment. */
static void hush(struct pool *p, struct worker *w)
{
	if (w->fd < 0)
		return;
	epoll_ctl(p->epoll, EPOLL_CTL_DEL, w->fd, NULL);
	close(w->fd);
	w->fd = -1;
}

/* 0: it is on its way to a worker. */
static int hand_over(struct pool *p, int client, unsigned tries)
{
	struct worker *w = NULL;

	for (unsigned i = 0; i < TRIES; i++) {
		if (!(w = find(p, WORKER_SPARE)) && !(w = find(p, WORKER_OPENING)) && !(w = start(p)))
			return -EAGAIN;
		if (!worker_give(w->fd, client))
			break;
		hush(p, w); /* dead; its end will be told */
		w = NULL;
	}
	if (!w)
		return -EAGAIN;
	w->state = WORKER_GIVEN;
	w->client = client;
	w->tries = tries;
	p->spares--;
	p->busy++;
	struct ucred c;
	socklen_t size = sizeof c;
	w->client_pid = getsockopt(client, SOL_SOCKET, SO_PEERCRED, &c, &size) ? 0 : c.pid;
	return 0;
}

void pool_take(struct pool *p, int client)
{
	char why[WORKER_TEXT];

	if (p->busy >= p->config->clients) {
		snprintf(why, sizeof why, "it has %u clients and takes no more (gangway serve --clients)", p->busy);
		refuse(p, client, why);
	} else if (hand_over(p, client, 0)) {
		refuse(p, client, "it cannot start a worker process");
	}
}

bool pool_hear(struct pool *p, struct worker *w, enum worker_word *word, char text[WORKER_TEXT])
{
	int r = worker_heard(w->fd, word, text);

	if (r == -EPIPE)
		hush(p, w);
	if (r)
		return false;
	if (*word == WORKER_TAKEN) {
		close(w->client);
		w->client = -1;
		w->state = WORKER_BUSY;
		hush(p, w);
	} else if (w->state == WORKER_OPENING) {
		w->state = WORKER_SPARE;
	}
	return true;
}

static struct worker *take_out(struct pool *p, pid_t pid)
{
	struct worker **at = &p->workers, *w;

	while ((w = *at) && w->pid != pid)
		at = &w->next;
	if (w)
		*at = w->next;
	return w;
}

/* Its client has waited in our hands: another worker gets it. */
static void again(struct pool *p, int client, unsigned tries)
{
	if (tries + 1 >= TRIES || hand_over(p, client, tries + 1))
		refuse(p, client, "its worker processes die before they can serve");
}

static void tell_end(const struct worker *w, int status)
{
	const char *whose = w->client_pid ? " of client " : "";
	char pid[16] = "";

	if (w->client_pid)
		snprintf(pid, sizeof pid, "%d", w->client_pid);
	if (WIFSIGNALED(status) && (w->state > WORKER_SPARE || WTERMSIG(status) != SIGTERM))
		log_event("worker %d%s%s was ended by signal %d (%s)", w->pid, whose, pid, WTERMSIG(status),
			strsignal(WTERMSIG(status)));
	else if (WIFEXITED(status) && WEXITSTATUS(status))
		log_event("worker %d%s%s failed: exit status %d", w->pid, whose, pid, WEXITSTATUS(status));
}

bool pool_reap(struct pool *p, pid_t pid, int status)
{
	struct worker *w = take_out(p, pid);
	enum worker_word word;
	char text[WORKER_TEXT];
	bool unused;

	if (!w)
		return false;
	while (w->fd >= 0 && pool_hear(p, w, &word, text)) /* its last words may not have been heard yet */
		;
	tell_end(w, status);
	unused = w->state <= WORKER_SPARE;
	p->spares -= unused;
	p->refusing -= w->state == WORKER_REFUSING;
	p->busy -= w->state == WORKER_GIVEN || w->state == WORKER_BUSY;
	if (unused)
		p->fill_at = pool_now() + PAUSE_MS;
	if (w->client >= 0)
		again(p, w->client, w->tries);
	hush(p, w);
	stats_destroy(w->stats);
	free(w);
	return unused;
}

void pool_finish(struct pool *p)
{
	struct worker *w;

	while ((w = p->workers)) {
		p->workers = w->next;
		hush(p, w);
		stats_destroy(w->stats);
		free(w);
	}
}

void pool_end_spares(struct pool *p)
{
	for (struct worker *w = p->workers; w; w = w->next)
		if (w->state <= WORKER_SPARE)
			kill(w->pid, SIGTERM);
}

void pool_kill(struct pool *p, int signal)
{
	for (struct worker *w = p->workers; w; w = w->next)
		kill(w->pid, signal);
}
