/* link.c - connecting, breaking and ending a link. */
#include "transport/private.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "transport/hello.h"
#include "transport/memory.h"
#include "transport/tcp/tcp.h"

struct link_config link_defaults(bool server)
{
	return (struct link_config){
		.build = "gangway",
		.spin_us = server ? 200 : 50,
		.timeout_ms = 5000,
		.patience_ms = 30000,
		.up_size = 64u << 20,
		.down_size = 64u << 20,
		.ring_size = 256u << 10,
		.words = 4096,
		.extras = server ? EXTRAS_MAX : 0,
		.beat_ms = 5000,
		.notice_ms = 25000,
		.silence_ms = server ? 600000 : 25000,
	};
}

int error_text(char error[LINK_ERROR_TEXT], int err, const char *format, ...)
{
	va_list args;

	if (error) {
		va_start(args, format);
		vsnprintf(error, LINK_ERROR_TEXT, format, args);
		va_end(args);
	}
	return err;
}

/* ---- Breaking ---- */

static void link_wake_all(struct link *l)
{
	unsigned n = load_acquire(&l->nlanes);

	if (l->control) {
		wait_wake_always(&l->control->reader_sleep);
		wait_wake_always(&l->control->space_sleep);
	}
	for (unsigned i = 0; i < n; i++) {
		struct lane *lane = load_acquire(&l->lanes[i]);

		if (!lane || !lane->control)
			continue;
		wait_wake_always(&lane->control->reply_sleep);
		wait_wake_always(&lane->control->room_sleep);
	}
	for (unsigned i = 0; l->words && !l->server && i < l->nwords; i++)
		wait_wake_always(&l->words[i].sleep);
	if (l->tcp)
		extra_wake_all(l);
}

/*
 * A sleeper increments the count before it checks whether the link is broken, so none appears after the count is 0. The
 * loop repeats because a thread may be between its check and its sleep, or the peer may set flags again.
 */
void link_wake_sleepers(struct link *l)
{
	struct pollfd stop = {.fd = l->stop, .events = POLLIN};

	while (atomic_load(&l->sleepers)) {
		link_wake_all(l);
		if (poll(&stop, 1, 1) > 0)
			break;
	}
}

int link_sleep(struct link *l, struct wait *w, _Atomic uint32_t *flag)
{
	int err;

	atomic_fetch_add(&l->sleepers, 1);
	err = link_broken(l);
	if (!err)
		err = wait_sleep(w, flag);
	atomic_fetch_sub(&l->sleepers, 1);
	return err;
}

/* Keeps the first reason. Shutting the socket down ends the calls that block in it on both sides. */
int link_break(struct link *l, int err, const char *format, ...)
{
	va_list args;
	bool first;

	pthread_mutex_lock(&l->error_lock);
	first = !link_broken(l);
	if (first) {
		va_start(args, format);
		vsnprintf(l->text, sizeof l->text, format, args);
		va_end(args);
		atomic_store(&l->broken, err);
	}
	pthread_mutex_unlock(&l->error_lock);
	if (first) {
		shutdown(l->fd, SHUT_RDWR);
		if (l->tcp)
			extra_shutdown_all(l);
		if (atomic_load(&l->sleepers))
			link_wake_all(l);
	}
	return link_broken(l);
}

void link_shutdown(struct link *l)
{
	link_break(l, -EPIPE, "the link was shut down");
}

int link_reject(struct link *l, const char *why)
{
	return link_break(l, -EPROTO, "%s", why);
}

int link_error(struct link *l, char text[LINK_ERROR_TEXT])
{
	int err;

	pthread_mutex_lock(&l->error_lock);
	err = link_broken(l);
	if (text)
		snprintf(text, LINK_ERROR_TEXT, "%s", l->text);
	pthread_mutex_unlock(&l->error_lock);
	return err;
}

const _Atomic int *link_state(const struct link *l)
{
	return &l->broken;
}

const struct link_peer *link_peer(const struct link *l)
{
	return &l->peer;
}

/* Blocks all signals in the new thread: they are meant for the application's threads. */
int link_thread(pthread_t *thread, void *(*run)(void *), void *arg)
{
	sigset_t all, old;
	int err;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	err = pthread_create(thread, NULL, run, arg);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	return -err;
}

/* ---- Memory ---- */

size_t lane_bytes(uint32_t ring_size)
{
	return memory_page() + 2 * (size_t)ring_size;
}

int link_new_lane(struct link *l, unsigned number)
{
	struct lane *lane = aligned_alloc(LINE, sizeof *lane);

	if (!lane)
		return -ENOMEM;
	memset(lane, 0, sizeof *lane);
	lane->link = l;
	lane->number = number;
	store_release(&l->lanes[number], lane);
	if (number >= l->nlanes)
		store_release(&l->nlanes, number + 1);
	return 0;
}

int lane_map(struct link *l, unsigned number, int fd, struct lane **out)
{
	size_t page = memory_page(), size = l->ring_size;
	struct memory_range ranges[] = {{0, page, 1}, {page, size, 2}, {page + size, size, 2}};
	struct lane *lane = aligned_alloc(LINE, sizeof *lane);

	if (!lane)
		return -ENOMEM;
	memset(lane, 0, sizeof *lane);
	lane->link = l;
	lane->number = number;
	lane->map = memory_map(fd, ranges, 3, &lane->map_size);
	if (!lane->map) {
		free(lane);
		return -ENOMEM;
	}
	lane->control = lane->map;
	lane->up = (uint8_t *)lane->map + page;
	lane->down = lane->up + 2 * size;
	*out = lane;
	return 0;
}

void lane_enter(struct link *l, struct lane *lane)
{
	store_release(&l->lanes[lane->number], lane);
	store_release(&l->nlanes, lane->number + 1);
}

void lane_discard(struct lane *lane)
{
	memory_unmap(lane->map, lane->map_size);
	free(lane);
}

/* ---- Beginning and end ---- */

static struct link *link_alloc(int fd, bool server, const struct link_config *config)
{
	struct link *l = aligned_alloc(LINE, sizeof *l);
	pthread_condattr_t attr;

	if (!l)
		return NULL;
	memset(l, 0, sizeof *l);
	l->fd = fd;
	l->server = server;
	l->tcp_link = !socket_is_unix(fd);
	if (l->tcp_link && !(l->tcp = tcp_new(l, config))) {
		free(l);
		return NULL;
	}
	l->pidfd = -1;
	l->stop = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	l->owner = getpid();
	l->spin_us = config->spin_us;
	pthread_mutex_init(&l->error_lock, NULL);
	pthread_mutex_init(&l->lane_lock, NULL);
	pthread_mutex_init(&l->unix_lock, NULL);
	pthread_mutex_init(&l->arena[0].lock, NULL);
	pthread_mutex_init(&l->arena[1].lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&l->unix_cond, &attr);
	pthread_condattr_destroy(&attr);
	return l;
}

/* Stores the sizes that both sides agreed on, and the identity that the peer claims. */
static void link_agree(struct link *l, const struct hello *granted, const struct hello *theirs)
{
	l->ring_size = granted->ring_size;
	l->nwords = granted->words;
	l->arena[BULK_UP].size = granted->up_size;
	l->arena[BULK_DOWN].size = granted->down_size;
	l->peer.local = !l->tcp_link;
	l->peer.pid = (pid_t)theirs->pid;
	for (size_t i = 0; i + 1 < sizeof l->peer.build && theirs->build[i]; i++)
		l->peer.build[i] = theirs->build[i] >= ' ' && theirs->build[i] < 127 ? theirs->build[i] : '?';
}

/* The client's allocators: a bit for each page of the arenas and for each word. */
static int link_create_allocators(struct link *l)
{
	for (int i = 0; i < 2; i++) {
		l->arena[i].pages = l->arena[i].size / memory_page();
		l->arena[i].used = calloc((l->arena[i].pages + 63) / 64, sizeof(uint64_t));
		if (!l->arena[i].used)
			return -ENOMEM;
	}
	l->words_used = calloc((l->nwords + 63) / 64, sizeof(uint64_t));
	return l->words_used ? 0 : -ENOMEM;
}

static struct link_memory link_memory_request(const struct link *l)
{
	return (struct link_memory){.fds = {-1, -1, -1},
		.nwords = l->nwords,
		.size = {(uint32_t)l->arena[0].size, (uint32_t)l->arena[1].size}};
}

static bool link_memory_fits(const struct link_memory *m, const struct link *l)
{
	return m && m->nwords == l->nwords && m->size[0] == l->arena[0].size && m->size[1] == l->arena[1].size;
}

/* Makes the link's memory. Over a unix socket the peer maps it, too. */
static int link_make_memory(struct link *l, struct link_memory *ready)
{
	struct link_memory fresh = link_memory_request(l), *m = link_memory_fits(ready, l) ? ready : &fresh;
	int err = m == &fresh ? link_memory_create_fds(m) : 0;

	if (err) {
		link_memory_discard(m);
		return err;
	}
	link_memory_give(m, l);
	err = l->tcp_link ? 0 : unix_offer(l, m->fds);
	link_memory_close_fds(m);
	return err;
}

static int link_receive_memory(struct link *l, uint64_t deadline)
{
	struct link_memory m = link_memory_request(l);
	int err = unix_take(l, &m, deadline);

	if (err)
		link_memory_discard(&m);
	else
		link_memory_give(&m, l);
	link_memory_close_fds(&m);
	return err;
}

static int link_start(struct link *l)
{
	return l->tcp_link ? tcp_start(l) : unix_watch(l);
}

static int link_exchange_hello(
	struct link *l, const struct link_config *config, uint64_t deadline, char error[LINK_ERROR_TEXT])
{
	struct hello ours, theirs;
	int err;

	hello_make(&ours, config);
	err = hello_send(l->fd, &ours, deadline);
	err = err ? err : hello_receive(l->fd, &theirs, deadline);
	if (err)
		return error_text(error, err, "the server does not answer: %s", strerror(-err));
	err = hello_check(&theirs, &ours, false, error);
	if (err)
		return err;
	if (hello_sizes_fit(&theirs, &ours))
		return error_text(error, -EPROTO, "the server granted impossible sizes");
	link_agree(l, &theirs, &theirs);
	if (l->tcp) {
		l->tcp->extras.hello = ours;
		l->tcp->extras.hello.extra = theirs.extra;
		l->tcp->extras.granted = theirs.extra.count;
	}
	return 0;
}

int link_connect(struct link **link, const char *address, const struct link_config *config, char error[LINK_ERROR_TEXT])
{
	uint64_t deadline = wait_now() + config->timeout_ms * 1000000ull;
	int fd = address_connect(address, deadline, error), err;
	struct link *l;

	*link = NULL;
	if (fd < 0)
		return fd;
	l = link_alloc(fd, false, config);
	if (!l) {
		close(fd);
		return error_text(error, -ENOMEM, "out of memory");
	}
	/* The connection is accepted; a worker that has to open its device first may take long. */
	deadline = wait_now() + config->patience_ms * 1000000ull;
	err = l->tcp_link ? socket_tune(fd) : 0;
	err = err ? err : link_exchange_hello(l, config, deadline, error);
	if (err)
		goto fail;
	err = l->tcp_link ? link_make_memory(l, NULL) : link_receive_memory(l, deadline);
	err = err ? err : link_create_allocators(l);
	err = err ? err : link_start(l);
	if (err) {
		error_text(error, err, "%s: setting up the link: %s", address, strerror(-err));
		goto fail;
	}
	*link = l;
	return 0;
fail:
	link_destroy(l);
	return err;
}

static int link_answer_hello(
	struct link *l, const struct link_config *config, uint64_t deadline, char error[LINK_ERROR_TEXT])
{
	struct hello theirs, granted;
	int err, sent;

	err = hello_receive(l->fd, &theirs, deadline);
	if (err)
		return error_text(error, err, "the client sent no hello: %s", strerror(-err));
	err = hello_answer(&theirs, config, &granted, error);
	if (memcmp(theirs.magic, granted.magic, sizeof granted.magic))
		return err;
	if (l->tcp && !err)
		extra_offer(l, &granted);
	else
		memset(&granted.extra, 0, sizeof granted.extra);
	granted.status = err;
	if (err)
		snprintf(granted.text, sizeof granted.text, "%.*s", (int)sizeof granted.text - 1, error);
	sent = hello_send(l->fd, &granted, deadline);
	if (!err && sent)
		return error_text(error, sent, "the client went away: %s", strerror(-sent));
	link_agree(l, &granted, &theirs);
	return err;
}

int link_serve(struct link **link, int fd, const struct link_config *config, char error[LINK_ERROR_TEXT])
{
	uint64_t deadline = wait_now() + config->timeout_ms * 1000000ull;
	struct link *l = link_alloc(fd, true, config);
	char unwanted[LINK_ERROR_TEXT];
	int err;

	*link = NULL;
	error = error ? error : unwanted;
	if (!l) {
		close(fd);
		return error_text(error, -ENOMEM, "out of memory");
	}
	err = l->tcp_link ? socket_tune(fd) : 0;
	err = err ? err : link_answer_hello(l, config, deadline, error);
	if (err)
		goto fail;
	err = link_make_memory(l, config->memory);
	err = err ? err : link_start(l);
	if (err) {
		error_text(error, err, "setting up the link: %s", strerror(-err));
		goto fail;
	}
	*link = l;
	return 0;
fail:
	link_destroy(l);
	return err;
}

/* Reads the client's hello first: closing a socket with unread bytes discards the answer. */
void link_refuse(int fd, const struct link_config *config, const char *why)
{
	uint64_t deadline = wait_now() + config->timeout_ms * 1000000ull;
	struct hello ours, theirs;

	hello_make(&ours, config);
	if (!hello_receive(fd, &theirs, deadline) && !memcmp(theirs.magic, ours.magic, sizeof ours.magic)) {
		ours.status = -ECONNREFUSED;
		snprintf(ours.text, sizeof ours.text, "%.*s", (int)sizeof ours.text - 1, why);
		hello_send(fd, &ours, deadline);
	}
	close(fd);
}

static void link_destroy_lanes(struct link *l, bool mapped)
{
	for (unsigned i = 0; i < l->nlanes; i++) {
		struct lane *lane = load_relaxed(&l->lanes[i]);

		if (!lane)
			continue;
		if (mapped)
			memory_unmap(lane->map, lane->map_size);
		free(lane->reply_buffer);
		free(lane);
	}
}

/*
 * A forked child has neither the threads nor the mappings of the link (something else may be mapped at those addresses),
 * and the connection belongs to its parent.
 */
void link_destroy(struct link *l)
{
	bool ours = l && getpid() == l->owner;

	if (!l)
		return;
	if (ours) {
		link_shutdown(l);
		unix_unwatch(l);
		tcp_stop(l);
	} else {
		tcp_forget(l);
	}
	for (unsigned i = 0; i < l->nfds; i++)
		if (l->fds[i].fd >= 0)
			close(l->fds[i].fd);
	link_destroy_lanes(l, ours);
	if (ours)
		memory_unmap(l->control, l->control_size);
	for (int i = 0; i < 2; i++) {
		if (ours)
			memory_unmap(l->arena[i].base, l->arena[i].map_size);
		free(l->arena[i].used);
		pthread_mutex_destroy(&l->arena[i].lock);
	}
	free(l->words_used);
	pthread_mutex_destroy(&l->error_lock);
	pthread_mutex_destroy(&l->lane_lock);
	pthread_mutex_destroy(&l->unix_lock);
	pthread_cond_destroy(&l->unix_cond);
	if (l->pidfd >= 0)
		close(l->pidfd);
	if (l->stop >= 0)
		close(l->stop);
	close(l->fd);
	free(l);
}
