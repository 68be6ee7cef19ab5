/* link.c - making, breaking and ending a link. */
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
		.sides = server ? SIDES_MAX : 0,
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

static void wake_all(struct link *l)
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
		side_wake(l);
}

/*
 * A sleeper counts itself before it looks whether the link is broken, so none comes after the count is 0.
 * Repeated, since one may be between its look and its sleep, or the peer may set flags we clear.
 */
void link_wake_sleepers(struct link *l)
{
	struct pollfd stop = {.fd = l->stop, .events = POLLIN};

	while (atomic_load(&l->sleepers)) {
		wake_all(l);
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

/* The first reason stays.  Shutting the socket down ends what blocks in it on both sides. */
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
			side_shut(l);
		if (atomic_load(&l->sleepers))
			wake_all(l);
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

/* Helping threads take no signals: those are for the program's own. */
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

int link_map_lane(struct link *l, unsigned number, int fd)
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
	store_release(&l->lanes[number], lane);
	store_release(&l->nlanes, number + 1);
	return 0;
}

/* ---- Beginning and end ---- */

static struct link *new_link(int fd, bool server, const struct link_config *config)
{
	struct link *l = aligned_alloc(LINE, sizeof *l);
	pthread_condattr_t attr;

	if (!l)
		return NULL;
	memset(l, 0, sizeof *l);
	l->fd = fd;
	l->server = server;
	l->tcp_link = !socket_is_unix(fd);
	if (l->tcp_link && !(l->tcp = tcp_new(l))) {
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

/* The sizes both agreed on, and who the other says it is. */
static void agree(struct link *l, const struct hello *granted, const struct hello *theirs)
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

/* Both arenas need a bit a page, and words a bit each, in the client alone. */
static int new_allocators(struct link *l)
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

static struct link_memory wanted(const struct link *l)
{
	return (struct link_memory){.fds = {-1, -1, -1},
		.nwords = l->nwords,
		.size = {(uint32_t)l->arena[0].size, (uint32_t)l->arena[1].size}};
}

static bool is_wanted(const struct link_memory *m, const struct link *l)
{
	return m && m->nwords == l->nwords && m->size[0] == l->arena[0].size && m->size[1] == l->arena[1].size;
}

/* Memory of our own: over TCP no other process maps it, else we send it. */
static int own_memory(struct link *l, struct link_memory *ready)
{
	struct link_memory fresh = wanted(l), *m = is_wanted(ready, l) ? ready : &fresh;
	int err = m == &fresh ? made_fresh(m) : 0;

	if (err) {
		made_drop(m);
		return err;
	}
	made_give(m, l);
	err = l->tcp_link ? 0 : unix_offer(l, m->fds);
	made_close(m);
	return err;
}

static int their_memory(struct link *l, uint64_t deadline)
{
	struct link_memory m = wanted(l);
	int err = unix_take(l, &m, deadline);

	if (err)
		made_drop(&m);
	else
		made_give(&m, l);
	made_close(&m);
	return err;
}

static int start(struct link *l)
{
	return l->tcp_link ? tcp_start(l) : unix_watch(l);
}

static int say_hello(struct link *l, const struct link_config *config, uint64_t deadline, char error[LINK_ERROR_TEXT])
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
		return error_text(error, -EPROTO, "the server grants sizes that cannot be");
	agree(l, &theirs, &theirs);
	if (l->tcp) {
		l->tcp->sides.hello = ours;
		l->tcp->sides.hello.side = theirs.side;
		l->tcp->sides.granted = theirs.side.count;
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
	l = new_link(fd, false, config);
	if (!l) {
		close(fd);
		return error_text(error, -ENOMEM, "out of memory");
	}
	/* Somebody listens; a worker that opens a device first may take its time, with others beside it. */
	deadline = wait_now() + config->patience_ms * 1000000ull;
	err = l->tcp_link ? socket_tune(fd) : 0;
	err = err ? err : say_hello(l, config, deadline, error);
	if (err)
		goto fail;
	err = l->tcp_link ? own_memory(l, NULL) : their_memory(l, deadline);
	err = err ? err : new_allocators(l);
	err = err ? err : start(l);
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

static int answer_hello(
	struct link *l, const struct link_config *config, uint64_t deadline, char error[LINK_ERROR_TEXT])
{
	struct hello ours, theirs, granted;
	int err, sent;

	err = hello_receive(l->fd, &theirs, deadline);
	if (err)
		return error_text(error, err, "the client said no hello: %s", strerror(-err));
	hello_make(&ours, config);
	err = hello_check(&theirs, &ours, true, error);
	if (memcmp(theirs.magic, ours.magic, sizeof ours.magic))
		return err;
	granted = ours;
	hello_grant(&granted, &theirs);
	if (!err && hello_sizes_fit(&granted, &theirs))
		err = error_text(error, -EPROTO, "the client asks for sizes that cannot be");
	if (!err && theirs.flags & HELLO_SIDE)
		err = error_text(error, -EPROTO, "a further connection came for a link that is not here");
	if (l->tcp && !err)
		side_offer(l, &granted);
	else
		memset(&granted.side, 0, sizeof granted.side);
	granted.status = err;
	if (err)
		snprintf(granted.text, sizeof granted.text, "%.*s", (int)sizeof granted.text - 1, error);
	sent = hello_send(l->fd, &granted, deadline);
	if (!err && sent)
		return error_text(error, sent, "the client went away: %s", strerror(-sent));
	agree(l, &granted, &theirs);
	return err;
}

int link_serve(struct link **link, int fd, const struct link_config *config, char error[LINK_ERROR_TEXT])
{
	uint64_t deadline = wait_now() + config->timeout_ms * 1000000ull;
	struct link *l = new_link(fd, true, config);
	char unwanted[LINK_ERROR_TEXT];
	int err;

	*link = NULL;
	error = error ? error : unwanted;
	if (!l) {
		close(fd);
		return error_text(error, -ENOMEM, "out of memory");
	}
	err = l->tcp_link ? socket_tune(fd) : 0;
	err = err ? err : answer_hello(l, config, deadline, error);
	if (err)
		goto fail;
	err = own_memory(l, config->memory);
	err = err ? err : start(l);
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

/* Answered only after the client's hello was read: closing with something unread would lose the answer. */
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

static void destroy_lanes(struct link *l, bool mapped)
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
 * A forked child has neither our threads nor our mappings (what lies at those addresses now is not ours), and
 * the connection is its parent's.
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
		close(l->fds[i].fd);
	destroy_lanes(l, ours);
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
