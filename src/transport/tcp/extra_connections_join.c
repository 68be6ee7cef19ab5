/*
 * extra_connections_join.c - opens the extra connections of a link.
 *
 *	client: connects to the server's address again, sends a hello with the link's name and key
 *	parent: link_hand_in_extra recognises the hello and passes the descriptor to the door of that name
 *	worker: admits the connection if the key is right, and answers
 *	client: after all answers, announces on each connection that it will be used
 *
 * The door is a unix socket in the abstract namespace, where every process can see its name. Only processes of the same
 * user or root's may pass descriptors, and each connection still needs the key, which only the client knows.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <unistd.h>

#include "transport/tcp/tcp.h"

#define JOIN_NS  5000000000ull
#define HAND_NS  1000000000ull
#define DOOR_LOG 16

static socklen_t door_name(struct sockaddr_un *to, uint64_t name)
{
	*to = (struct sockaddr_un){.sun_family = AF_UNIX};
	int n = snprintf(to->sun_path + 1, sizeof to->sun_path - 1, "gangway-side-%016llx", (unsigned long long)name);

	return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)n);
}

/* ---- The parent ---- */

static int door_hand_in(int fd, uint64_t name)
{
	struct sockaddr_un to;
	socklen_t size = door_name(&to, name);
	int door = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), err;

	if (door < 0)
		return -errno;
	err = connect(door, (struct sockaddr *)&to, size) ? -errno : unix_send(door, UNIX_FD, name, &fd, 1);
	close(door);
	return err;
}

bool link_hand_in_extra(int fd)
{
	struct hello h, pattern;

	hello_make(&pattern, &(struct link_config){0});
	if (recv(fd, &h, sizeof h, MSG_PEEK | MSG_DONTWAIT) != sizeof h || socket_is_unix(fd) ||
		memcmp(h.magic, pattern.magic, sizeof h.magic) || h.flags != HELLO_EXTRA)
		return false;
	door_hand_in(fd, h.extra.name); /* on failure the client works without it */
	close(fd);
	return true;
}

unsigned link_connections(struct link *l)
{
	return 1 + (l->tcp ? load_acquire(&l->tcp->extras.joined) : 0);
}

/* ---- The worker ---- */

static int door_open(uint64_t name)
{
	struct sockaddr_un at;
	socklen_t size = door_name(&at, name);
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

	if (fd >= 0 && !bind(fd, (struct sockaddr *)&at, size) && !listen(fd, DOOR_LOG))
		return fd;
	if (fd >= 0)
		close(fd);
	return -1;
}

static bool random_bytes(void *to, size_t size)
{
	return getrandom(to, size, GRND_NONBLOCK) == (ssize_t)size;
}

/* Offers none if the door or the key cannot be made. */
void extra_offer(struct link *l, struct hello *answer)
{
	struct extras *all = &l->tcp->extras;

	if (answer->extra.count && random_bytes(&answer->extra.name, sizeof answer->extra.name) &&
		random_bytes(answer->extra.key, sizeof answer->extra.key))
		all->door = door_open(answer->extra.name);
	if (all->door < 0)
		memset(&answer->extra, 0, sizeof answer->extra);
	all->granted = answer->extra.count;
	all->hello = *answer;
}

static bool key_equal(const uint8_t *a, const uint8_t *b)
{
	unsigned differ = 0;

	for (unsigned i = 0; i < EXTRA_KEY; i++)
		differ |= a[i] ^ b[i];
	return !differ;
}

/* The first connection determines how many there will be. */
static struct extra *extra_find_place(struct extras *all, const struct hello *h)
{
	if (hello_check(h, &all->hello, true, NULL) || h->flags != HELLO_EXTRA ||
		!key_equal(h->extra.key, all->hello.extra.key))
		return NULL;
	if (!all->asked && h->extra.count <= all->granted)
		all->asked = h->extra.count;
	if (h->extra.count != all->asked || h->extra.index >= all->asked || all->extra[h->extra.index].fd >= 0)
		return NULL;
	return &all->extra[h->extra.index];
}

/* `in` connections are admitted already. */
static bool extra_admit(struct link *l, int fd, unsigned in)
{
	struct extras *all = &l->tcp->extras;
	uint64_t deadline = wait_now() + HAND_NS;
	struct hello h;
	struct extra *s = hello_receive(fd, &h, deadline) ? NULL : extra_find_place(all, &h);

	if (!s || socket_tune(fd)) {
		close(fd);
		return false;
	}
	s->fd = fd;
	if (extra_start(s)) {
		extra_finish(s);
		return false;
	}
	if (in + 1 == all->asked)
		store_release(&all->joined, all->asked);
	hello_send(fd, &all->hello, deadline);
	return true;
}

static bool visitor_allowed(int visitor)
{
	struct ucred who;
	socklen_t size = sizeof who;

	return !getsockopt(visitor, SOL_SOCKET, SO_PEERCRED, &who, &size) && (!who.uid || who.uid == geteuid());
}

static void *door_run(void *arg)
{
	struct link *l = arg;
	struct extras *all = &l->tcp->extras;
	unsigned in = 0;
	uint64_t name;

	while (!link_broken(l) && (!all->asked || in < all->asked)) {
		int visitor = accept4(all->door, NULL, NULL, SOCK_CLOEXEC), fd = -1;

		if (visitor < 0 && errno != EINTR && errno != ECONNABORTED)
			break;
		if (visitor >= 0 && visitor_allowed(visitor))
			fd = unix_receive_fd(visitor, &name, wait_now() + HAND_NS);
		if (visitor >= 0)
			close(visitor);
		in += fd >= 0 && extra_admit(l, fd, in);
	}
	shutdown(all->door, SHUT_RDWR); /* refuses and ends pending visitors */
	return NULL;
}

int extra_start_joining(struct link *l)
{
	struct extras *all = &l->tcp->extras;
	int err = all->door < 0 ? 0 : link_thread(&all->joiner, door_run, l);

	all->joining = all->door >= 0 && !err;
	return err;
}

void extra_confirmed(struct extra *s)
{
	struct extras *all = &s->link->tcp->extras;

	if (atomic_fetch_add(&all->ready, 1) + 1 == all->asked)
		store_release(&all->count, all->asked);
}

/* ---- The client ---- */

static int extra_connect(struct link *l, unsigned index, uint64_t deadline)
{
	struct hello ours = l->tcp->extras.hello, theirs;
	int fd = address_again(l->fd, deadline), err;

	if (fd < 0)
		return fd;
	ours.flags = HELLO_EXTRA;
	ours.extra.index = index;
	err = hello_send(fd, &ours, deadline);
	err = err ? err : hello_receive(fd, &theirs, deadline);
	err = err ? err : hello_check(&theirs, &ours, false, NULL);
	if (err)
		close(fd);
	return err ? err : fd;
}

static int extra_connect_all(struct link *l)
{
	struct extras *all = &l->tcp->extras;
	uint64_t deadline = wait_now() + JOIN_NS;
	int err = 0;

	for (unsigned i = 0; i < all->granted && !err; i++) {
		int fd = extra_connect(l, i, deadline);

		all->extra[i].fd = fd < 0 ? -1 : fd;
		err = fd < 0 ? fd : link_broken(l);
	}
	for (unsigned i = 0; i < all->granted && !err; i++)
		err = extra_start(&all->extra[i]);
	return err;
}

/* After this the link depends on the extra connections. */
static void extra_announce_use(struct link *l)
{
	struct extras *all = &l->tcp->extras;
	struct piece ready = {0};
	int err = 0;

	store_release(&all->joined, all->granted);
	for (unsigned i = 0; i < all->granted && !err; i++)
		err = stream_send(l, all->extra[i].fd, &(struct iovec){&ready, sizeof ready}, 1);
	if (!err)
		store_release(&all->count, all->granted);
}

static void *extra_join_run(void *arg)
{
	struct link *l = arg;
	struct extras *all = &l->tcp->extras;

	if (!extra_connect_all(l)) {
		extra_announce_use(l);
		return NULL;
	}
	for (unsigned i = 0; i < all->granted; i++)
		extra_finish(&all->extra[i]);
	return NULL;
}

void extra_request(struct link *l)
{
	struct extras *all = &l->tcp->extras;

	if (!all->granted || load_relaxed(&all->wanted) || atomic_exchange(&all->wanted, true))
		return;
	all->joining = !link_thread(&all->joiner, extra_join_run, l);
}
